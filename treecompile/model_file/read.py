"""JSON -> program: everything is checked before it is believed."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

from treecompile import __version__
from treecompile.errors import ModelFileError
from treecompile.ir import Feature, Kind, Label, MissingPolicy, Program, ValueType
from treecompile.model_file import checks
from treecompile.model_file.bodies import PYTHON_TYPES, BodyReader
from treecompile.model_file.layout import FORMAT, HEAD, MAX_BYTES, VERSION
from treecompile.model_file.training import read_training


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
        raise ModelFileError("not a model file: a key stands twice in one object")
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
    features = tuple(
        _feature(item, f"features[{i}]")
        for i, item in enumerate(checks.as_list(record["features"], "features"))
    )
    names = [feature.name for feature in features]
    if len(set(names)) < len(names):
        raise ModelFileError("features: two have the same name")
    labels = _labels(record["labels"])
    reader = BodyReader(features, labels)
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
        na_values=tuple(
            checks.text(item, "na_values")
            for item in checks.as_list(record["na_values"], "na_values")
        ),
        training=read_training(record["training"], body),
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
    if kind is Kind.NUMERIC:
        if categories:
            raise ModelFileError(f"{where}: a numeric feature has no categories")
    else:
        for category in categories:
            checks.typed(category, PYTHON_TYPES[value_type], f"{where}.categories")
        if len(set(categories)) < len(categories):
            raise ModelFileError(f"{where}.categories: one stands there twice")
    return Feature(name, kind, value_type, tuple(categories))


def _labels(item: Any) -> tuple[Label, ...]:
    labels = checks.as_list(item, "labels")
    if not all(type(label) in (str, int, bool, float) for label in labels):
        raise ModelFileError("labels: expected text, numbers or booleans")
    if inf in labels or -inf in labels:
        raise ModelFileError("labels: a number must be finite")
    if len({type(label) for label in labels}) > 1:
        raise ModelFileError("labels: all must be of one type")
    if len(set(labels)) < len(labels):
        raise ModelFileError("labels: one stands there twice")
    return tuple(labels)


def _policy(item: Any) -> MissingPolicy:
    if item not in list(MissingPolicy):
        raise ModelFileError("missing: unknown policy")
    return MissingPolicy(item)
