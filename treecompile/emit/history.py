"""What a document says about the past of its rules, besides the model itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from treecompile.model.ir import Program
from treecompile.rules.language.record import Notes


@dataclass(frozen=True, slots=True)
class History:
    """What people wrote and changed; finished facts, which the document only shows."""

    notes: Notes = field(default_factory=dict)
    former: Program | None = None  # that the rules were edited from


NO_HISTORY = History()
