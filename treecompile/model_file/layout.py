"""What every model file has."""

from __future__ import annotations

FORMAT = "treecompile model"
VERSION = 1
MAX_BYTES = 1 << 30

HEAD = (
    *("format", "version", "tool", "target", "algorithm", "options", "na_values"),
    *("training", "labels", "features"),
)
