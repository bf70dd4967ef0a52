"""Reads the features of an XGBoost model: numbers, codes or categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from treecompile.importers import boosted
from treecompile.importers.xgboost.document import Section
from treecompile.model import ir
from treecompile.model.errors import ModelFileError

MOST_CATEGORIES = 1 << 24  # as in XGBoost


def names_of(learner: Section) -> list[str]:
    count = learner.part("learner_model_param").integer("num_feature")
    names = learner.texts("feature_names")
    if not 0 <= count <= boosted.MOST_FEATURES:
        raise ModelFileError(
            f"num_feature: {count:,}: expected at most {boosted.MOST_FEATURES:,}"
        )
    if not names:
        return [f"f{place}" for place in range(count)]
    if len(names) != count:
        raise ModelFileError(
            f"feature_names: {len(names):,} names for {count:,} features: the file is"
            " damaged"
        )
    boosted.check_names(names)
    return names


def columns(
    learner: Section,
    model: Section,
    names: Sequence[str],
    tests: Iterable[tuple[int, Sequence[int] | None]],
) -> boosted.Columns:
    """Return the features, from the file's lists and from the tests of all trees.

    A test is the place of its feature, and the codes that go right; None: a number.
    """
    types = learner.texts("feature_types")
    if types and len(types) != len(names):
        raise ModelFileError("feature_types: expected one for each feature")
    codes: dict[int, set[int]] = {f: set() for f, t in enumerate(types) if t == "c"}
    numbers = set()
    for feature, chosen in tests:
        if chosen is None:
            numbers.add(feature)
        else:
            codes.setdefault(feature, set()).update(chosen)
    if both := numbers & codes.keys():
        raise ModelFileError(
            f"feature {names[min(both)]!r}: tested as a number and as a category: the"
            " file is damaged"
        )
    categories = _categories(model, names)
    features = []
    for place, name in enumerate(names):
        if place not in codes:
            features.append(boosted.numeric(name))
        elif place not in categories:
            features.append(_coded(name, sorted(codes[place])))
        else:
            if codes[place] and max(codes[place]) >= len(categories[place]):
                raise ModelFileError(
                    f"feature {name!r}: code {max(codes[place])}, and it has"
                    f" {len(categories[place])} categories: the file is damaged"
                )
            features.append(boosted.categorical(name, categories[place]))
    return boosted.Columns(tuple(features), categories)


def _coded(name: str, codes: Sequence[int]) -> ir.Feature:
    return ir.Feature(name, ir.Kind.CATEGORICAL, ir.ValueType.INT, tuple(codes))


def _categories(
    model: Section, names: Sequence[str]
) -> dict[int, Sequence[ir.Category]]:
    """Return the categories in the file: since XGBoost 3.1, those of a data frame."""
    if "cats" not in model:
        return {}
    encoded = model.part("cats").parts("enc")
    if encoded and len(encoded) != len(names):
        raise ModelFileError("cats.enc: expected one for each feature")
    found: dict[int, Sequence[ir.Category]] = {}
    for place, each in enumerate(encoded):
        if "offsets" in each:
            texts = _texts(each, names[place])
        else:
            texts = each.integers("values")
        if texts:
            found[place] = texts
    return found


def _texts(encoded: Section, name: str) -> Sequence[ir.Category]:
    """Read texts, stored as all their bytes and where each text begins."""
    offsets = encoded.integers("offsets")
    values = [value % 256 for value in encoded.integers("values")]
    if any(value > 127 for value in values):
        # From a pandas frame, XGBoost takes as many bytes of a text as it has letters.
        raise ModelFileError(
            f"feature {name!r}: XGBoost garbles categories with letters that are not"
            " ASCII when it stores them: rename the categories and train again"
        )
    if offsets and (offsets != sorted(offsets) or offsets[-1] != len(values)):
        raise ModelFileError(f"{encoded.where}.offsets: the file is damaged")
    if offsets and offsets[0] != 0:
        raise ModelFileError(f"{encoded.where}.offsets: expected 0 first")
    text = bytes(values).decode("ascii")
    return [text[low:high] for low, high in pairwise(offsets)]
