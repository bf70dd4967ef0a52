"""Reads the features of a CatBoost model: numbers, and categories that trees test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from treecompile.importers import boosted
from treecompile.importers.catboost.categories import Known, OneHot, hash_bits
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks
from treecompile.model.options import sentence

TREATMENTS = {"AsIs": False, "AsFalse": False, "AsTrue": True}
STATISTICS = (
    "a test of statistics of categories (CTR): train with a one_hot_max_size above the"
    " number of categories, or encode them as numbers"
)


class Numbers(NamedTuple):
    """A column of numbers."""

    place: int  # among the features
    missing_above: bool  # a missing value is above every border


class Choices(NamedTuple):
    """A column of categories."""

    place: int
    of_hash: Mapping[int, tuple[ir.Category, ...]]


class ModelColumns(NamedTuple):
    """The features, and the columns by their numbers among those of their kind."""

    features: tuple[ir.Feature, ...]
    numbers: dict[int, Numbers]
    choices: dict[int, Choices]


class _Found(NamedTuple):
    """A column in the file."""

    flat: int  # its place among all columns
    number: int  # its place among columns of its kind
    name: str
    item: dict[str, Any]
    where: str


def columns_of(model: dict[str, Any], known: Known) -> tuple[ModelColumns, list[str]]:
    """Read the columns, and notes; categories that no tree tests are left out."""
    info = checks.as_object(model.get("features_info"), "features_info")
    numbers = list(_found(info, "float"))
    every = list(_found(info, "categorical"))
    tested = [column for column in every if column.item.get("values")]
    if tested and model.get("ctr_data"):
        raise ModelFileError(f"ctr_data: {STATISTICS}")
    one_hot = [OneHot(each.name, _hashes(each)) for each in tested]
    categories = known(model, one_hot)
    boosted.check_names([column.name for column in (*numbers, *tested)])
    features = {
        **{each.flat: boosted.numeric(each.name) for each in numbers},
        **{
            each.flat: boosted.categorical(each.name, own.all)
            for each, own in zip(tested, categories, strict=True)
        },
    }
    if len(features) < len(numbers) + len(tested):
        raise ModelFileError("features_info: a flat_feature_index is there twice")
    order = sorted(features)
    places = {flat: place for place, flat in enumerate(order)}
    made = ModelColumns(
        tuple(features[flat] for flat in order),
        {each.number: Numbers(places[each.flat], _is_above(each)) for each in numbers},
        {
            each.number: Choices(places[each.flat], own.of_hash)
            for each, own in zip(tested, categories, strict=True)
        },
    )
    notes = [own.note for own in categories if own.note]
    unused = [column.name for column in every if column not in tested]
    return made, [*notes, *_unused(info, unused)]


def _found(info: dict[str, Any], kind: str) -> Iterator[_Found]:
    where = f"features_info.{kind}_features"
    indices = set()
    for i, item in enumerate(checks.as_list(info.get(f"{kind}_features", []), where)):
        here = f"{where}[{i}]"
        own = checks.as_object(item, here)
        flat = checks.integer(
            own.get("flat_feature_index"), f"{here}.flat_feature_index"
        )
        index = checks.integer(own.get("feature_index"), f"{here}.feature_index")
        name = checks.text(own.get("feature_id", ""), f"{here}.feature_id")
        if index in indices:
            raise ModelFileError(f"{here}.feature_index: {index} is there twice")
        indices.add(index)
        yield _Found(flat, index, name or f"x{flat}", own, here)


def _is_above(column: _Found) -> bool:
    treatment = str(column.item.get("nan_value_treatment", "AsIs"))
    if treatment not in TREATMENTS:
        raise ModelFileError(
            f"{column.where}.nan_value_treatment: {treatment!r} is unknown"
        )
    return TREATMENTS[treatment]


def _hashes(column: _Found) -> tuple[int, ...]:
    where = f"{column.where}.values"
    values = checks.as_list(column.item["values"], where)
    found = tuple(hash_bits(value, where) for value in values)
    checks.distinct(found, where, "a hash is there twice")
    return found


def _unused(info: dict[str, Any], categorical: list[str]) -> Iterator[str]:
    if categorical:
        names = sentence(map(repr, categorical), "and")
        yield f"no tree tests the categories of {names}: left out"
    kinds = [kind for kind in ("text", "embedding") if info.get(f"{kind}_features")]
    if kinds:
        yield f"the {' and '.join(kinds)} features of the model are in no tree"
