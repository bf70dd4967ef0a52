"""What a user can say about a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treecompile.model.errors import OptionError

DOWN, RIGHT = "down", "right"
LAYOUTS = (DOWN, RIGHT)
MOST = 100  # leaves in a picture
FEW = 40  # in a notebook or a document


@dataclass(frozen=True, slots=True)
class DrawOptions:
    max_depth: int | None = None  # tests above the lowest node that is drawn
    max_leaves: int | None = None  # None: as many as can be read
    layout: str | None = None  # None: down if that fits a page, else right
    row: Mapping[str, Any] | None = None  # whose path is lit

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise OptionError(f"max_depth={self.max_depth}: expected 0 or more")
        if self.max_leaves is not None and self.max_leaves < 1:
            raise OptionError(f"max_leaves={self.max_leaves}: expected 1 or more")
        if self.layout not in (None, *LAYOUTS):
            raise OptionError(f"layout={self.layout!r}: expected down or right")
