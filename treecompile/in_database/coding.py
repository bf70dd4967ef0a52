"""What a test of each feature costs in c4.5rules, from a table in its database.

For categories that takes how often each occurs, for numbers how many different ones
there are: see `postprune.coding`.
"""

from __future__ import annotations

import numpy as np

from treecompile.in_database.parts import writer_of
from treecompile.in_database.reading import Reading
from treecompile.ir import Feature, Kind, RuleSet
from treecompile.postprune.coding import category_bits, threshold_bits
from treecompile.semantics import is_missing
from treecompile.stores.base import Store


def bits_of_tests_there(store: Store, read: Reading, rules: RuleSet) -> list[float]:
    """The bits of a test of each feature, over the rows with a known answer."""
    return Coder(store, read, rules).bits()


class Coder:
    def __init__(self, store: Store, read: Reading, rules: RuleSet) -> None:
        self.store, self.features = store, rules.features
        self.rows = f"({read.query}) AS treecompile_read"
        self.known = f"y >= 0 AND y < {len(rules.labels)}"
        self.writer = writer_of(store, read, rules)

    def bits(self) -> list[float]:
        (every,) = self.store.arrays(
            f"SELECT count(*) FROM {self.rows} WHERE {self.known}"
        )
        found = []
        for place, feature in enumerate(self.features):
            if feature.kind is Kind.NUMERIC:
                found.append(threshold_bits(self._numbers(place, feature)))
                continue
            counts, others = self._categories(place, feature)
            if feature.kind is Kind.CATEGORICAL:
                found.append(category_bits(counts, int(every[0])))
            else:
                found.append(threshold_bits(int((counts > 0).sum()) + others))
        return found

    def _missing(self, place: int, feature: Feature) -> str:
        return self.writer.text(is_missing(place, feature))

    def _numbers(self, place: int, feature: Feature) -> int:
        """How many different numbers, the missing one among them."""
        missing = self._missing(place, feature)
        # Added to 0 no zero is negative: all zeros are one value.
        value = f"{self.writer.typed[place]} + 0e0"
        values, absent = self.store.arrays(
            f"SELECT count(DISTINCT CASE WHEN NOT ({missing}) THEN {value} END),"
            f" count(CASE WHEN {missing} THEN 1 END)"
            f" FROM {self.rows} WHERE {self.known}"
        )
        return int(values[0]) + bool(absent[0])

    def _categories(self, place: int, feature: Feature) -> tuple[np.ndarray, int]:
        """How many rows have each category, and whether some are unseen or missing."""
        column = self.writer.columns[place]
        missing = self._missing(place, feature)
        index = {category: code for code, category in enumerate(feature.categories)}
        counts = np.zeros(len(index) + 1, np.int64)  # unseen ones are the last
        values, times = self.store.arrays(
            f"SELECT {column}, count(*) FROM {self.rows}"
            f" WHERE {self.known} AND NOT ({missing}) GROUP BY {column}"
        )
        for value, count in zip(values.tolist(), times.tolist(), strict=True):
            counts[index.get(value, len(index))] += int(count)
        (absent,) = self.store.arrays(
            f"SELECT count(*) FROM {self.rows} WHERE {self.known} AND {missing}"
        )
        return counts[:-1], bool(counts[-1]) + bool(absent[0])
