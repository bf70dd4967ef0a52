"""Writes unit tests of a dbt model: rows at the edges of the model, and its answers.

dbt runs them without the model file and without any table. Rows whose values YAML or
Jinja would change are left out; `verify` tries those rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt, forms
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.outputs import OUTPUTS, asked_outputs
from treecompile.emit.sql.text import INTEGER, column_names, literal
from treecompile.model.errors import TargetError
from treecompile.model.ir import AnyProgram, Row
from treecompile.model.semantics import required_features
from treecompile.verify.axes import DOUBLES, PYTHON_INTEGERS, integral
from treecompile.verify.edges import AnyReference, reference_of, rows_to_try
from treecompile.verify.forests import Nearly
from treecompile.verify.reference import Reference

MOST = 40  # rows of a test
TRIED = 2000  # rows to choose from
NUMBER = "tc_case"  # the column that numbers the rows
WITHOUT_FROM = ("oracle",)  # dialects in which a SELECT needs a FROM


def unit_tests(program: AnyProgram, options: EmitOptions) -> str:
    """Return the YAML of a unit test; "" if no row can be written."""
    dialect = read_dialect(options.dialect)
    if dialect.key in WITHOUT_FROM:
        return ""
    asked = asked_outputs(program.body, options)
    wanted = [(each.output, each.label) for each in asked]
    reference = reference_of(program, wanted)
    quoting = forms.quoting_of(dialect, options)
    columns = column_names(program.body, quoting, options.columns)
    number = quoting.name(NUMBER)
    names = [NUMBER, *(OUTPUTS[each.output] for each in asked)]
    keys = [dbt.scalar(quoting.stored(name)) for name in names]
    given: list[str] = []
    expected: list[str] = []
    rows = _chosen(program, reference, dialect, options)
    for row, answers in zip(rows, reference.judge(rows), strict=True):
        if any(isinstance(answer, Nearly) for answer in answers):
            continue  # dbt compares to the last digit
        place = len(given) + 1
        values = [row[index] for index in columns]
        query = _select([number, *columns.values()], [place, *values], dialect)
        pairs = zip(keys, map(_value, (place, *answers)), strict=True)
        answer = ", ".join(f"{key}: {value}" for key, value in pairs)
        if _is_plain(query) and _is_plain(answer):
            given.append(query)
            expected.append(answer)
    if not given:
        return ""
    name = options.name or "predictions"
    return "".join(f"{line}\n" for line in _yaml(name, options, given, expected))


def _yaml(
    name: str, options: EmitOptions, given: Sequence[str], expected: Sequence[str]
) -> Iterator[str]:
    reference = dbt.call(options.table, "'")
    yield from ("", "unit_tests:", f"  - name: {dbt.scalar(f'{name}_answers')}")
    yield "    description: Rows at the edges of the model, and its answers"
    yield from (f"    model: {dbt.scalar(name)}", "    given:")
    yield from (f"      - input: {reference}", "        format: sql", "        rows: |")
    for query in given:
        yield f"          {query}{'' if query is given[-1] else ' UNION ALL'}"
    yield from ("    expect:", "      rows:")
    yield from (f"        - {{{row}}}" for row in expected)


def _select(names: Iterable[str], values: Iterable[object], dialect: Dialect) -> str:
    texts = ("NULL" if v is None else literal(v, dialect) for v in values)  # type: ignore[arg-type]
    pairs = zip(texts, names, strict=True)
    return f"SELECT {', '.join(f'{text} AS {name}' for text, name in pairs)}"


def _value(value: object) -> str:
    """Return an answer in YAML."""
    if isinstance(value, str):
        return dbt.scalar(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _is_plain(text: str) -> bool:
    return text.isprintable() and not {"{", "}"} & set(text)


def _chosen(
    program: AnyProgram,
    reference: AnyReference,
    dialect: Dialect,
    options: EmitOptions,
) -> list[Row]:
    """Choose a row for each rule, then others; the first has the fewest NULLs.

    From the first row, a database takes the types of the columns.
    """
    body = program.body
    whole = [
        index
        for index, feature in enumerate(body.features)
        if options.types.get(feature.name) == INTEGER
    ]
    numbers = PYTHON_INTEGERS if whole else DOUBLES
    rows: Sequence[Row] = rows_to_try(reference, budget=TRIED, numbers=numbers).rows
    rows = integral(rows, whole) if whole else rows
    required = required_features(body)
    different = {tuple(row[i] for i in required): row for row in rows}
    rows = [row for key, row in different.items() if _can_write(key, dialect)]
    firsts = {}
    if isinstance(reference, Reference):
        firsts = {reference.cell(row): row for row in reversed(rows)}
    step = max(1, 2 * len(rows) // MOST)
    chosen = list(dict.fromkeys((*firsts.values(), *rows[::step])))[:MOST]
    chosen.sort(key=lambda row: sum(row[i] is None for i in required))
    return chosen


def _can_write(values: Sequence[object], dialect: Dialect) -> bool:
    for value in values:
        if isinstance(value, float) and not isfinite(value):
            return False
        if value is not None:
            try:
                text = literal(value, dialect)  # type: ignore[arg-type]
            except TargetError:
                return False
            if not _is_plain(text):
                return False
    return True
