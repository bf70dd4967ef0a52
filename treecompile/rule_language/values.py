"""Tokens -> names, categories, labels and numbers, each of the type that is wanted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from math import isfinite

from lark import Token

from treecompile.errors import RulesError
from treecompile.ir import Label
from treecompile.rule_language.printer import literal
from treecompile.rule_language.syntax import at

INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
TYPES: dict[str, type] = {"TEXT": str, "INTEGER": int, "BOOLEAN": bool}
ARTICLES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def name(token: Token) -> str:
    """The text that a name stands for."""
    if token.type != "STRING":
        return str(token)
    try:
        text = json.loads(token, strict=False)
    except ValueError as error:
        raise at(
            token, f"{token} is no JSON string: {getattr(error, 'msg', error)}"
        ) from None
    assert isinstance(text, str)
    return text


def value(token: Token) -> Label:
    """A category or a label, of the type that its form tells."""
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if token.type == "NUMBER":
        return int(token) if INTEGER.fullmatch(token) else number(token)
    return name(token)


def number(token: Token) -> float:
    """A finite double."""
    if token.type != "NUMBER":
        raise at(token, f"expected a number, found {token}")
    found = float(token)
    if not isfinite(found):
        raise at(token, f"{token} is too large for a double")
    return found


def typed(token: Token, kind: type) -> Label:
    """A value of a type: a whole number will do for a float, and nothing else does."""
    found = value(token)
    if kind is float and type(found) is int:
        return number(token)
    if type(found) is not kind:
        hint = f', in quotes: "{token}"' if kind is str else ""
        raise at(token, f"expected {ARTICLES[kind]}, found {token}{hint}")
    return found


def common_type(tokens: Sequence[Token], said: Token | None, is_target: bool) -> type:
    """The type of a set of values: as declared, else as they look."""
    if said is not None:
        return TYPES[said.type]
    kinds = {type(value(token)) for token in tokens}
    if is_target and kinds == {int, float}:
        return float
    if not kinds:
        return str
    if len(kinds) > 1:
        first = type(value(tokens[0]))
        other = next(token for token in tokens if type(value(token)) is not first)
        raise at(
            other,
            f"the values of a set are of one type: {tokens[0]} is"
            f" {ARTICLES[first]}, {other} is not (text may stand in quotes)",
        )
    kind = kinds.pop()
    if kind is float and not is_target:
        raise at(
            tokens[0],
            "categories are text, whole numbers or true and false:"
            " for other numbers, declare the feature NUMERIC",
        )
    return kind


def unknown(token: Token, what: str, known: Sequence[Label]) -> RulesError:
    """A mistake: a name that does not exist, with the nearest that does."""
    texts = [literal(item) for item in known]
    near = get_close_matches(str(token), texts, n=1)
    by_case = [text for text in texts if text.lower() == token.lower()]
    if by_case or near:
        hint = f"did you mean {(by_case or near)[0]}?"
    elif len(texts) > 12:
        hint = f"there are {', '.join(texts[:12])} and {len(texts) - 12} more"
    else:
        hint = f"there are {', '.join(texts)}" if texts else "there are none"
    return at(token, f"{what} {token}: {hint}")
