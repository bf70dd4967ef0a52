"""Imports tree ensembles from ONNX files, exactly as onnxruntime evaluates them.

The file is read without the libraries of ONNX. Its graph is one ensemble of trees, and
the operators that converters write around it: Cast, Identity, ZipMap, and a Concat of
the inputs. onnxruntime adds the trees in their order, from 0, as floats of 32 bits; in
a model of doubles, as doubles. The base values are added last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from treecompile.importers import boosted, onnx_trees
from treecompile.importers.onnx_answers import (
    CLASSIFIER,
    ENSEMBLE,
    REGRESSOR,
    classes,
    number,
)
from treecompile.importers.onnx_inputs import source_of, unknown_operator
from treecompile.importers.onnx_nodes import (
    FLOAT,
    INT64,
    STRING,
    Graph,
    Operator,
    graph_of,
)
from treecompile.model import forests, ir
from treecompile.model.errors import DataError, ModelFileError

ENSEMBLES = (CLASSIFIER, REGRESSOR, ENSEMBLE)
THREADS = (
    "with several threads, onnxruntime adds trees in another order for some numbers of"
    " rows, and the last bits of its sums change; the model adds as with one thread"
)
SECOND_TAGS = (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)  # of the fields of a model
MOST_VERSION = 64


def is_model(beginning: bytes) -> bool:
    """Whether a file may be an ONNX file: a small version, and a field that follows."""
    return (
        len(beginning) > 2
        and beginning[0] == 0x08
        and 0 < beginning[1] < MOST_VERSION
        and beginning[2] in SECOND_TAGS
    )


def from_object(
    model: Any, target: str = "", feature_names: Sequence[str] | None = None
) -> ir.NotedForest:
    """Import the forest of a model in memory, an `onnx.ModelProto`."""
    if not hasattr(model, "SerializeToString"):
        kind = type(model).__name__
        raise DataError(f"cannot import a {kind}: expected an onnx.ModelProto")
    return read(model.SerializeToString(), target, feature_names)


def read(
    data: bytes,
    target: str = "",
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[ir.Label] | None = None,
) -> ir.NotedForest:
    """Read the forest of a file, which has its own labels."""
    if labels is not None:
        raise ModelFileError("an ONNX file has its own labels: leave others out")
    graph = graph_of(data)
    node = _ensemble(graph)
    source = source_of(graph, node)
    trees = (
        onnx_trees.new_trees(node)
        if node.kind == ENSEMBLE
        else onnx_trees.old_trees(
            node, "class" if node.kind == CLASSIFIER else "target"
        )
    )
    count = onnx_trees.check(trees, source.columns)
    features = _features(count, source.names, feature_names)
    if node.kind == CLASSIFIER:
        answers = classes(node, trees)
    else:
        answers = number(node, trees, source.limits[0].is_double)
    _refuse_other_operators(graph, node, answers.forest.labels)
    made = onnx_trees.members(
        trees, features, answers.leaf, source.limits_of, len(answers.forest.start)
    )
    kind = ir.Arithmetic.DOUBLE if source.limits[0].is_double else ir.Arithmetic.SINGLE
    forest = replace(answers.forest, features=features, members=made, arithmetic=kind)
    if problem := forests.problem(forest):
        raise ModelFileError(f"cannot import the model: {problem}")
    program = ir.ForestProgram(target or "prediction", f"ONNX {node.kind}", forest)
    threads = () if len(made) == 1 else (THREADS,)
    return ir.NotedForest(program, (*source.notes, *answers.notes, *threads))


# ---------------------------------------------------------------- the graph


def _ensemble(graph: Graph) -> Operator:
    found = [node for node in graph.operators if node.kind in ENSEMBLES]
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelFileError(f"{len(found)} ensembles of trees: expected one")
    kinds = (
        ", ".join(dict.fromkeys(repr(each.kind) for each in graph.operators)) or "none"
    )
    raise ModelFileError(
        f"the graph has no ensemble of trees: its operators are {kinds}, expected one"
        f" of {', '.join(ENSEMBLES)}"
    )


def _refuse_other_operators(
    graph: Graph, node: Operator, labels: tuple[ir.Label, ...]
) -> None:
    """Refuse operators that change the answer."""
    label_type = STRING if labels and isinstance(labels[0], str) else INT64
    before = {*node.inputs}
    for each in reversed(graph.operators):  # a maker comes before its users
        if before & {*each.outputs}:
            before |= {*each.inputs}
    answers = {name for name in node.outputs[:1] if node.kind == CLASSIFIER}
    for each in graph.operators:
        if each is node or before & {*each.outputs}:
            continue
        is_answer = bool(answers & {*each.inputs})
        if is_answer:
            answers |= {*each.outputs}
        if each.kind == "Identity" or (each.kind == "ZipMap" and not is_answer):
            continue
        kept = label_type if is_answer else FLOAT
        if each.kind != "Cast" or each.integer("to", 0) != kept:
            raise unknown_operator(each)


def _features(
    count: int, known: Sequence[str], given: Sequence[str] | None
) -> tuple[ir.Feature, ...]:
    if given is None:
        given = known or [f"x{i}" for i in range(count)]
    return tuple(map(boosted.numeric, boosted.checked_names(given, count)))
