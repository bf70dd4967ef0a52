"""Finds the categories behind the hashes that CatBoost tests.

CatBoost turns a category into text, and keeps 32 bits of the hash of that text. A file
may list the texts. For a model in memory, CatBoost hashes the categories of given rows.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import checks
from treecompile.model.file.limits import MOST_DIGITS
from treecompile.model.values import INTEGER

BITS = 32
SAVE = 'model.save_model(path, format="json", pool=pool)'


class OneHot(NamedTuple):
    """A categorical feature that some tree tests."""

    name: str
    hashes: tuple[int, ...]  # hashes of the categories that it is compared with


class KnownCategories(NamedTuple):
    """The known categories of a categorical feature, also by hash."""

    all: tuple[ir.Category, ...]
    of_hash: Mapping[int, tuple[ir.Category, ...]]
    note: str = ""


Known = Callable[[dict[str, Any], Sequence[OneHot]], list[KnownCategories]]
CategoriesOf = Callable[[str], Iterable[ir.Category]]  # takes a feature's name


def hash_bits(item: Any, where: str) -> int:
    """Return a hash without its sign, which lists and tests write differently."""
    if type(item) is not int or not -(1 << BITS - 1) <= item < 1 << BITS:
        raise ModelFileError(f"{where}: expected an integer of {BITS} bits")
    return item % (1 << BITS)


# ---------------------------------------------------------------- from a file


def in_file(model: dict[str, Any], features: Sequence[OneHot]) -> list[KnownCategories]:
    """Return the categories that a file lists.

    Their types are not in the file. If a feature is compared with integers only, it is
    a feature of integers.
    """
    texts = texts_of(model)
    return [_listed(feature, texts) for feature in features]


def texts_of(model: dict[str, Any]) -> dict[int, str]:
    """Return the texts that a file lists, by their hashes."""
    where = "features_info.cat_features_hash"
    info = checks.as_object(model.get("features_info"), "features_info")
    found = {}
    for i, item in enumerate(checks.as_list(info.get("cat_features_hash", []), where)):
        here = f"{where}[{i}]"
        pair = checks.as_object(item, here)
        key = hash_bits(pair.get("hash"), f"{here}.hash")
        if key in found:
            raise ModelFileError(f"{here}.hash: {key} is there twice")
        found[key] = checks.text(pair.get("value"), f"{here}.value")
    return found


def _listed(feature: OneHot, texts: Mapping[int, str]) -> KnownCategories:
    if not texts.keys() >= set(feature.hashes):
        raise ModelFileError(
            f"feature {feature.name!r}: the file has only hashes of its categories:"
            f" save it with {SAVE}, where pool has the training rows"
        )
    chosen: dict[int, ir.Category] = {key: texts[key] for key in feature.hashes}
    note = ""
    if all(map(_is_integer, map(str, chosen.values()))):
        chosen = {key: int(text) for key, text in chosen.items()}
        note = (
            f"the file does not say whether the categories of {feature.name!r} are"
            " integers or texts: they are integers here"
        )
    categories = tuple(sorted(chosen.values()))
    return KnownCategories(categories, {key: (chosen[key],) for key in chosen}, note)


def _is_integer(text: str) -> bool:
    return len(text) <= MOST_DIGITS and INTEGER.fullmatch(text) is not None


# ---------------------------------------------------------------- from rows


def hashed_by(model: Any, categories: CategoriesOf | None) -> Known:
    """Return a function that finds categories in rows, hashed by a fitted model."""

    def known(_: dict[str, Any], features: Sequence[OneHot]) -> list[KnownCategories]:
        if not features:
            return []
        if categories is None:
            raise DataError(
                f"feature {features[0].name!r}: the model has only hashes of its"
                " categories: give the rows that it was trained on, as X"
            )
        found = [tuple(categories(feature.name)) for feature in features]
        texts = (text_of(category) for each in found for category in each)
        hashes = _hashes(model, dict.fromkeys(texts))
        return [_hashed(*pair, hashes) for pair in zip(features, found, strict=True)]

    return known


def text_of(category: ir.Category) -> str:
    """Return the text that CatBoost makes of a category; True is 1."""
    return category if isinstance(category, str) else str(int(category))


def _hashed(
    feature: OneHot, categories: tuple[ir.Category, ...], hashes: Mapping[str, int]
) -> KnownCategories:
    of_hash: dict[int, tuple[ir.Category, ...]] = {}
    for category in categories:  # several may have the same hash
        key = hashes[text_of(category)]
        of_hash[key] = (*of_hash.get(key, ()), category)
    if not of_hash.keys() >= set(feature.hashes):
        raise DataError(
            f"feature {feature.name!r}: the model tests a category that no row of X"
            " has: give the rows that it was trained on"
        )
    return KnownCategories(categories, {key: of_hash[key] for key in feature.hashes})


def _hashes(model: Any, texts: Iterable[str]) -> dict[str, int]:
    """Return the hash of each text; ask again for texts with the same hash."""
    found: dict[str, int] = {}
    waiting = list(texts)
    while waiting:
        listed = _saved(model, waiting)
        if not listed.keys() & set(waiting):
            raise DataError(
                f"CatBoost does not keep {waiting[0]!r} as it is: rename it"
            )
        found |= listed
        waiting = [text for text in waiting if text not in found]
    return found


def _saved(model: Any, texts: Sequence[str]) -> dict[str, int]:
    """Return the hashes of a file that CatBoost saves with rows of these texts."""
    import catboost
    import pandas as pd

    names, places = model.feature_names_, model.get_cat_feature_indices()
    column = pd.Series(texts, dtype=object)
    numbers = pd.Series(0.0, index=column.index)
    columns = {i: column if i in places else numbers for i in range(len(names))}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        try:
            frame = pd.DataFrame(columns).set_axis(names, axis=1)
            pool = catboost.Pool(frame, cat_features=places)
            model.save_model(path, format="json", pool=pool)
        except catboost.CatBoostError as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"CatBoost cannot hash the categories: {reason}") from None
        with open(path, "rb") as file:
            listed = texts_of(json.load(file))
    return {text: key for key, text in listed.items()}
