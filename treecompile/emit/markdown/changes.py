"""Writes what was edited since the model from which the document was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.history import Changes, History
from treecompile.emit.markdown import md
from treecompile.model import words
from treecompile.model.ir import Condition, Feature, Program, Rule
from treecompile.rules.language.record import STRUCK, THE_MODEL, place_of

MOST = 20  # regions that are listed
SHORT = 12  # digits of a hash in a title
UNKNOWN = (
    "No data was given, so the rules as they are now have not been measured: their"
    " quality, the ranges of the columns and the figures of edited and added rules are"
    " unknown. `treecompile build RULES.md --data FILE` measures them."
)
ON_DATA = (
    "The rules were counted on the data named below. A rule that none of its rows meets"
    " keeps its previous counts."
)


@dataclass(frozen=True, slots=True)
class ChangesText:
    title: str  # Changes since model 5875b386ed0a
    parts: tuple[str, ...]  # sentences and tables


def changes(
    history: History, program: Program, ids: Sequence[str]
) -> ChangesText | None:
    """Return the section; None for a model that comes from no document.

    `ids` are the ids of all rules that have a place for a note.
    """
    found = history.changes
    lost = [name for name in history.notes if name not in (*ids, THE_MODEL)]
    if found is None and not lost:
        return None
    parts, title = [], "Changes"
    if found is not None:
        title = f"Changes since model {found.since[:SHORT]}"
        parts += _said(found, program)
    for name in lost:
        about = name if name.endswith(STRUCK) else f"{name}{STRUCK}"
        parts += [
            f"The note on {name.removesuffix(STRUCK)}, which is no longer there:",
            place_of(about, {about: history.notes[name]}),
        ]
    return ChangesText(title, tuple(parts))


def _said(found: Changes, program: Program) -> list[str]:
    if not found.is_edited:
        return [f"Nothing has changed since model `{found.since}`."]
    rows = _edits(found, program)
    parts = [f"These rules were edited from those of model `{found.since}`."]
    if rows:
        parts.append(md.table(["Rule", "Change", "Before", "Now"], rows))
    else:
        parts.append(
            "No rule was added, struck or changed; the edits concern the declarations"
            " above the rules, their counts, or their order."
        )
    if found.is_reordered:
        parts.append("The order of the rules was changed.")
    parts += _answers(found, program)
    if program.training is not None:
        return [*parts, ON_DATA]
    if found.kept:
        kept = md.listing(list(found.kept))
        parts.append(f"Not edited, with the counts that they had: {kept}.")
    return [*parts, UNKNOWN]


def _edits(found: Changes, program: Program) -> list[list[str]]:
    features = program.body.features
    rows = [
        [new.id, "changed", _rule(old, found.features), _rule(new, features)]
        for old, new in found.changed
    ]
    rows += [[r.id, "added", "", _rule(r, features)] for r in found.added]
    rows += [[r.id, "struck", _rule(r, found.features), ""] for r in found.struck]
    return rows


def _rule(rule: Rule, features: Sequence[Feature]) -> str:
    return f"{_tests(rule.conditions, features)}: {md.value(rule.value)}"


def _tests(tests: Sequence[Condition], features: Sequence[Feature]) -> str:
    return " and ".join(words.conjunction(tests, features, md.shown)) or "always"


def _answers(found: Changes, program: Program) -> list[str]:
    """Write where the answers differ."""
    if found.obstacle:
        return [f"The answers cannot be compared: {md.prose(found.obstacle)}."]
    if not found.regions:
        if found.is_complete:
            return ["Every case gets the same answer as before."]
        return ["The search for cases with a different answer was not finished."]
    parts = []
    if found.differing is not None:
        parts.append(
            f"Of the {words.quantity(found.rows, 'row')} of the data,"
            f" {found.differing:,} {'gets' if found.differing == 1 else 'get'} a"
            " different answer."
        )
    parts.append("The answers differ in these cases, and in no others:")
    if not found.is_complete:
        parts[-1] = "The answers differ in these cases, and perhaps in others:"
    shown = found.regions[:MOST]
    heads = ["Cases where", "Before", "Now"]
    rows = [
        [_tests(each.tests, found.common), md.value(each.old), md.value(each.new)]
        for each in shown
    ]
    if found.differing is not None:
        heads.append("Rows")
        rows = [[*row, str(e.rows)] for row, e in zip(rows, shown, strict=True)]
    parts.append(md.table(heads, rows))
    if len(found.regions) > MOST:
        rest = len(found.regions) - MOST
        parts.append(f"And {rest:,} more: `treecompile diff` lists them.")
    return parts
