"""Names in letters, digits and underscores, as every language takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from treecompile.ir import Body
from treecompile.semantics import required_features


def identifiers(
    body: Body,
    reserved: Iterable[str],
    longest: int = 40,
    *,
    lower: bool = False,
) -> dict[int, str]:
    """One for each required feature, all different, and none reserved.

    With `lower` they are in small letters, for a language that tells these from
    capitals; otherwise names that differ by no more are the same.
    """
    folded = str if lower else str.casefold
    taken = set(map(folded, reserved))
    names = {}
    for position in required_features(body):
        stem = re.sub(r"[^0-9A-Za-z]+", "_", body.features[position].name).strip("_")
        stem = stem[:longest].strip("_") or "feature"
        stem = stem.lower() if lower else stem
        if stem[0].isdigit():
            stem = f"x_{stem}"
        name, number = stem, 1
        while folded(name) in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(folded(name))
        names[position] = name
    return names
