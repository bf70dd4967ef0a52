"""A table becomes a dataset: kinds, types, missing values, category order.

What a value means is decided here once, at learning, by the converters in `values`;
new data is later read by the schema that came out of it, and by nothing else.
"""

from treecompile.data.dataset import (
    Dataset,
    encode,
    encode_answers,
    encode_features,
    encode_target,
    encode_weights,
    make_dataset,
    take,
)
from treecompile.data.features import (
    FEWEST_IDENTIFIERS,
    LEAST_WEIGHT,
    MOST_CATEGORIES,
    MOST_WEIGHT,
    make_feature,
)
from treecompile.data.options import (
    REGRESS,
    DataOptions,
    stated_kinds,
)
from treecompile.data.target import (
    MOST_LABELS,
    SHOWN,
    check_range,
    make_target,
    target_notes,
    task_for,
)

__all__ = [
    "FEWEST_IDENTIFIERS",
    "LEAST_WEIGHT",
    "MOST_CATEGORIES",
    "MOST_LABELS",
    "MOST_WEIGHT",
    "REGRESS",
    "SHOWN",
    "DataOptions",
    "Dataset",
    "check_range",
    "encode",
    "encode_answers",
    "encode_features",
    "encode_target",
    "encode_weights",
    "make_dataset",
    "make_feature",
    "make_target",
    "stated_kinds",
    "take",
    "target_notes",
    "task_for",
]
