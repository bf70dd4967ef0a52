"""Reads the parts of a model file of XGBoost, and checks them when they are taken."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from treecompile.importers.boosted import check_bytes
from treecompile.model.arrays import Array
from treecompile.model.errors import ModelFileError
from treecompile.model.file.limits import check_text

INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
NUMBER = re.compile(r"[-+]?\d+\.?\d*([eE][-+]?\d+)?", re.ASCII)
LARGEST = 2**62  # greatest integer


@dataclass(frozen=True, slots=True)
class Section:
    """An object of a model file, and its place in it."""

    record: dict[str, Any]
    where: str

    def __contains__(self, key: str) -> bool:
        return key in self.record

    def at(self, key: str) -> Any:
        if key not in self.record:
            raise ModelFileError(f'{self.where}: "{key}" is missing')
        return self.record[key]

    def part(self, key: str) -> Section:
        return part(self.at(key), self._place(key))

    def parts(self, key: str) -> list[Section]:
        items = self.items(key)
        return [part(item, f"{self._place(key)}[{i}]") for i, item in enumerate(items)]

    def items(self, key: str) -> list[Any]:
        found = self.at(key)
        if not isinstance(found, list):
            raise ModelFileError(f"{self._place(key)}: expected a list")
        return found

    def text(self, key: str) -> str:
        found = self.at(key)
        if not isinstance(found, str):
            raise ModelFileError(f"{self._place(key)}: expected text")
        return found

    def texts(self, key: str) -> list[str]:
        found = self.items(key) if key in self.record else []
        if not all(isinstance(each, str) for each in found):
            raise ModelFileError(f"{self._place(key)}: expected texts")
        return found

    def integer(self, key: str, default: str | None = None) -> int:
        """Return an integer that is written as text, as all parameters are."""
        if default is not None and key not in self.record:
            return int(default)
        text = self.text(key)
        if not INTEGER.fullmatch(text):
            raise ModelFileError(f"{self._place(key)}: {text!r} is no integer")
        return int(text)

    def singles(self, key: str, count: int) -> list[float]:
        """32-bit floats, as doubles. They may be infinite, or NaN."""
        found = self._array(key, count, (int, float))
        with np.errstate(over="ignore"):
            rounded: list[float] = found.astype(np.float32).astype(float).tolist()
        return rounded

    def integers(self, key: str, count: int | None = None) -> list[int]:
        found: list[int] = self._array(key, count, (int, bool)).tolist()
        return found

    def _array(self, key: str, count: int | None, types: tuple[type, ...]) -> Array:
        found = self.at(key)
        place = self._place(key)
        if (
            not isinstance(found, list)
            or not all(type(each) in types for each in found)
            or any(abs(each) > LARGEST for each in found if type(each) is int)
        ):
            raise ModelFileError(f"{place}: expected a list of numbers")
        if count is not None and len(found) != count:
            raise ModelFileError(
                f"{place}: {len(found):,} values, and {count:,} are needed: the file is"
                " damaged"
            )
        return np.array(found, np.float64 if float in types else np.int64)

    def _place(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key


def part(item: Any, where: str) -> Section:
    if not isinstance(item, dict):
        raise ModelFileError(f"{where or 'the file'}: expected an object")
    return Section(item, where)


def is_model(beginning: bytes) -> bool:
    """Whether a file that begins like this is a model of XGBoost, in JSON."""
    start = rb'\s*\{\s*"(learner|version|Config)"\s*:\s*[\[{]'
    return re.match(start, beginning) is not None


def parsed(data: bytes) -> Section:
    """Return the object `learner` of a model file."""
    check_bytes(data)
    model = part(_json(data), "")
    if "learner" not in model:
        raise ModelFileError(
            "not an XGBoost model: expected the JSON that Booster.save_model"
            ' writes, with the key "learner"'
        )
    return model.part("learner")


def _json(data: bytes) -> Any:
    check_text(data)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            raise ModelFileError("not an XGBoost model: an object has a key twice")
        return record

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique)
    except RecursionError:
        raise ModelFileError("not an XGBoost model: nested too deeply") from None
    except ValueError:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise ModelFileError(
            "not an XGBoost model: no JSON, or the file is damaged"
        ) from None


def single(text: str, where: str) -> float:
    """Return a finite 32-bit float that is written as text."""
    if NUMBER.fullmatch(text):
        with np.errstate(over="ignore"):
            found = float(np.float32(float(text)))
        if isfinite(found):
            return found
    raise ModelFileError(f"{where}: {text!r} is no finite number")
