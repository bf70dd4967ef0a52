"""Messages name options as the command line spells them; here, as Python does.

    add --na-value 'NA'  ->  add na_value='NA'

Errors that leave a public function, and the notes of a model, are worded so. The names
come from what is declared, and the values that are quoted from the help of an option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from inspect import isfunction
from typing import ParamSpec, TypeVar

from treecompile.emit.options import EmitOptions
from treecompile.learning.options import LearnOptions
from treecompile.model.errors import TreecompileError
from treecompile.model.options import Option, options_of
from treecompile.tables.options import DataOptions

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Keyword:
    """An option in Python."""

    name: str
    switch: bool | None = None  # what a flag without a value sets it to
    words: frozenset[str] = frozenset()  # values that stand bare behind the flag
    is_mapping: bool = False  # --column A=B is columns={'A': 'B'}


TARGETS = frozenset(("python", "javascript", "sql", "markdown", "html", "rules"))
# Flags that no dataclass declares, where the keyword has another name or is a switch.
OTHERS = {
    "--cv": Keyword("k"),
    "--data": Keyword("rows"),
    "--force": Keyword("force", True),
    "--from": Keyword("Table"),
    "--no-verify": Keyword("verify", False),
    "--rules": Keyword("rules", words=frozenset(("flat", "validation", "c45rules"))),
    "--to": Keyword("to", words=TARGETS),
    "--training-table": Keyword("training"),
    "--validation-table": Keyword("validation"),
}

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
LITERAL = (
    rf"{QUOTED}|-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)(?![\w.])"
    r"|(?:True|False|None)\b|\([^()]*\)|\[[^][]*\]|\{[^{}]*\}|[\w.]+\([^()]*\)"
)
PLACEHOLDER = r"[A-Z][A-Z_]*\b(?!=)"  # FILE in --costs FILE
WORD = r"[\w.]+=[\w.-]*|[a-z0-9][a-z0-9-]*"
MENTIONED = re.compile(
    rf"(?P<kept>`treecompile [^`]*`|(?<!\w)(?:{QUOTED})(?!\w))"
    r"|(?<![\w-])(?P<flag>--[a-z][a-z0-9-]*)"
    rf"(?: (?P<literal>{LITERAL}|{PLACEHOLDER})"
    rf"| (?P<word>{WORD})(?P<more>(?:(?:,| or) [a-z0-9][a-z0-9-]*)*))?"
)
AGAIN = re.compile(rf"\b(\w+)=({QUOTED})((?:(?: and |, | )\1=(?:{QUOTED}))+)")


@cache
def keywords() -> Mapping[str, Keyword]:
    """Every option that Python calls otherwise than the command line, by its flag."""
    kinds = (DataOptions, LearnOptions, EmitOptions)
    declared = {
        each.flag: _keyword(each)
        for kind in kinds
        for each in options_of(kind).values()
    }
    return {**declared, **OTHERS}


def _keyword(option: Option) -> Keyword:
    words = {*option.choices, *re.findall(r"`([^` ]+)`", option.help + option.shown)}
    for values in (option.values or {}).values():
        words |= {*values}
    switch = not option.default if option.type is bool else None
    is_mapping = "=" in option.metavar
    return Keyword(option.keyword, switch, frozenset(words), is_mapping)


def in_python(text: str, renamed: Mapping[str, str] | None = None) -> str:
    """A message with the keywords of Python; `renamed` gives some another name."""
    if "--" not in text:
        return text
    names = renamed or {}

    def worded(found: re.Match[str]) -> str:
        if found["kept"]:
            return found["kept"]
        flag = found["flag"]
        known = keywords().get(flag) or Keyword(flag[2:].replace("-", "_"))
        name = names.get(known.name, known.name)
        literal, word, more = found["literal"], found["word"], found["more"] or ""
        if known.switch is not None:
            behind = literal or word
            return f"{name}={known.switch}{f' {behind}' if behind else ''}{more}"
        if literal:
            return f"{name}={literal}" if name != "Table" else f"{name} {literal}"
        if word is None:
            return name
        value = _value(word, known)
        if value is None:
            return f"{name} {word}{more}"
        return f"{name}={value}" + re.sub(
            r"(?<= )[a-z0-9][a-z0-9-]*",
            lambda each: repr(each[0]) if each[0] in known.words else each[0],
            more,
        )

    return AGAIN.sub(_listed, MENTIONED.sub(worded, text))


def _value(word: str, known: Keyword) -> str | None:
    """A bare word as a literal; None if it is part of the sentence."""
    name, equals, value = word.partition("=")
    if equals and known.is_mapping:
        is_number = re.fullmatch(r"-?(?:[\d.e]+|inf|nan)", value)
        return f"{{{name!r}: {value if is_number else repr(value)}}}"
    is_value = equals or word in known.words or re.search(r"\d", word)
    return repr(word) if is_value else None


def _listed(found: re.Match[str]) -> str:
    """`ignore='a' ignore='b'` as `ignore=['a', 'b']`."""
    others = re.findall(rf"=({QUOTED})", found[3])
    return f"{found[1]}=[{', '.join((found[2], *others))}]"


# ---------------------------------------------------------------- the doors


@cache
def spoken(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with errors in the words of Python."""

    @wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TreecompileError as error:
            error.args = (in_python(str(error)),)
            raise

    return door


def all_spoken(kind: type[T]) -> type[T]:
    """The class, with all its public methods `spoken`."""
    for name, member in list(vars(kind).items()):
        if isfunction(member) and not name.startswith("_"):
            setattr(kind, name, spoken(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(spoken(member.fget)))
    return kind
