"""Makes the features of imported models: numbers, and categories of an encoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from treecompile.importers import boosted
from treecompile.model import ir
from treecompile.model.errors import DataError


def numeric(names: Sequence[str]) -> tuple[ir.Feature, ...]:
    return tuple(map(boosted.numeric, names))


def categorical(name: str, known: Iterable[Any], what: str) -> ir.Feature:
    """Return a feature with plain categories; `what` cannot be done with others."""
    categories = tuple(known)
    types = {type(category) for category in categories}
    if types <= {int, float} and all(float(c).is_integer() for c in categories):
        categories = tuple(map(int, categories))
        types = {int}
    if len(types) != 1 or not types <= boosted.TYPES.keys():
        found = ", ".join(sorted(kind.__name__ for kind in types)) or "none"
        raise DataError(
            f"cannot {what} of {name!r}: its categories are of type {found}: expected"
            " text, integers or booleans"
        )
    return ir.Feature(
        name,
        ir.Kind.CATEGORICAL,
        boosted.TYPES[types.pop()],
        tuple(sorted(categories)),
    )
