"""Reads the parts of an ONNX file that the importer needs: nodes and attributes."""

from __future__ import annotations

from dataclasses import dataclass, field

from treecompile.importers.protobuf import DOUBLE, SINGLE, Message, Reader, text_of
from treecompile.model.errors import ModelFileError

FLOAT, INT64, STRING, FLOAT64 = 1, 7, 8, 11  # types of elements
UINT8 = 2
TYPES = {1: "float", 6: "int32", 7: "int64", 8: "string", 9: "bool", 11: "double"}


@dataclass(frozen=True, slots=True)
class Operator:
    """A node of the graph."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Message] = field(default_factory=dict)

    def integers(self, name: str) -> list[int]:
        if name not in self.attributes:
            return []
        return self.attributes[name].integers(8)

    def integer(self, name: str, otherwise: int) -> int:
        if name not in self.attributes:
            return otherwise
        return self.attributes[name].integer(3, otherwise)

    def text(self, name: str, otherwise: str) -> str:
        if name not in self.attributes:
            return otherwise
        found = self.attributes[name].bytes_of(4)
        return text_of(found[-1]) if found else otherwise

    def texts(self, name: str) -> list[str]:
        return self.attributes[name].texts(9) if name in self.attributes else []

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of an attribute, or of its variant as a tensor."""
        if name in self.attributes:
            return self.attributes[name].numbers(7)
        return self.tensor(f"{name}_as_tensor")

    def tensor(self, name: str) -> list[float]:
        if name not in self.attributes:
            return []
        tensor = self.attributes[name].message(5)
        kind = tensor.integer(2)
        if 13 in tensor.fields or tensor.integer(14):
            raise ModelFileError(
                f"{name}: its data are in another file: save them here"
            )
        raw = b"".join(tensor.bytes_of(9))
        if kind == FLOAT:
            return tensor.numbers(4) or tensor.reader.floats(raw, SINGLE)
        if kind == FLOAT64:
            return tensor.numbers(10, DOUBLE) or tensor.reader.floats(raw, DOUBLE)
        if kind == UINT8:
            return [float(each) for each in tensor.integers(5) or raw]
        raise ModelFileError(
            f"{name}: a tensor of type {kind}: expected float or double"
        )


@dataclass(frozen=True, slots=True)
class Input:
    """An input of the graph."""

    name: str
    type: int
    columns: int | None  # None: not known


@dataclass(frozen=True, slots=True)
class Graph:
    operators: tuple[Operator, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    constants: tuple[str, ...]  # names of stored tensors


def graph_of(data: bytes) -> Graph:
    """Read the graph of a file."""
    model = Reader(data).model
    if not model.bytes_of(7):
        raise ModelFileError("not an ONNX file: it has no graph")
    graph = model.message(7)
    constants = tuple(tensor.text(8) for tensor in graph.messages(5))
    inputs = tuple(map(_input, graph.messages(11)))
    return Graph(
        tuple(map(_operator, graph.messages(1))),
        tuple(each for each in inputs if each.name not in constants),
        tuple(each.text(1) for each in graph.messages(12)),
        constants,
    )


def _operator(node: Message) -> Operator:
    attributes = {each.text(1): each for each in node.messages(5)}
    return Operator(
        node.text(4), tuple(node.texts(1)), tuple(node.texts(2)), attributes
    )


def _input(value: Message) -> Input:
    tensor = value.message(2).message(1)
    dims = tensor.message(2).messages(1)
    last = dims[-1].integer(1) if dims else 0
    return Input(value.text(1), tensor.integer(1), last if last > 0 else None)
