"""Names in letters, digits and underscores, as every language takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treecompile.ir import Body
from treecompile.semantics import required_features

LONGEST = 40


def identifiers(body: Body, reserved: Sequence[str]) -> dict[int, str]:
    """One for each required feature, all different by any case."""
    taken = {word.casefold() for word in reserved}
    names = {}
    for position in sorted(required_features(body)):
        stem = re.sub(r"[^0-9A-Za-z]+", "_", body.features[position].name).strip("_")
        stem = stem[:LONGEST] or "feature"
        if stem[0].isdigit():
            stem = f"x_{stem}"
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.casefold())
        names[position] = name
    return names
