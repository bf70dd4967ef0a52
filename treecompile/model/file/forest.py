"""The part of a model file about a forest: its trees, and how they are added up."""

from __future__ import annotations

from typing import Any, Protocol

from treecompile.model import forests, ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks


class TestReader(Protocol):
    """Reads the tests of a model with these features and labels."""

    @property
    def features(self) -> tuple[ir.Feature, ...]: ...
    @property
    def labels(self) -> tuple[ir.Label, ...]: ...
    def condition(self, item: Any, where: str, *more_keys: str) -> ir.Condition: ...


def read_forest(item: Any, trees: Any, reader: TestReader) -> ir.Forest:
    """A forest from how it adds up its trees, and from these."""

    def index(item: Any, where: str) -> int:
        found = checks.integer(item, where)
        if not found < len(reader.features):
            raise ModelFileError(f"{where}: there is no feature {found}")
        if reader.features[found].kind is not ir.Kind.NUMERIC:
            raise ModelFileError(f"{where}: feature {found} is not numeric")
        return found

    def numbers(item: Any, where: str) -> tuple[float, ...]:
        return checks.listed(item, where, checks.number)

    readers: dict[str, checks.PartReader] = {
        "start": numbers,
        "arithmetic": _arithmetic,
        "divisor": _positive,
        "scale": checks.number,
        "offset": numbers,
        "link": _link,
        "slope": checks.number,
        "cut": checks.optional(checks.number),
        "zero_is_missing": lambda item, where: checks.listed(item, where, index),
    }
    parts = dict(zip(readers, checks.fields(item, "forest", readers), strict=True))
    if not parts["start"]:
        raise ModelFileError("forest.start: expected a number for each output")
    checks.distinct(parts["zero_is_missing"], "forest.zero_is_missing", "one is twice")
    outputs = len(parts["start"])

    def tree(item: Any, where: str) -> ir.Member:
        return _member(item, where, reader, outputs)

    members = checks.listed(trees, "trees", tree)
    forest = ir.Forest(reader.features, reader.labels, members, **parts)
    if problem := forests.problem(forest):
        raise ModelFileError(f"forest: {problem}")
    return forest


def _arithmetic(item: Any, where: str) -> ir.Arithmetic:
    return checks.member(item, ir.Arithmetic, f"{where}: unknown arithmetic")


def _link(item: Any, where: str) -> ir.Link:
    return checks.member(item, ir.Link, f"{where}: unknown link")


def _positive(item: Any, where: str) -> float:
    found = checks.number(item, where)
    if not found > 0:
        raise ModelFileError(f"{where}: expected a number above 0")
    return found


def _member(item: Any, where: str, reader: TestReader, outputs: int) -> ir.Member:
    checks.keys(item, ("outputs", "nodes"), where)
    adds_to = checks.listed(item["outputs"], f"{where}.outputs", checks.integer)
    if not adds_to or max(adds_to) >= outputs:
        raise ModelFileError(f"{where}.outputs: expected outputs below {outputs}")
    checks.distinct(adds_to, f"{where}.outputs", "one is listed twice")

    def node(item: Any, where: str) -> forests.SplitNode | forests.LeafNode:
        if "values" not in checks.as_object(item, where):
            return _split(item, where, reader)
        checks.keys(item, ("values", "weight"), where)
        values = checks.listed(item["values"], f"{where}.values", checks.number)
        if len(values) != len(adds_to):
            raise ModelFileError(f"{where}.values: expected one for each output")
        return forests.LeafNode(values, checks.weight(item["weight"], where))

    nodes = checks.listed(item["nodes"], f"{where}.nodes", node)
    children = [
        (
            {"then": each.then, "else": each.otherwise}
            if isinstance(each, forests.SplitNode)
            else {}
        )
        for each in nodes
    ]
    checks.family(children, f"{where}.nodes")
    return forests.member(reader.features, adds_to, nodes)


def _split(item: Any, where: str, reader: TestReader) -> forests.SplitNode:
    more = ("then", "else", "weight", "gain")
    return forests.SplitNode(
        reader.condition(item, where, *more),
        checks.integer(item["then"], f"{where}.then"),
        checks.integer(item["else"], f"{where}.else"),
        checks.weight(item["weight"], f"{where}.weight"),
        checks.number(item["gain"], f"{where}.gain"),
    )
