"""JSON -> program: everything is checked before it is believed."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

from treecompile import __version__
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.file.bodies import PYTHON_TYPES, BodyReader
from treecompile.model.file.write import FORMAT, VERSION
from treecompile.model.ir import (
    Body,
    ClassQuality,
    ColumnSummary,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Program,
    Quality,
    RuleSet,
    RuleTally,
    Training,
    ValueQuality,
    ValueType,
)

MAX_BYTES = 1 << 30
HEAD = (
    *("format", "version", "tool", "target", "algorithm", "options", "na_values"),
    *("training", "labels", "features"),
)


def read_program(path: str | Path) -> Program:
    """Read and validate a model file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}") from None
    try:
        return loads(data)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def loads(data: bytes | str) -> Program:
    """Validate the text of a model file and build the program it describes."""
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"a model file has at most {MAX_BYTES} bytes")
    try:
        record = json.loads(
            data, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ModelFileError("not a model file: nested too deeply") from None
    except ValueError as error:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise ModelFileError(f"not a model file: {error}") from None
    return _program(record)


def _refuse_constant(name: str) -> float:
    raise ModelFileError(f"not a model file: {name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ModelFileError("not a model file: an object has a key twice")
    return record


def _program(record: Any) -> Program:
    checks.as_object(record, "the file")
    if record.get("format") != FORMAT:
        raise ModelFileError(f'not a model file: "format" is not "{FORMAT}"')
    if record.get("version") != VERSION or record["version"] is True:
        raise ModelFileError(
            f"version {record.get('version')!r} of the format is not known to"
            f" treecompile {__version__}: a newer release may read it"
        )
    bodies = {"nodes", "rules"} & record.keys()
    if len(bodies) != 1:
        raise ModelFileError('needs either "nodes" or "rules"')
    policy = ["missing"] if "nodes" in record else []
    checks.keys(record, [*HEAD, *policy, *bodies], "the file")
    checks.text(record["tool"], "tool")
    features = checks.listed(record["features"], "features", _feature)
    checks.distinct((f.name for f in features), "features", "two have the same name")
    reader = BodyReader(features, _labels(record["labels"]))
    body = (
        reader.tree(record["nodes"], _policy(record["missing"]))
        if "nodes" in record
        else reader.rules(record["rules"])
    )
    options = checks.as_object(record["options"], "options")
    for key, value in options.items():
        if not isinstance(value, (str, int, float)) or value in (inf, -inf):
            raise ModelFileError(f"options.{key}: expected text, a number or a boolean")
    return Program(
        target=checks.text(record["target"], "target"),
        algorithm=checks.text(record["algorithm"], "algorithm"),
        body=body,
        options=tuple(options.items()),
        na_values=checks.listed(record["na_values"], "na_values", checks.text),
        training=None if record["training"] is None else _training(record, body),
    )


def _feature(item: Any, where: str) -> Feature:
    checks.keys(item, ["name", "kind", "type", "categories"], where)
    name = checks.text(item["name"], f"{where}.name")
    if item["kind"] not in list(Kind) or item["type"] not in list(ValueType):
        raise ModelFileError(f"{where}: unknown kind or type")
    kind, value_type = Kind(item["kind"]), ValueType(item["type"])
    categories = checks.as_list(item["categories"], f"{where}.categories")
    if (kind is Kind.NUMERIC) != (value_type is ValueType.FLOAT):
        raise ModelFileError(f"{where}: kind {kind} cannot have type {value_type}")
    if kind is Kind.NUMERIC and categories:
        raise ModelFileError(f"{where}: a numeric feature has no categories")
    place = f"{where}.categories"
    for category in categories:
        checks.typed(category, PYTHON_TYPES[value_type], place)
    checks.distinct(categories, place, "a category is listed twice")
    return Feature(name, kind, value_type, tuple(categories))


def _labels(item: Any) -> tuple[Label, ...]:
    labels = checks.as_list(item, "labels")
    if not all(type(label) in (str, int, bool, float) for label in labels):
        raise ModelFileError("labels: expected text, numbers or booleans")
    if inf in labels or -inf in labels:
        raise ModelFileError("labels: a number must be finite")
    if len({type(label) for label in labels}) > 1:
        raise ModelFileError("labels: all must be of one type")
    checks.distinct(labels, "labels", "one is listed twice")
    return tuple(labels)


def _policy(item: Any) -> MissingPolicy:
    if item not in list(MissingPolicy):
        raise ModelFileError("missing: unknown policy")
    return MissingPolicy(item)


# ---------------------------------------------------------------- training


def _training(record: dict[str, Any], body: Body) -> Training:
    """What a model file says of the rows that its model was learned from."""
    deciding = (
        len(body.rules) + 1
        if isinstance(body, RuleSet)
        else sum(isinstance(node, Leaf) for node in body.nodes)
    )

    def columns(item: Any, where: str) -> tuple[ColumnSummary, ...]:
        found = checks.listed(item, where, _column)
        if len(found) != len(body.features):
            raise ModelFileError(f"{where}: expected one for each feature")
        return found

    def quality(item: Any, where: str) -> Quality:
        labels = len(body.labels)
        return _class_quality(item, labels, where) if labels else _quality(item, where)

    def tallies(item: Any, where: str) -> tuple[RuleTally, ...]:
        found = checks.listed(item, where, _tally)
        if len(found) != deciding:
            raise ModelFileError(f"{where}: expected {deciding}, one for each rule")
        return found

    readers: dict[str, checks.PartReader] = {
        "source": checks.text,
        "rows": checks.integer,
        "columns": columns,
        "quality": checks.optional(quality),
        "validation": checks.optional(quality),
        "rules": tallies,
        "validation_rules": tallies,
    }
    item = checks.as_object(record["training"], "training")
    for key in ("rules", "validation_rules"):  # these may be absent
        if key not in item:
            del readers[key]
    found = checks.fields(item, "training", readers)
    return Training(**dict(zip(readers, found, strict=True)))


def _column(item: Any, where: str) -> ColumnSummary:
    readers = {"missing": checks.integer, "low": _bound, "high": _bound}
    return ColumnSummary(*checks.fields(item, where, readers))


def _bound(item: Any, where: str) -> float | None:
    if item in ("inf", "-inf"):
        return float(item)
    return None if item is None else checks.number(item, where)


def _tally(item: Any, where: str) -> RuleTally:
    if len(checks.as_list(item, where)) != 4:
        raise ModelFileError(f"{where}: expected four numbers")
    return RuleTally(
        checks.integer(item[0], where),
        checks.weight(item[1], where),
        checks.integer(item[2], where),
        checks.weight(item[3], where),
    )


def _class_quality(item: Any, labels: int, where: str) -> ClassQuality:
    checks.keys(item, ["confusion"], where)
    confusion = tuple(
        tuple(checks.integer(count, where) for count in checks.as_list(row, where))
        for row in checks.as_list(item["confusion"], where)
    )
    if len(confusion) != labels or any(len(row) != labels for row in confusion):
        raise ModelFileError(f"{where}: expected {labels} rows of {labels} counts")
    return ClassQuality(confusion)


def _quality(item: Any, where: str) -> ValueQuality:
    readers: dict[str, checks.PartReader] = {
        "rows": checks.integer,
        "mean_absolute_error": checks.number,
        "root_mean_squared_error": checks.number,
        "r_squared": checks.optional(checks.number),
    }
    return ValueQuality(*checks.fields(item, where, readers))
