"""Frames of polars -> frames of pandas, without pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

if TYPE_CHECKING:
    import pandas as pd


class PolarsFrame(Protocol):
    """What type checkers know of a frame of polars, which need not be installed."""

    @property
    def columns(self) -> list[str]: ...

    def __getitem__(self, name: str, /) -> Any: ...

    def to_dicts(self) -> list[dict[str, Any]]: ...


def is_polars(data: Any) -> TypeGuard[PolarsFrame]:
    """Whether it is a frame of polars."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("polars.")


def from_polars(frame: PolarsFrame) -> pd.DataFrame:
    """Columns of numbers as arrays, others value by value."""
    import pandas as pd

    columns = {}
    for name in frame.columns:
        series = frame[name]
        if series.dtype.is_numeric():
            columns[name] = pd.Series(series.to_numpy())
        else:
            columns[name] = pd.Series(series.to_list(), dtype=object)
    return pd.DataFrame(columns, columns=frame.columns)
