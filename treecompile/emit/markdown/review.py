"""Writes who accepted what, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.emit.markdown import md
from treecompile.rules.review import Reviewed, Standing, still_open

WHOLE = "the model as a whole"


def review(entries: Sequence[Reviewed]) -> list[str]:
    """Return the parts of the section: sentences and a table; none without a review."""
    if not entries:
        return []
    left = [_named(entry) for entry in still_open(entries)]
    text = "Every rule, and the model as a whole, has been accepted."
    if left:
        text = f"Not accepted yet: {md.listing(left)}."
    rows = [_row(entry) for entry in entries if entry.verdict is not None]
    rows = [row for row in rows if row[1] != Standing.OPEN.value or row[4]]
    if not rows:
        return [text]
    return [text, md.table(["Rule", "State", "By", "On", "Comment"], rows)]


def _named(entry: Reviewed) -> str:
    return entry.rule or WHOLE


STATES = {
    Standing.STRUCK: "{}, and struck since",
    Standing.CHANGED: "{}, for another model",
}


def _row(entry: Reviewed) -> list[str]:
    verdict = entry.verdict
    assert verdict is not None
    state = STATES.get(entry.standing, "{}").format(verdict.state.value)
    said = (verdict.by, verdict.date, verdict.comment)
    return [_named(entry), state, *map(md.prose, said)]
