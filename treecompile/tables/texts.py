"""A column of texts in the memory of Arrow, which holds and converts them faster.

It has those methods of an array of texts that the other modules use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from treecompile.model.arrays import Array, Floats, Positions

if TYPE_CHECKING:
    import pyarrow as pa


class TextColumn:
    dtype = np.dtype(object)

    def __init__(self, texts: pa.ChunkedArray) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            return self.texts[place].as_py()
        start, stop, _ = place.indices(len(self.texts))
        return TextColumn(self.texts.slice(start, max(0, stop - start)))

    def tolist(self) -> list[Any]:
        found: list[Any] = self.texts.to_numpy(zero_copy_only=False).tolist()
        return found

    def take(self, places: Positions) -> TextColumn:
        return TextColumn(self.texts.take(places))

    def numbers(self, missing: Collection[str]) -> Floats | None:
        """All texts as doubles, NaN for a missing one; None if that is not certain.

        Arrow rounds as Python does. What it accepts is a number to `parse_number`, too,
        except a NaN. What it refuses may be a number, such as one with blanks.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        gaps = pc.is_in(self.texts, value_set=pa.array(sorted(missing), pa.string()))
        known = self.texts
        if pc.any(gaps).as_py():
            known = pc.if_else(gaps, pa.scalar(None, pa.string()), known)
        try:
            found = known.cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        numbers: Floats = found.to_numpy(zero_copy_only=False)
        if np.isnan(numbers).sum() > found.null_count:
            return None
        return numbers

    def factorized(self) -> tuple[list[str], Array]:
        """The distinct texts in order of occurrence, and the place of each row's."""
        coded = self.texts.dictionary_encode().unify_dictionaries()
        if not coded.num_chunks:
            return [], np.empty(0, np.int32)
        values: list[str] = coded.chunk(0).dictionary.to_pylist()
        parts = [part.indices.to_numpy(zero_copy_only=False) for part in coded.chunks]
        return values, np.concatenate(parts)
