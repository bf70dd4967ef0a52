"""Reads the inputs of an ONNX ensemble: one tensor of all columns, or one for each.

Before the ensemble there may be casts, and a Concat that joins inputs of one column. A
cast to 32 bits rounds. A cast from 64-bit integers rounds, too: a double holds integers
up to 2^53, and up to there both round alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treecompile.importers.onnx_nodes import (
    FLOAT,
    FLOAT64,
    INT64,
    TYPES,
    Graph,
    Input,
    Operator,
)
from treecompile.importers.onnx_trees import Limits
from treecompile.model.errors import ModelFileError
from treecompile.model.options import sentence


class InputColumns(NamedTuple):
    """The columns to which the tests of an ensemble refer by number."""

    columns: int | None  # None: not known
    names: tuple[str, ...]  # of the inputs with one column each; else empty
    limits: tuple[Limits, ...]  # one for each column, or one for all
    notes: tuple[str, ...] = ()

    def limits_of(self, feature: int) -> Limits:
        return self.limits[feature if self.names else 0]


class _Part(NamedTuple):
    """An input, and the types of its numbers on the way, the ensemble's first."""

    source: Input
    types: tuple[int, ...]
    is_joined: bool


def source_of(graph: Graph, node: Operator) -> InputColumns:
    """Return the columns of an ensemble, and how their numbers are compared."""
    parts = list(_parts(graph, node.inputs[0] if node.inputs else ""))
    if not parts:
        raise ModelFileError("Concat joins nothing: expected inputs")
    for part in parts:
        _check_types(part)
    if len({part.types[0] for part in parts}) > 1:
        raise ModelFileError("Concat joins inputs of several types: cast them before")
    limits = tuple(_limits(part.types) for part in parts)
    used = {part.source.name for part in parts}
    unused = [repr(each.name) for each in graph.inputs if each.name not in used]
    notes: tuple[str, ...] = ()
    if unused:
        notes = (f"the trees do not read the input {sentence(unused, 'and')}",)
    if not parts[0].is_joined:
        return InputColumns(parts[0].source.columns, (), limits, notes)
    names = tuple(part.source.name for part in parts)
    if len(used) < len(names):
        raise ModelFileError("Concat joins an input twice: expected each once")
    for part in parts:
        if part.source.columns != 1:
            raise ModelFileError(
                f"Concat joins the input {part.source.name!r}: expected inputs of one"
                " column each, or a single input of all columns"
            )
    return InputColumns(len(names), names, limits, notes)


def _parts(graph: Graph, name: str) -> Iterator[_Part]:
    """Yield the inputs behind a name, in the order of their columns."""
    makers = {out: each for each in graph.operators for out in each.outputs}
    inputs = {each.name: each for each in graph.inputs}
    # Every operator is passed once, unless they form a loop or repeat a column.
    steps = len(graph.operators)
    waiting: list[tuple[str, tuple[int, ...], bool]] = [(name, (), False)]
    while waiting:
        name, types, is_joined = waiting.pop()
        if name in inputs:
            yield _Part(inputs[name], (*types, inputs[name].type), is_joined)
            continue
        maker = makers.get(name)
        steps -= 1
        if maker is None or steps < 0:
            raise ModelFileError(f"the ensemble reads {name!r}, which is not an input")
        if maker.kind == "Concat" and maker.integer("axis", 0) in (1, -1):
            parts = [(each, types, True) for each in maker.inputs]
            waiting += reversed(parts)
        elif maker.kind in ("Cast", "Identity"):
            more = (maker.integer("to", FLOAT),) if maker.kind == "Cast" else ()
            before = maker.inputs[0] if maker.inputs else ""
            waiting.append((before, (*types, *more), is_joined))
        else:
            raise unknown_operator(maker)


def _check_types(part: _Part) -> None:
    *casts, own = part.types
    wrong = {*casts, own} - {FLOAT, FLOAT64}
    if casts and own == INT64 and INT64 not in casts:
        wrong -= {INT64}
    for kind in sorted(wrong):
        raise ModelFileError(
            f"an input of type {TYPES.get(kind, str(kind))}: expected float or double,"
            " or int64 that is cast to one of them"
        )


def _limits(types: tuple[int, ...]) -> Limits:
    return Limits(is_single=FLOAT in types, is_double=types[0] == FLOAT64)


def unknown_operator(node: Operator) -> ModelFileError:
    return ModelFileError(
        f"cannot import the operator {node.kind!r}: expected an ensemble of trees, with"
        " nothing but Cast, Identity and ZipMap around it, and a Concat of its inputs"
    )
