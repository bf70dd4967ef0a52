"""Options are declared once, each as a field of a dataclass.

    min_leaf: int | None = option(None, "Cases that each branch needs.", "N", least=1)

The command line, the keywords of Python, the checks and the tables in docs/commands.md
are all made from what `options_of` reads there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from math import inf
from typing import Any, TypeVar, get_type_hints

from treecompile.model.errors import OptionError
from treecompile.model.unicode import NOT_UNICODE, is_unicode

T = TypeVar("T")
KEY = "option"  # of the metadata of a field

# The headings of the help.
COMMON, DATA, GROWTH = "Common options", "Data", "Growth of the tree"
FILES = "Format of data files"
PRUNING, MISSING_VALUES = "Pruning and validation", "Missing values"
WEIGHTS, RULES, REVIEWING = "Weights and costs", "Rules", "Edited rules"
IN_SQL = "SQL"
TEMPLATES, TESTING, SEARCH = "Templates", "Verification", "Search"
PICTURE = "Picture"
DATABASE, OUTPUT = "Database", "Output"
HEADINGS = (  # in this order
    *(COMMON, DATA, FILES, GROWTH, PRUNING, MISSING_VALUES, WEIGHTS, RULES),
    REVIEWING,
    *(
        IN_SQL,
        TEMPLATES,
        TESTING,
        SEARCH,
        PICTURE,
        DATABASE,
        OUTPUT,
    ),
)


@dataclass(frozen=True, slots=True)
class Option:
    """What is known about one option."""

    help: str  # whole sentences; code is in backticks
    metavar: str = ""  # N in --max-depth N
    flag: str = ""  # --as; by default made of the keyword
    keyword: str = ""  # in Python; by default the name of the field
    shown: str = ""  # the default in words, where it depends on something
    group: str = ""  # the heading of the help that it is under: "Pruning"
    is_common: bool = False  # then it is under the first heading
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    accepts: Callable[[Any], bool] | None = None
    expected: str = ""  # what `accepts` takes: "a number between 0 and 1"
    # Learning: which algorithms have it, and if it works in a database.
    algorithms: tuple[str, ...] = ()  # empty: all
    in_database: bool = True
    values: Mapping[str, tuple[str, ...]] | None = None  # by algorithm, default first
    task: str = ""  # the only task that has it
    # Emitting: the targets that have it, by their lowering.
    targets: tuple[str, ...] = ()  # empty: all
    # From the field.
    name: str = ""
    type: Any = None
    default: Any = None


def option(default: T, help: str, metavar: str = "", **more: Any) -> T:
    """Declare a field of a dataclass as an option."""
    least = more.pop("least", None)
    if least is not None:
        more |= {"accepts": lambda value: least <= value < inf}
        more |= {"expected": f"{least} or more"}
    metadata = {KEY: Option(help, metavar, **more)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)  # type: ignore[return-value]
    return field(default=default, metadata=metadata)


def options_of(kind: type) -> Mapping[str, Option]:
    """The options that a dataclass declares, by the names of their fields."""
    return _options_of(kind)


@cache
def _options_of(kind: Any) -> Mapping[str, Option]:
    types = get_type_hints(kind)
    found = {}
    for entry in fields(kind):
        if KEY in entry.metadata:
            said: Option = entry.metadata[KEY]
            keyword = said.keyword or entry.name
            found[entry.name] = replace(
                said,
                keyword=keyword,
                flag=said.flag or as_flag(keyword),
                name=entry.name,
                type=types[entry.name],
                default={} if entry.default is MISSING else entry.default,
            )
    return found


def as_flag(name: str) -> str:
    """How the command line spells a keyword."""
    return "--" + name.replace("_", "-")


def check_values(options: Any) -> None:
    """Refuse values outside the choices or the range of an option, and broken text."""
    for name, each in options_of(type(options)).items():
        value = getattr(options, name)
        if value is None or value == each.default:
            continue
        for text in _texts(value):
            if not is_unicode(text):
                raise OptionError(f"{each.keyword}={text!r} {NOT_UNICODE}: use UTF-8")
        if each.choices and value not in each.choices:
            known = " or ".join(each.choices)
            raise OptionError(f"{each.keyword}={value!r}: expected {known}")
        if each.accepts and not _accepted(each.accepts, value):
            what = "a finite number" if value == inf else each.expected
            if isinstance(value, str) and what.endswith(" or more"):
                what = f"a number, {what}"
            raise OptionError(f"{each.keyword}={value!r}: expected {what}")


def _accepted(accepts: Callable[[Any], bool], value: Any) -> bool:
    """Whether a check holds; a caller in Python may give a value of any type."""
    try:
        return accepts(value)
    except TypeError:
        return False


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value: itself, or those of a tuple or a mapping."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, Mapping):
        yield from _texts(tuple(value.items()))


def sentence(names: Iterable[str], joint: str = "or") -> str:
    """`a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} {joint} {last}" if first else last
