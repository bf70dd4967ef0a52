"""How a language that is not built in spells a decision: the sections of a target.toml.

A user's target says `lowering = "code"` and then, without a line of Python, how names,
values and tests look in its language and how the arms of the decision are laid out. In
every text `{...}` stands for what is put in; a brace itself is doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from string import Formatter

from treecompile.errors import TargetError
from treecompile.literals import DOUBLES, INTEGERS, STRINGS
from treecompile.targets import ByType, Target, build


@dataclass(frozen=True, slots=True)
class Names:
    """`{identifier}`: the feature's name in letters, digits and underscores."""

    reference: str = "{identifier}"  # how a test mentions a feature, e.g. row->{...}
    reserved: Sequence[str] = ()  # words that no identifier may be


@dataclass(frozen=True, slots=True)
class Literals:
    text: str  # a key of literals.STRINGS
    number: str = "shortest"  # a key of literals.DOUBLES
    true: str = "true"
    false: str = "false"
    integers: str = "any"  # a key of literals.INTEGERS


@dataclass(frozen=True, slots=True)
class Tests:
    """`{x}` is the value, `{name}` the reference it comes from, `{value}` a literal.

    The comparisons of a number are asked of missing values too and must say what their
    names say; `equal` is asked of known values only.
    """

    at_most: str
    at_most_or_missing: str
    above: str
    above_or_missing: str
    equal: ByType  # its `number` is not used
    missing: ByType
    known: ByType


@dataclass(frozen=True, slots=True)
class Operators:
    """Every operand comes in parentheses of its own where that matters."""

    all: str  # between two tests, with spaces
    any: str
    negated: str  # `{test}`
    always: str = "true"
    never: str = "false"


@dataclass(frozen=True, slots=True)
class Layout:
    """The lines of a decision.

    A block is a sequence of arms, the last of which has no test. In them: `{tests}`,
    `{answer}` (a literal), `{probability}` (of the answer), `{label}` (its position),
    `{rule}` (its id, letters and digits), `{evidence}` (counts, in words).
    """

    arm: str  # answers if the tests hold
    open: str  # if they hold, a nested block decides
    last: str  # answers where no arm of the block did
    close: str = ""  # closes a nested block; `{ends}` as below
    end: str = ""  # closes the outermost block; `{ends}`: `each` for every arm of it
    each: str = ""
    indent: str = "    "
    nesting: int = 50  # blocks within blocks


@dataclass(frozen=True, slots=True)
class Language:
    literals: Literals
    tests: Tests
    operators: Operators
    layout: Layout
    types: ByType  # what the language calls the type of a feature
    values: ByType  # the value that a reference stands for
    names: Names = Names()


PLACES = {
    Layout: {"tests", "answer", "probability", "label", "rule", "evidence", "ends"},
    Names: {"identifier", "position"},
    Tests: {"x", "name", "value"},
    Operators: {"test"},
    ByType: {"x", "name", "value"},
}


def read_language(target: Target) -> Language:
    """The language of a target whose lowering is `code`."""
    where = f"{target.name}: target.toml"
    language = build(Language, target.spelling, where)
    for key, name, known in (
        ("text", language.literals.text, STRINGS),
        ("number", language.literals.number, DOUBLES),
        ("integers", language.literals.integers, INTEGERS),
    ):
        if name not in known:
            raise TargetError(
                f"{where} [literals]: {key} = {name!r}: there are {', '.join(known)}"
            )
    for section in ("names", "tests", "operators", "layout", "values"):
        _check_places(getattr(language, section), f"{where} [{section}]")
    return language


def _check_places(part: object, where: str) -> None:
    """Refuse a placeholder that nothing fills, before any text is made."""
    known = PLACES[type(part)]
    for entry in fields(part):  # type: ignore[arg-type]
        text = getattr(part, entry.name)
        if isinstance(text, ByType):
            _check_places(text, f"{where} [{entry.name}]")
        if not isinstance(text, str):
            continue
        try:
            places = {name for _, name, _, _ in Formatter().parse(text)} - {None}
        except ValueError as error:
            raise TargetError(
                f"{where}: {entry.name} = {text!r}: {error}; a brace itself is doubled"
            ) from None
        for place in places - known:
            shown = ", ".join(f"{{{name}}}" for name in sorted(known))
            raise TargetError(
                f"{where}: {entry.name} = {text!r} has {{{place}}}: there are {shown}"
            )
