"""Chooses rows to try and the model's answers, for a tree, rules or a forest."""

from __future__ import annotations

from typing import Any, TypeAlias

from treecompile.model.ir import AnyProgram, ForestProgram, Label
from treecompile.verify.cells import ProbeRows, probe_rows
from treecompile.verify.claims import Wanted
from treecompile.verify.forests import ForestReference, forest_rows
from treecompile.verify.reference import Reference

AnyReference: TypeAlias = Reference | ForestReference


def reference_of(program: AnyProgram, wanted: Wanted = ()) -> AnyReference:
    """Return the reference that knows what the artefacts of a model must answer."""
    if isinstance(program, ForestProgram):
        return ForestReference(program.body, wanted)
    return Reference(program, wanted)


def rows_to_try(reference: AnyReference, **how: Any) -> ProbeRows:
    """Return the rows to try on a model; see `probe_rows` and `forest_rows`."""
    if isinstance(reference, ForestReference):
        return forest_rows(reference.body, **how)
    return probe_rows(reference.body, **how)


def edge_rows(
    program: AnyProgram, budget: int, seed: int
) -> list[tuple[dict[str, Any], Label]]:
    """Return rows for every cell and both sides of every edge, with answers."""
    names = [feature.name for feature in program.body.features]
    reference = reference_of(program)
    tried = rows_to_try(reference, budget=budget, seed=seed).rows
    rows = (dict(zip(names, row, strict=True)) for row in tried)
    return list(zip(rows, reference.answers(tried), strict=True))
