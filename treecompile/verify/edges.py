"""The rows that `verify` tries, each with the right answer."""

from __future__ import annotations

from typing import Any

from treecompile.model.ir import AnyProgram, ForestProgram, Label
from treecompile.model.paths import divisible
from treecompile.model.semantics import predict
from treecompile.verify.cells import probe_rows
from treecompile.verify.forests import ForestReference, forest_rows
from treecompile.verify.reference import Reference


def edge_rows(
    program: AnyProgram, budget: int, seed: int
) -> list[tuple[dict[str, Any], Label]]:
    """The rows that reach every cell of a model and both sides of every edge."""
    names = [feature.name for feature in program.body.features]
    if isinstance(program, ForestProgram):
        tried = forest_rows(program.body, budget=budget, seed=seed).rows
        answers = ForestReference(program.body).answers(tried)
    else:
        body = program.body
        cut, scattered = Reference(program).body, divisible(body)
        tried = probe_rows(cut, budget=budget, seed=seed, scattered=scattered).rows
        answers = [predict(body, row) for row in tried]
    rows = (dict(zip(names, row, strict=True)) for row in tried)
    return list(zip(rows, answers, strict=True))
