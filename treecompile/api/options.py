"""The options as keywords of Python: mappings, one name or several."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypedDict, TypeVar, get_type_hints

from treecompile.learning.options import BALANCED, DECLARED, LearnOptions, spelled
from treecompile.model.errors import OptionError
from treecompile.model.ir import Label
from treecompile.model.options import Option, options_of
from treecompile.tables.options import DataOptions, ReadOptions

F = TypeVar("F", bound=Callable[..., Any])


class ReadKeywords(TypedDict, total=False):
    """What type checkers see; a test compares it with what is declared."""

    na_value: str | Sequence[str]
    delimiter: str
    decimal: str
    no_header: bool
    encoding: str
    sheet: str


class DataKeywords(ReadKeywords, total=False):
    task: str | None
    labels: Sequence[str]
    categorical: str | Sequence[str]
    numeric: str | Sequence[str]
    ordinal: Mapping[str, Sequence[str]] | None
    ignore: str | Sequence[str]
    weights: str


class LearnKeywords(DataKeywords, total=False):
    algorithm: str
    max_depth: int | None
    min_split: int
    min_leaf: int | None
    min_gain: float
    max_leaves: int | None
    chi2: float | None
    min_sse: float | None
    criterion: str
    prune: str
    alpha: float | str | None
    cf: float
    missing: str
    subset: bool
    costs: Mapping[str, float] | None
    one_hot: str | Sequence[str]
    class_weight: Mapping[Label, float] | str | None
    validation_fraction: float
    seed: int
    threads: int | None


class EmitKeywords(TypedDict, total=False):
    dialect: str
    form: str
    table: str
    name: str
    output: str
    label: str
    columns: Mapping[str, str] | None
    comments: bool
    templates: str | Path


def keywords_of(*kinds: type) -> dict[str, Option]:
    """The options of some dataclasses, by their keywords."""
    return {each.keyword: each for kind in kinds for each in options_of(kind).values()}


def with_keywords(typed: type, *kinds: type) -> Callable[[F], F]:
    """Put the declared keywords in place of **options, in what `help` shows."""

    def decorate(function: F) -> F:
        types = get_type_hints(typed)
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        declared = [
            inspect.Parameter(
                keyword,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if each.default == () else each.default,
                annotation=types[keyword],
            )
            for keyword, each in keywords_of(*kinds).items()
        ]
        shown = signature.replace(parameters=[*own, *declared])
        setattr(function, "__signature__", shown)  # noqa: B010
        return function

    return decorate


def learn_options(
    function: str, target: str, given: Mapping[str, Any]
) -> tuple[DataOptions, LearnOptions]:
    """Check the names of the keywords, and sort them by what they are about."""
    values = _values(function, given, DataOptions, LearnOptions)
    values = {k: spelled(k, v) if k in DECLARED else v for k, v in values.items()}
    columns = {key: values.pop(key) for key in options_of(DataOptions) if key in values}
    return DataOptions(as_name(target), **columns), LearnOptions(**values)


def read_options(function: str, given: Mapping[str, Any]) -> ReadOptions:
    """The keywords that say how to read a file."""
    return ReadOptions(**_values(function, given, ReadOptions))


def _values(function: str, given: Mapping[str, Any], *kinds: type) -> dict[str, Any]:
    """The values of keywords, by the names of the fields; unknown ones are refused."""
    known = keywords_of(*kinds)
    for keyword in given:
        if keyword not in known:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {keyword!r}"
            )
    return {
        known[keyword].name: _plain(known[keyword], given[keyword]) for keyword in given
    }


def _plain(option: Option, value: Any) -> Any:
    """A value as the dataclass has it: mappings and sequences become tuples."""
    if not isinstance(option.default, tuple):
        return as_name(value) if option.metavar == "COL" else value
    if value is None:
        return ()
    if isinstance(value, Mapping):
        if option.name == "ordinal":
            return tuple((as_name(k), tuple(v)) for k, v in value.items())
        is_named = option.name == "costs"
        return tuple((as_name(k) if is_named else k, v) for k, v in value.items())
    if option.name == "class_weight":
        if value == BALANCED:
            return value
        raise OptionError(f"class_weight={value!r}: expected a mapping or {BALANCED!r}")
    return several(value) if option.repeatable else tuple(value)


def several(names: str | Sequence[str]) -> tuple[str, ...]:
    is_one = isinstance(names, (str, Integral))
    return tuple(map(as_name, (names,) if is_one else names))


def as_name(name: Any) -> Any:
    """The text of an integer that names a column, as pandas allows it."""
    is_number = isinstance(name, Integral) and not isinstance(name, bool)
    return str(name) if is_number else name
