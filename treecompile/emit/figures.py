"""The figures of a model that its document and its page show, as tables.

`show` escapes a name or a value from the data for the artefact that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treecompile.measure.summary import HELD_OUT, Measured, measured, usual_label
from treecompile.model import ir, words
from treecompile.model.display import DisplayTable
from treecompile.model.evidence import label_rows, right_rows, rows_of
from treecompile.model.words import rounded

SQL_TYPES = {
    ir.ValueType.FLOAT: "DOUBLE PRECISION",
    ir.ValueType.STR: "VARCHAR",
    ir.ValueType.INT: "BIGINT",
    ir.ValueType.BOOL: "BOOLEAN",
}
Show = Callable[[str], str]


def share(part: float, whole: float) -> str:
    """Return a count and its share: "4 (28.6 %)"."""
    of_all = f" ({100 * part / whole:.1f} %)" if whole else ""
    return f"{words.amount(part)}{of_all}"


def quality_table(program: ir.AnyProgram, show: Show = str) -> DisplayTable:
    """Return how many answers are right, or how far off numbers are."""
    known = measured(program)
    heads = ["On", "Rows", "Mean absolute error", "Root mean squared error", "R²"]
    usual = 0
    if known and program.body.labels:
        usual = usual_label(program)
        label = show(words.value(program.body.labels[usual]))
        heads = ["On", "Rows", "Right", f"Always {label}"]
    rows = [[_where(each), *_figures(each.quality, usual)] for each in known]
    return DisplayTable("Quality", heads, rows)


def _where(each: Measured) -> str:
    if each.kind == HELD_OUT:
        return "new rows, held out"
    if each.kind.endswith("cross-validation"):
        return f"new rows, in {each.kind}"
    return f"{each.kind} data{', which also pruned the rules' * each.has_pruned}"


def _figures(found: ir.Quality, usual: int) -> list[str]:
    rows = rows_of(found)
    if isinstance(found, ir.ClassQuality):
        shown = (right_rows(found), label_rows(found)[usual])
        return [str(rows), *(share(part, rows) for part in shown)]
    r_squared = "" if found.r_squared is None else f"{found.r_squared:.3f}"
    errors = (found.mean_absolute_error, found.root_mean_squared_error)
    return [str(rows), *map(rounded, errors), r_squared]


def columns_table(
    program: ir.AnyProgram, used: Sequence[int], show: Show = str
) -> DisplayTable:
    """Return the columns that the model reads, with their values in training."""
    rows = []
    for index in used:
        feature = program.body.features[index]
        column = program.training.columns[index] if program.training else None
        values = words.enumerated(
            [show(words.value(each)) for each in feature.categories]
        )
        if column and column.low is not None and column.high is not None:
            values = f"{rounded(column.low, 6)} to {rounded(column.high, 6)}"
        if feature.kind is ir.Kind.ORDINAL:
            values = f"in this order: {values}"
        missing = str(column.missing) if column else "not counted"
        name = show(words.name(feature.name))
        rows.append([name, values, missing, SQL_TYPES[feature.type]])
    return DisplayTable(
        "Columns and their values in training",
        ["Column", "Values", "Missing", "SQL type"],
        rows,
    )


def unused_columns(body: ir.AnyBody, used: Sequence[int], show: Show = str) -> str:
    """Return the names of the other columns."""
    named = set(used)
    rest = [each for index, each in enumerate(body.features) if index not in named]
    return words.enumerated([show(words.name(feature.name)) for feature in rest])
