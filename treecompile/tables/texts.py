"""A column of texts in the memory of Arrow, which holds and converts them faster.

It has those methods of an array of texts that the other modules use.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
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

        # Only if there is nothing else, a gap is sure to be refused.
        found = _cast(self.texts) if set(missing) == {""} else None
        if found is None:
            texts = pa.array(sorted(missing), pa.string())
            gaps = pc.is_in(self.texts, value_set=texts)
            nothing = pa.scalar(None, pa.string())
            found = _cast(pc.if_else(gaps, nothing, self.texts))
        if found is None:
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


def _cast(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Texts as doubles, on all processors; None if Arrow refuses any."""
    import pyarrow as pa

    def cast(part: pa.Array) -> pa.Array:
        return part.cast(pa.float64())

    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return pa.chunked_array(pool.map(cast, texts.chunks), pa.float64())
    except pa.ArrowInvalid:
        return None
