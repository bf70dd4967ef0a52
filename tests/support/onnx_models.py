"""Tree ensembles as ONNX files, random and by hand, and what onnxruntime answers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


def session(model: ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    data = model.SerializeToString()
    return onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )


def run(model: ModelProto, x: Any) -> list[Any]:
    """The outputs for rows, which are rounded to the type of the input."""
    ready = session(model)
    source = ready.get_inputs()[0]
    kind = np.float64 if "double" in source.type else np.float32
    with np.errstate(over="ignore"):
        found: list[Any] = ready.run(None, {source.name: np.asarray(x).astype(kind)})
    return found


def random_tree(
    dice: Random, features: int, depth: int, modes: Sequence[str]
) -> list[dict[str, Any]]:
    """Nodes in the order of reading, with numbers that repeat."""
    nodes: list[dict[str, Any]] = []

    def grow(level: int) -> int:
        place = len(nodes)
        nodes.append({})
        if level == depth or (level and dice.random() < 0.2):
            nodes[place] = {"mode": "LEAF"}
            return place
        mode = dice.choice(modes)
        whole = mode in ("EQ", "NEQ") or dice.random() < 0.5
        value = float(dice.randrange(-2, 3)) if whole else dice.gauss(0, 1)
        then = grow(level + 1)
        other = grow(level + 1)
        nodes[place] = {
            "mode": f"BRANCH_{mode}",
            "feature": dice.randrange(features),
            "value": value,
            "track": int(dice.random() < 0.4),
            "then": then,
            "else": other,
        }
        return place

    grow(0)
    return nodes


def old_attributes(trees: Sequence[Sequence[dict[str, Any]]]) -> dict[str, list[Any]]:
    """The attributes nodes_* of TreeEnsembleClassifier and TreeEnsembleRegressor."""
    rows = [
        (t, i, node) for t, nodes in enumerate(trees) for i, node in enumerate(nodes)
    ]
    return {
        "nodes_treeids": [t for t, _, _ in rows],
        "nodes_nodeids": [i for _, i, _ in rows],
        "nodes_modes": [node["mode"] for _, _, node in rows],
        "nodes_featureids": [node.get("feature", 0) for _, _, node in rows],
        "nodes_values": [float(node.get("value", 0.0)) for _, _, node in rows],
        "nodes_truenodeids": [node.get("then", 0) for _, _, node in rows],
        "nodes_falsenodeids": [node.get("else", 0) for _, _, node in rows],
        "nodes_missing_value_tracks_true": [n.get("track", 0) for _, _, n in rows],
    }


def leaf_attributes(
    trees: Sequence[Sequence[dict[str, Any]]],
    prefix: str,
    weights: Any,
) -> dict[str, list[Any]]:
    """The attributes class_* or target_*; `weights(tree)` are {output: number}."""
    found: dict[str, list[Any]] = {
        f"{prefix}_{part}": [] for part in ("treeids", "nodeids", "ids", "weights")
    }
    for t, nodes in enumerate(trees):
        for i, node in enumerate(nodes):
            if node["mode"] != "LEAF":
                continue
            for output, weight in weights(t).items():
                found[f"{prefix}_treeids"].append(t)
                found[f"{prefix}_nodeids"].append(i)
                found[f"{prefix}_ids"].append(output)
                found[f"{prefix}_weights"].append(float(weight))
    return found


def as_tensors(attributes: dict[str, Any], *names: str) -> dict[str, Any]:
    """Some attributes as tensors of doubles."""
    made = dict(attributes)
    for name in names:
        if name in made:
            values = made.pop(name)
            made[f"{name}_as_tensor"] = helper.make_tensor(
                name, TensorProto.DOUBLE, [len(values)], values
            )
    return made


def model_of(
    kind: str,
    features: int,
    attributes: dict[str, Any],
    double: bool = False,
    outputs: Sequence[tuple[str, int]] = (("Y", TensorProto.FLOAT),),
    after: Sequence[Any] = (),
    before: Sequence[Any] = (),
    source: str = "X",
    opset: int = 3,
) -> ModelProto:
    """A graph of one ensemble, with nodes before and after it."""
    node = helper.make_node(
        kind, [source], [name for name, _ in outputs], domain="ai.onnx.ml", **attributes
    )
    element = TensorProto.DOUBLE if double else TensorProto.FLOAT
    made = [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs]
    graph = helper.make_graph(
        [*before, node, *after],
        "trees",
        [helper.make_tensor_value_info("X", element, [None, features])],
        made,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", opset)]
    model = helper.make_model(graph, opset_imports=versions)
    model.ir_version = 8
    return model


LABELLED = (("L", TensorProto.INT64), ("S", TensorProto.FLOAT))
NAMED = (("L", TensorProto.STRING), ("S", TensorProto.FLOAT))
