"""Reads the text format of LightGBM: a header, a block for each tree, parameters.

tree
version=v4
feature_names=age income
...

Tree=0
num_leaves=2
...

end of trees
...
parameters:
[boosting: gbdt]
...
end of parameters

pandas_categorical:[["north", "south"]]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from treecompile.importers.boosted import check_bytes
from treecompile.model.errors import ModelFileError

VERSIONS = ("v3", "v4")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
MARK = b"pandas_categorical:"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of the form `key=value`, and where they are."""

    where: str
    lines: Mapping[str, str]

    def text(self, key: str) -> str:
        if key not in self.lines:
            raise ModelFileError(f"{self.where}: the line {key}= is missing")
        return self.lines[key]

    def integer(self, key: str) -> int:
        text = self.text(key)
        if not INTEGER.fullmatch(text):
            raise ModelFileError(f"{self.where}: {key}={text}: expected an integer")
        return int(text)

    def integers(self, key: str, count: int) -> list[int]:
        parts = self._parts(key, count)
        for part in parts:
            if not INTEGER.fullmatch(part):
                raise ModelFileError(f"{self.where}: {key}: {part!r} is no integer")
        return list(map(int, parts))

    def numbers(self, key: str, count: int) -> list[float]:
        """Read finite numbers."""
        return self._checked(key, self._parts(key, count))

    def limits(self, key: str, count: int) -> list[float]:
        """Read numbers or `inf`, the threshold that all known numbers pass."""
        parts = self._parts(key, count)
        self._checked(key, [part for part in parts if part != "inf"])
        return list(map(float, parts))

    def _checked(self, key: str, parts: list[str]) -> list[float]:
        for part in parts:
            if not NUMBER.fullmatch(part) or not isfinite(float(part)):
                raise ModelFileError(
                    f"{self.where}: {key}: {part!r} is no finite number"
                )
        return list(map(float, parts))

    def measures(self, key: str, count: int) -> list[float]:
        """Return numbers that decide nothing; zeros if the file does not have them."""
        parts = self.lines.get(key, "").split(" ")
        if len(parts) != count:
            return [0.0] * count
        return [float(part) if NUMBER.fullmatch(part) else 0.0 for part in parts]

    def _parts(self, key: str, count: int) -> list[str]:
        text = self.text(key)
        parts = text.split(" ") if text else []
        if len(parts) != count:
            raise ModelFileError(
                f"{self.where}: {key}: {len(parts):,} values, and {count:,} are needed:"
                " the file is damaged"
            )
        return parts


@dataclass(frozen=True, slots=True)
class Document:
    """A model file, taken apart."""

    header: Block
    trees: tuple[Block, ...]
    parameters: Mapping[str, str]
    categories: list[Any]  # of the categorical columns of pandas, in their order


def is_model(beginning: bytes) -> bool:
    """Whether a file that begins like this is in the text format of LightGBM."""
    return re.match(rb"tree\r?\nversion=v\d", beginning) is not None


def parsed(data: bytes) -> Document:
    check_bytes(data)
    if not is_model(data[:100]):
        raise ModelFileError(
            "not a LightGBM model: expected the text that Booster.save_model writes"
        )
    data, categories = _without_categories(data)
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"not a LightGBM model: byte {error.start:,} is not UTF-8"
        ) from None
    if "end of trees" not in lines:
        raise ModelFileError(
            'the line "end of trees" is missing: the file is not complete'
        )
    end = lines.index("end of trees")
    if [line for line in lines[end:] if line.strip()][-1] != "end of parameters":
        # The end of a file says what the codes of categories mean.
        raise ModelFileError(
            'the file does not end after "end of parameters": it is not complete'
        )
    header, *trees = _blocks(lines[1:end])
    version = header.text("version")
    if version not in VERSIONS:
        raise ModelFileError(
            f"version={version}: expected {' or '.join(VERSIONS)}: load the model with"
            " LightGBM 4 and save it again"
        )
    sizes = header.lines.get("tree_sizes", "").split()
    if sizes and len(sizes) != len(trees):
        raise ModelFileError(
            f"tree_sizes: {len(sizes):,} trees are announced, and {len(trees):,} are"
            " there: the file is damaged"
        )
    return Document(header, tuple(trees), _parameters(lines[end:]), categories)


def _blocks(lines: list[str]) -> list[Block]:
    """Return the header and the trees."""
    found: dict[str, str] = {}
    blocks = [Block("the header", found)]
    for line in lines:
        key, _, value = line.partition("=")
        if key == "Tree":
            if value != str(len(blocks) - 1):
                raise ModelFileError(
                    f"Tree={value}: expected Tree={len(blocks) - 1}: the file is"
                    " damaged"
                )
            found = {}
            blocks.append(Block(f"tree {value}", found))
        elif key in found and line:
            raise ModelFileError(f"{blocks[-1].where}: the line {key}= is there twice")
        elif line:
            found[key] = value
    return blocks


def _parameters(lines: list[str]) -> dict[str, str]:
    """Return the lines `[name: value]`."""
    found = {}
    for line in lines:
        if line.startswith("[") and line.endswith("]"):
            name, _, value = line[1:-1].partition(": ")
            found[name] = value
    return found


def _without_categories(data: bytes) -> tuple[bytes, list[Any]]:
    """Return the file without its last line, and the categories of that line."""
    start = data.rfind(b"\n" + MARK)
    if start < 0:
        return data, []
    line = data[start + 1 + len(MARK) :]
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ModelFileError(
            "pandas_categorical: expected a list of lists in JSON: the file is damaged"
        ) from None
    if found is None:
        found = []
    if not isinstance(found, list) or not all(isinstance(own, list) for own in found):
        raise ModelFileError("pandas_categorical: expected a list of lists")
    return data[:start], found
