"""Reads the features of a LightGBM model: numbers, codes, or pandas categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from treecompile.importers import boosted
from treecompile.importers.lightgbm.text import INTEGER, Block, Document
from treecompile.model import ir
from treecompile.model.errors import ModelFileError

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type
MOST_CODES = 5_000_000
NONE, ZERO, NAN = 0, 1, 2  # what is missing: the two bits above


def bits(words: Sequence[int]) -> list[int]:
    """Return the places of the bits that are set in words of 32 bits."""
    return [
        32 * place + bit
        for place, word in enumerate(words)
        if word
        for bit in range(32)
        if word >> bit & 1
    ]


def check_codes(count: int) -> None:
    """Refuse tests whose categories would take too much memory."""
    if count > MOST_CODES:
        raise ModelFileError(
            f"the tests name more than {MOST_CODES:,} categories in total: group the"
            " categories and train again"
        )


def category_sets(block: Block) -> list[list[int]]:
    """Return the codes that go left, for each categorical test of a tree."""
    count = block.integer("num_cat")
    if not 0 <= count <= len(block.lines.get("cat_boundaries", "")):
        raise ModelFileError(f"{block.where}: num_cat={count}: the file is damaged")
    if not count:
        return []
    bounds = block.integers("cat_boundaries", count + 1)
    if bounds[0] != 0 or bounds != sorted(bounds):
        raise ModelFileError(f"{block.where}: cat_boundaries: expected them in order")
    words = block.integers("cat_threshold", bounds[-1])
    if not all(0 <= word < 1 << 32 for word in words):
        raise ModelFileError(f"{block.where}: cat_threshold: expected 32-bit words")
    check_codes(sum(word.bit_count() for word in words))
    return [bits(words[low:high]) for low, high in pairwise(bounds)]


def columns(
    document: Document, tests: Iterable[tuple[int, int, list[int]]]
) -> tuple[boosted.Columns, dict[int, int]]:
    """Return the features, and what counts as missing in each numeric one.

    A test is the place of its feature, its `decision_type`, and the codes that go left.
    """
    header = document.header
    count = header.integer("max_feature_idx") + 1
    names = header.text("feature_names").split(" ")
    infos = header.text("feature_infos").split(" ")
    if not len(names) == len(infos) == count:
        raise ModelFileError(
            f"feature_names: {len(names):,} names and {len(infos):,} infos for"
            f" {count:,} features: the file is damaged"
        )
    boosted.check_names(names)
    codes = {f: codes for f, info in enumerate(infos) if (codes := _codes(info))}
    missing = _tested(names, codes, tests)
    declared = _declared(document, count)
    categories: dict[int, Sequence[ir.Category]] = {}
    if document.categories:
        categories = _of_pandas(document, names, codes, declared | codes.keys())
    features = []
    for place, name in enumerate(names):
        if place in categories:
            features.append(boosted.categorical(name, categories[place]))
        elif place in codes:
            features.append(boosted.categorical(name, sorted(codes[place])))
        else:
            features.append(boosted.numeric(name))
    return boosted.Columns(tuple(features), categories), missing


def _codes(info: str) -> set[int]:
    """Return the codes that a column had; none if it has numbers."""
    parts = info.split(":")
    if info.startswith("[") or not all(map(INTEGER.fullmatch, parts)):
        return set()
    return {code for code in map(int, parts) if code >= 0}


def _tested(
    names: Sequence[str],
    codes: dict[int, set[int]],
    tests: Iterable[tuple[int, int, list[int]]],
) -> dict[int, int]:
    """Return what is missing in each numeric feature; add the codes of the others."""
    missing: dict[int, int] = {}
    tested = set()
    for feature, decision, chosen in tests:
        if decision & CATEGORICAL:
            tested.add(feature)
            codes.setdefault(feature, set()).update(chosen)
            continue
        kind = decision >> 2
        if kind > NAN:
            raise ModelFileError(
                f"feature {names[feature]!r}: decision_type={decision} is unknown: the"
                " file is damaged"
            )
        if missing.setdefault(feature, kind) != kind:
            raise ModelFileError(
                f"feature {names[feature]!r}: its tests differ in what is missing:"
                " expected one meaning of 0 and NaN for each feature"
            )
    if both := (tested | codes.keys()) & missing.keys():
        raise ModelFileError(
            f"feature {names[min(both)]!r}: tested as a number and as a category: the"
            " file is damaged"
        )
    return missing


def _declared(document: Document, count: int) -> set[int]:
    """Return the features declared as categorical, even if no test uses them."""
    parts = document.parameters.get("categorical_feature", "").split(",")
    places = {int(part) for part in parts if INTEGER.fullmatch(part)}
    return {place for place in places if 0 <= place < count}


def _of_pandas(
    document: Document,
    names: Sequence[str],
    codes: Mapping[int, set[int]],
    places: set[int],
) -> dict[int, Sequence[ir.Category]]:
    if len(places) != len(document.categories):
        raise ModelFileError(
            f"pandas_categorical: {len(document.categories)} columns of categories, and"
            f" {len(places)} categorical features: the file does not say which is"
            " which: turn ordered categories into numbers and train again"
        )
    found = {}
    for place, categories in zip(sorted(places), document.categories, strict=True):
        if codes.get(place) and max(codes[place]) >= len(categories):
            raise ModelFileError(
                f"feature {names[place]!r}: code {max(codes[place])}, and"
                f" pandas_categorical has {len(categories)} categories for it: the"
                " file is damaged"
            )
        found[place] = categories
    return found
