"""When a model refers a row to a human: the options, declared once.

Nothing heavy is imported here: every command starts with this module.
"""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model.ir import Label
from treecompile.model.options import RULES, option


@dataclass(frozen=True, slots=True)
class ReferOptions:
    """When to refer a row, and by which label."""

    refer: tuple[str, ...] = option(
        (),
        "Refer a row to a human instead of answering it, if a tested value is missing"
        " (`missing`) or a category that was not in the training data (`unseen`), or if"
        " the deciding leaf or rule is right in less than this share of its rows"
        " (`below=0.7`) or has fewer rows than this (`fewer=20`).",
        "WHEN",
        repeatable=True,
        group=RULES,
    )
    refer_label: Label = option(
        "refer", "The answer for referred rows.", "TEXT", group=RULES
    )
