"""How results show themselves: a few lines in a terminal, tables in a notebook.

The colours of a table are those of the notebook, so that it can be read in a dark theme
too. Text from the data is escaped and never becomes markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from treecompile.model import words
from treecompile.model.evidence import right_rows, rows_of
from treecompile.model.ir import ClassQuality, Label, Quality

MOST = 20  # rows of a table
CELL = "padding: 2px 10px; border-bottom: 1px solid rgba(128, 128, 128, 0.5)"


@dataclass(frozen=True, slots=True)
class DisplayTable:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1  # columns that are aligned left; the others have figures


@dataclass(frozen=True, slots=True)
class Display:
    """What a result shows."""

    lines: Sequence[str]
    tables: Sequence[DisplayTable] = ()
    picture: str = ""  # an SVG


class Shown:
    """A result that shows itself."""

    __slots__ = ()

    def _display(self) -> Display:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(self._display().lines)

    def _repr_html_(self) -> str:
        return html(self._display())


# ---------------------------------------------------------------- HTML


def html(display: Display) -> str:
    parts = [f"<p>{escape(line)}</p>" for line in display.lines]
    parts += [_table(table) for table in display.tables if table.rows]
    if display.picture:
        parts.append(framed(display.picture))
    return f"<div>{''.join(parts)}</div>"


def framed(picture: str) -> str:
    """An SVG picture, which shrinks to the width of the page."""
    fitting = picture.replace("<svg ", '<svg style="max-width: 100%; height: auto" ', 1)
    return f'<div style="overflow-x: auto">{fitting}</div>'


def _table(table: DisplayTable) -> str:
    body = "".join(_line(cells, "td", table.left) for cells in table.rows[:MOST])
    rest = len(table.rows) - MOST
    more = f"<p>and {rest:,} more</p>" if rest > 0 else ""
    return (
        '<div style="overflow-x: auto">'
        '<table style="border-collapse: collapse; color: inherit">'
        '<caption style="text-align: left; white-space: nowrap; color: inherit">'
        f"{escape(table.title)}</caption>"
        f"<thead>{_line(table.head, 'th', table.left)}</thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def _line(cells: Iterable[str], tag: str, left: int) -> str:
    made = (
        f'<{tag} style="{CELL}; text-align: {"left" if place < left else "right"}">'
        f"{escape(cell)}</{tag}>"
        for place, cell in enumerate(cells)
    )
    return f"<tr>{''.join(made)}</tr>"


# ---------------------------------------------------------------- what several show


def example(row: Mapping[str, object] | None) -> str:
    """An example row as JSON, to paste."""
    return "" if row is None else json.dumps(row, ensure_ascii=False, default=str)


def quality_line(quality: Quality) -> str:
    """How good a model is, in a line."""
    if isinstance(quality, ClassQuality):
        right, total = right_rows(quality), rows_of(quality)
        share = f" = {100 * right / total:.1f} %" if total else ""
        return f"accuracy: {right:,} of {total:,} rows{share}"
    fit = "" if quality.r_squared is None else f", R squared {quality.r_squared:.4f}"
    return (
        f"root mean squared error {quality.root_mean_squared_error:.6g}, mean absolute"
        f" error {quality.mean_absolute_error:.6g}{fit}, on {quality.rows:,} rows"
    )


def confusion_table(labels: Sequence[Label], quality: Quality) -> list[DisplayTable]:
    """The confusion matrix; none for numbers."""
    if not isinstance(quality, ClassQuality):
        return []
    names = [words.value(label) for label in labels]
    pairs = zip(names, quality.confusion, strict=True)
    rows = [[name, *map(str, counts)] for name, counts in pairs]
    title = "actual (rows) and predicted (columns)"
    return [DisplayTable(title, ["", *names], rows)]
