"""The forms in which SQL users paste an expression: bare, in a query, as a function.

What comes in are finished lines for each thing asked for; what goes out are the lines
of a whole statement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from treecompile import words
from treecompile.errors import OptionError, TargetError
from treecompile.ir import Body, Label, ValueType
from treecompile.lower import EmitOptions
from treecompile.lower.identifiers import identifiers
from treecompile.lower.sql_names import Quoting, column_names
from treecompile.targets import Dialect

Expressions = Mapping[str, Sequence[str]]  # the lines of each output, by its column

EXPRESSION, SELECT, VIEW, FUNCTION, DBT = (
    "expression",
    "select",
    "view",
    "function",
    "dbt",
)
FORMS = (EXPRESSION, SELECT, VIEW, FUNCTION, DBT)
OUTPUTS = {"label": "prediction", "probability": "probability", "rule": "rule"}
WITH_TABLE = (SELECT, VIEW, DBT)
JINJA = re.compile(r"\{(?=[{%#])")  # what dbt would take for its own


def outputs(options: EmitOptions) -> list[str]:
    """What is asked for, in order; only a query has several."""
    asked = [part.strip() for part in options.output.split(",")]
    for part in asked:
        check_choice("--output", part, OUTPUTS)
    if len(set(asked)) < len(asked):
        raise OptionError(f"--output {options.output!r}: each can be there once")
    if len(asked) > 1 and options.form not in WITH_TABLE:
        raise OptionError(
            f"--output {options.output!r}: several go with --as select, view or dbt"
        )
    return asked


def position_of(labels: Sequence[Label], text: str) -> int:
    """Which of the labels --label means."""
    texts = [v if isinstance(v, str) else words.value(v) for v in labels]
    if text not in texts:
        shown = ", ".join(map(words.value, labels))
        raise OptionError(f"--label {text!r} is not a label: there are {shown}")
    return texts.index(text)


def check_form(options: EmitOptions, dialect: Dialect) -> None:
    """Refuse what does not go together."""
    check_choice("--as", options.form, FORMS)
    if options.form in WITH_TABLE and not options.table:
        raise OptionError(f"--as {options.form} needs --table, the table to read")
    if options.form == FUNCTION and not dialect.functions.create:
        raise TargetError(
            f"{dialect.name} has no functions that are written in SQL:"
            " use --as expression, select or view"
        )
    if options.alias and options.form == FUNCTION:
        raise OptionError("--alias is for a table, and a function reads none")


def check_choice(
    option: str, value: str, known: Sequence[str] | Mapping[str, str]
) -> None:
    if value not in known:
        raise OptionError(f"{option} {value!r}: expected one of {', '.join(known)}")


# ---------------------------------------------------------------- columns


def references(body: Body, dialect: Dialect, options: EmitOptions) -> dict[int, str]:
    """How the expression mentions the column of each required feature."""
    columns = column_names(body, dialect, options.columns)
    features, text = body.features, ValueType.STR
    if options.form == FUNCTION:
        usual = dialect.functions.reference
        of_text = dialect.functions.text_reference or usual
        return {
            position: (of_text if features[position].type is text else usual).format(
                **parameter
            )
            for position, parameter in _parameters(body, dialect, options).items()
        }
    if not options.alias:
        return columns
    alias = Quoting(dialect).path("--alias", options.alias)
    return {position: f"{alias}.{column}" for position, column in columns.items()}


def _parameters(
    body: Body, dialect: Dialect, options: EmitOptions
) -> dict[int, dict[str, str]]:
    """What can be said of each parameter of a function."""
    columns = column_names(body, dialect, options.columns)
    plain = identifiers(body, ())
    return {
        position: {
            "name": column,
            "identifier": plain[position],
            "number": str(number),
            "type": _type(body.features[position].type, dialect),
        }
        for number, (position, column) in enumerate(columns.items(), start=1)
    }


def _type(value_type: ValueType, dialect: Dialect) -> str:
    functions = dialect.functions
    special = {
        ValueType.STR: functions.text,
        ValueType.INT: functions.integer,
        ValueType.BOOL: functions.boolean,
    }
    return special.get(value_type) or dialect.types.of(value_type)


# ---------------------------------------------------------------- statements


def statement(
    made: Expressions, body: Body, dialect: Dialect, options: EmitOptions
) -> list[str]:
    """The lines of the statement, or of the bare expression."""
    if options.form == EXPRESSION:
        (lines,) = made.values()
        return list(lines)
    if options.form == FUNCTION:
        return _function(made, body, dialect, options)
    quoting = Quoting(dialect)
    # Without AS before the alias, which Oracle does not take there.
    alias = quoting.path("--alias", options.alias) if options.alias else ""
    is_dbt = options.form == DBT
    table = quoting.path("--table", options.table)
    if is_dbt:
        table = _reference(options.table)
    everything = f"{alias}.*" if alias else dialect.everything.format(table=table)
    query = ["SELECT", f"  {everything},"]
    for column, lines in made.items():
        comma = "" if column == [*made][-1] else ","
        query += [f"  {escaped(line) if is_dbt else line}" for line in lines]
        query[-1] += f" AS {quoting.name(column)}{comma}"
    query.append(f"FROM {table} {alias}".rstrip())
    if options.form == VIEW:
        view = quoting.path("--name", options.name or "predictions")
        return [f"CREATE VIEW {view} AS", *query[:-1], f"{query[-1]};"]
    return query


def _function(
    made: Expressions, body: Body, dialect: Dialect, options: EmitOptions
) -> list[str]:
    functions = dialect.functions
    (lines,) = made.values()
    parameters = ", ".join(
        functions.parameter.format(**parameter)
        for parameter in _parameters(body, dialect, options).values()
    )
    expression = "\n".join(lines)
    if functions.barred and functions.barred in expression:
        raise TargetError(
            f"a name or a value holds {functions.barred!r}, which ends a function of"
            f" {dialect.name}: use --as expression or view"
        )
    answer = answer_type(body, options.output)
    given = _type(answer, dialect)
    is_text = answer is ValueType.STR
    text = functions.create.format(
        name=Quoting(dialect).path("--name", options.name or "predict"),
        parameters=parameters,
        type=given,
        variable=(is_text and functions.text_variable) or given,
        expression=expression,
    )
    return text.split("\n")


def answer_type(body: Body, output: str) -> ValueType:
    if output == "rule":
        return ValueType.STR
    if output == "probability" or not body.labels:
        return ValueType.FLOAT
    label: Label = body.labels[0]
    types = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}
    return types.get(type(label), ValueType.STR)


# ---------------------------------------------------------------- dbt


def escaped(text: str) -> str:
    """Text that dbt leaves as it is."""
    return JINJA.sub('{{ "{" }}', text)


def _reference(table: str) -> str:
    """A model of the project, or SOURCE.TABLE."""
    parts = table.split(".")
    if len(parts) > 2 or not all(parts):
        raise OptionError(
            f"--table {table!r}: for dbt, expected the name of a model or SOURCE.TABLE"
        )
    names = ", ".join(json.dumps(part) for part in parts)
    return f"{{{{ {'source' if parts[1:] else 'ref'}({names}) }}}}"


def properties(
    made: Expressions, labels: Sequence[str], options: EmitOptions
) -> list[str]:
    """The YAML beside a dbt model: what its columns are, and tests of them.

    The labels come as literals, since dbt puts them into its SQL as they are.
    """
    name = options.name or "predictions"
    lines = [
        "version: 2",
        "",
        "models:",
        f"  - name: {json.dumps(name)}",
        "    columns:",
    ]
    for column in made:
        lines += [f"      - name: {json.dumps(column)}", "        data_tests:"]
        lines.append("          - not_null")
        if column == OUTPUTS["label"] and labels:
            values = ", ".join(json.dumps(escaped(label)) for label in labels)
            lines += [
                "          - accepted_values:",
                "              arguments:",
                f"                values: [{values}]",
                "                quote: false",
            ]
    return lines
