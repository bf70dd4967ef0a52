"""Lowers a program to the review page: one file that needs no network.

Text from the data is on the page only as JSON, which the scripts show as text. The
policy of the page lets a browser run its own scripts, known by their hashes, and
nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from html import escape

from treecompile.emit.html import data, report
from treecompile.emit.javascript.lower import decision_script
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import templates_folder
from treecompile.model import words
from treecompile.model.errors import TargetError
from treecompile.model.evidence import total
from treecompile.model.ir import Program, RuleSet
from treecompile.model.paths import leaf_count
from treecompile.rules.extract import flatten

MOST_RULES = 5_000  # rules that a browser can hold on one page
SCRIPTS = ("dom", "review", "tree", "rules", "try", "report", "page")
# Text that ends or changes a script element, whatever it means in JavaScript.
MARKUP = re.compile(r"<(?=/|!--|script)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """The strings of the page; all are finished HTML."""

    title: str  # Rules for predicting play
    version: str  # of treecompile: 0.9
    sha256: str  # of the model
    policy: str  # default-src 'none'; script-src 'sha256-...' ...
    style: str
    data: str  # JSON
    decision: str  # the generated JavaScript: function predict(row) { ...
    script: str  # what the page does


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    program = source.program
    count = leaf_count(program.body)
    if count > MOST_RULES:
        raise TargetError(
            f"{count:,} rules are too many for a page, which holds {MOST_RULES:,}:"
            " prune the model, or use to=markdown"
        )
    title = f"Rules for predicting {words.name(program.target)}"
    style, script = static("style.css"), page_script()
    decision = in_script(decision_script(source))
    page = ReviewPage(
        title=escape(title),
        version=source.version,
        sha256=source.sha256,
        policy=escape(policy(style, decision, script)),
        style=style,
        data=in_json(page_data(source, options, title)),
        decision=decision,
        script=script,
    )
    return Lowered(page)


def page_data(source: CompilerInput, options: EmitOptions, title: str) -> data.Json:
    program = source.program
    body = program.body
    rules = flatten(body)
    places = {rule.id: n for n, rule in enumerate(data.listed(body, rules))}
    all_rows = total(program)
    return {
        "title": title,
        "sha256": source.sha256,
        "target": words.name(program.target),
        "summary": report.summary(program),
        "facts": report.facts(program, all_rows),
        "labels": [words.value(label) for label in body.labels],
        "ordered": isinstance(body, RuleSet),
        "rows": all_rows.rows,
        "unit_of_rows": "row" if all_rows.counted else "case",
        "features": data.features(program),
        "example": data.example_row(program),
        "rules": data.RuleData(program, rules).all(),
        "rules_note": report.rules_note(body),
        "nodes": data.nodes(program, places),
        "tree_note": _tree_note(program),
        "quality": report.quality(program),
        "columns": report.columns(program),
    }


def _tree_note(program: Program) -> str:
    shown = "the share of each answer" if program.body.labels else "the mean answer"
    return (
        "Follow the line whose test the row passes. Each box has the rows that reach it"
        f" in training and, as a bar, {shown} among them."
    )


# ---------------------------------------------------------------- parts of the file


@cache
def static(name: str) -> str:
    """Return a file of the page that is the same for every model."""
    return (templates_folder() / "html" / name).read_text(encoding="utf-8")


@cache
def page_script() -> str:
    parts = "\n".join(static(f"{name}.js") for name in SCRIPTS)
    return in_script(f'(() => {{\n"use strict";\n\n{parts}\n}})();\n')


def in_script(text: str) -> str:
    """JavaScript that no HTML parser ends early: `<\\/script>` is the same string.

    Outside of strings and comments, no code that we write has these characters.
    """
    return MARKUP.sub(r"<\\", text)


def in_json(value: data.Json) -> str:
    """JSON inside a script element, whose text is never parsed as markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c")


def policy(style: str, *scripts: str) -> str:
    """Nothing is loaded, sent or evaluated; only the given texts run."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
