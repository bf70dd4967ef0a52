"""Turns tokens and tests as written into names, values and conditions of the IR.

The IR has `<=` and `>` for ordered values, `in` and `not in` for categories. The other
comparisons are expressed exactly: `x < 5` is `x <= 4.999999999999999`, the double just
below 5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from math import inf, isfinite, nextafter

from lark import Token

from treecompile.model import ir, paths
from treecompile.model.errors import RulesError
from treecompile.model.semantics import NEGATED, in_order, is_missing, negate, rank
from treecompile.model.suggestions import similar
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.model.words import enumerated
from treecompile.rules.language.printer import TYPES, literal, word
from treecompile.rules.language.syntax import Comparison, Membership, Presence, Test, at

INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
PYTHON_TYPES: dict[ir.ValueType, type] = {
    ir.ValueType(kind.__name__): kind for kind in (str, int, float, bool)
}
DECLARED_TYPES = {keyword: PYTHON_TYPES[kind] for kind, keyword in TYPES.items()}
TYPE_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


# ---------------------------------------------------------------- values


def name(token: Token) -> str:
    """Return the text that a bare name or a quoted string stands for."""
    if token.type != "STRING":
        return str(token)
    try:
        text = json.loads(token, strict=False)
    except ValueError as error:
        reason = getattr(error, "msg", error)
        message = f"{token} is not a valid JSON string: {reason}"
        raise at(token, f"{message}: write a backslash as \\\\") from None
    assert isinstance(text, str)
    if not is_unicode(text):
        raise at(
            token,
            f"{token} {NOT_UNICODE}: write both halves, or the character itself",
        )
    return text


def value(token: Token) -> ir.Label:
    """Return a category or a label; its type follows from how it is written."""
    if token.type in ("TRUE", "FALSE"):
        return token.type == "TRUE"
    if token.type == "NUMBER":
        return int(token) if INTEGER.fullmatch(token) else number(token)
    return name(token)


def number(token: Token) -> float:
    """Return a number, which must be a finite double."""
    if token.type != "NUMBER":
        raise at(token, f"expected a number, found {token}")
    found = float(token)
    if not isfinite(found):
        raise at(token, f"{token} is too large for a double")
    return found


def typed(token: Token, kind: type) -> ir.Label:
    """Return a value of a given type; only a whole number is converted, to a float."""
    found = value(token)
    if kind is float and type(found) is int:
        return number(token)
    if type(found) is not kind:
        hint = f': write "{token}"' if kind is str else ""
        raise at(token, f"expected {TYPE_NAMES[kind]}, found {token}{hint}")
    return found


def common_type(
    tokens: Sequence[Token], declared: Token | None, is_target: bool
) -> type:
    """Return the type of a set of values: as declared, else as they are written."""
    if declared is not None:
        return DECLARED_TYPES[declared.type]
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
            f"the values of a set must be of one type: {tokens[0]} is"
            f" {TYPE_NAMES[first]}, {other} is not (any value in quotes is text)",
        )
    kind = kinds.pop()
    if kind is float and not is_target:
        raise at(
            tokens[0],
            "categories are text, whole numbers, or true and false:"
            " for other numbers, declare the feature NUMERIC",
        )
    return kind


def unknown(token: Token, what: str, known: Sequence[ir.Label]) -> RulesError:
    """Return an error for a name that is not declared, with the closest known one."""
    texts = [literal(item) for item in known]
    sought = token.lower()
    by_case = [text for text in texts if text.lower() == sought]
    near = by_case or similar(str(token), texts, count=1)
    if near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"there are {enumerated(texts, 12) or 'none'}"
    return at(token, f"{what} {token}: {hint}")


# ---------------------------------------------------------------- conditions

MIRRORED = {
    **{"AT_MOST": "AT_LEAST", "AT_LEAST": "AT_MOST"},
    **{"BELOW": "ABOVE", "ABOVE": "BELOW", "EQUAL": "EQUAL", "UNEQUAL": "UNEQUAL"},
}


MOST_NAMED = 20_000_000  # categories in the conditions of all rules, for the memory


class ConditionReader:
    """Turns the tests of rules over given features into conditions."""

    def __init__(self, features: Sequence[ir.Feature]) -> None:
        self.features = features
        self.indices = {feature.name: i for i, feature in enumerate(features)}
        self.categories = [frozenset(feature.categories) for feature in features]
        self.named = 0  # categories in the conditions so far

    def conditions(self, test: Test) -> tuple[Token, tuple[ir.Condition, ...]]:
        """Return the token of the feature, and at least one condition on it."""
        if isinstance(test, Presence):
            index = self._index(test.feature)
            feature = self.features[index]
            is_ordinal = feature.kind is ir.Kind.ORDINAL and feature.categories
            absent = (paths.unknown if is_ordinal else is_missing)(index, feature)
            return test.feature, (absent if test.missing else negate(absent),)
        if isinstance(test, Membership):
            return test.feature, self._membership(test)
        token, pairs = self._oriented(test)
        index = self._index(token)
        feature = self.features[index]
        if feature.kind is ir.Kind.CATEGORICAL:
            return token, self._equality(test, token, pairs)
        _check_flags(test, token, feature)
        bounds = [
            ir.Condition(index, op, value, "MISSING" in test.flags)
            for sign, edge in pairs
            for op, value in self._bounds(index, sign, edge)
        ]
        return token, tuple(bounds)

    def _index(self, token: Token) -> int:
        if not self._is_feature(token):
            known = [feature.name for feature in self.features]
            raise unknown(token, "there is no feature", known)
        return self.indices[name(token)]

    def _is_feature(self, token: Token) -> bool:
        return token.type in ("NAME", "STRING") and name(token) in self.indices

    def _oriented(self, test: Comparison) -> tuple[Token, list[tuple[str, Token]]]:
        """Return the feature, and signs and values as if it were on the left."""
        signs = [sign.type for sign in test.signs]
        if len(signs) == 2:
            low, feature, high = test.operands
            rising, falling = {"BELOW", "AT_MOST"}, {"ABOVE", "AT_LEAST"}
            if not (set(signs) <= rising or set(signs) <= falling):
                raise at(test.signs[1], "write an interval as 3 < x <= 5 or 5 >= x > 3")
            return feature, [(MIRRORED[signs[0]], low), (signs[1], high)]
        left, right = test.operands
        if self._is_feature(right) and not self._is_feature(left):
            return right, [(MIRRORED[signs[0]], left)]
        return left, [(signs[0], right)]

    # ------------------------------------------------------------ categories

    def _category(self, index: int, token: Token) -> ir.Category:
        feature = self.features[index]
        found = typed(token, PYTHON_TYPES[feature.type])
        if found not in self.categories[index]:
            shown = word(feature.name)  # quoted if need be: a name may be blank
            raise unknown(token, f"{shown} has no category", feature.categories)
        return found  # type: ignore[return-value]

    def _membership(self, test: Membership) -> tuple[ir.Condition, ...]:
        index = self._index(test.feature)
        feature = self.features[index]
        if feature.kind is not ir.Kind.CATEGORICAL:
            raise at(
                test.feature,
                f"{test.feature} is {feature.kind.value}: compare it, as in"
                f" {_example(feature, test.feature)}",
            )
        if not test.values:
            raise at(test.feature, "the set is empty: name at least one category")
        return self._one_of(test, index, test.values, bool(test.negated))

    def _equality(
        self, test: Comparison, token: Token, pairs: Sequence[tuple[str, Token]]
    ) -> tuple[ir.Condition, ...]:
        (sign, edge), *more = pairs
        if more or sign not in ("EQUAL", "UNEQUAL"):
            raise at(
                test.signs[0],
                f"{token} has no order: write {token} = {edge}, or declare it IN ORDER",
            )
        return self._one_of(test, self._index(token), [edge], sign == "UNEQUAL")

    def _one_of(
        self,
        test: Membership | Comparison,
        index: int,
        tokens: Sequence[Token],
        negated: bool,
    ) -> tuple[ir.Condition, ...]:
        named = tuple(dict.fromkeys(self._category(index, token) for token in tokens))
        op = ir.Op.NOT_IN if negated else ir.Op.IN
        if "OTHER" in test.flags:
            if negated:
                raise at(
                    tokens[0],
                    '!= and NOT IN already include any other value: leave out "or any'
                    ' other"',
                )
            op = NEGATED[op]
            feature = self.features[index]
            named = in_order(feature, self.categories[index] - set(named))
        self.named += len(named)
        if self.named > MOST_NAMED:
            raise at(
                tokens[0],
                f"the sets of all rules have more than {MOST_NAMED:,} categories: use"
                " fewer rules or categories, or != in place of = (or any other)",
            )
        return (ir.Condition(index, op, named, "MISSING" in test.flags),)

    # ------------------------------------------------------------ ordered values

    def _bounds(
        self, index: int, sign: str, edge: Token
    ) -> Iterator[tuple[ir.Op, ir.Category | float]]:
        feature = self.features[index]
        if sign == "UNEQUAL":
            raise at(
                edge,
                f"a feature that is {feature.kind.value} cannot be compared with !=:"
                " write one rule for the values below and one for those above",
            )
        value: ir.Category | float
        before: ir.Category | float | None  # the value just below, if there is one
        if feature.kind is ir.Kind.NUMERIC:
            value = number(edge)
            before = nextafter(value, -inf)
        else:
            value = self._category(index, edge)
            place = rank(feature, value)
            before = feature.categories[place - 1] if place else None
        if sign in ("AT_MOST", "EQUAL"):
            yield ir.Op.LE, value
        elif sign == "ABOVE":
            yield ir.Op.GT, value
        if sign in ("AT_MOST", "ABOVE"):
            return
        if before == -inf or (before is None and sign == "BELOW"):
            raise at(edge, f"{edge} is the lowest value: no value lies below it")
        if before is not None:
            yield (ir.Op.LE if sign == "BELOW" else ir.Op.GT), before
        elif sign == "AT_LEAST":  # true for every declared value
            yield ir.Op.LE, feature.categories[-1]


def _check_flags(test: Comparison, token: Token, feature: ir.Feature) -> None:
    if "OTHER" not in test.flags:
        return
    if feature.kind is ir.Kind.NUMERIC:
        raise at(
            token, f'{token} is numeric, with no other values: leave out "or any other"'
        )
    if "MISSING" not in test.flags:
        raise at(
            token,
            f"{token} is ordered, so other values are treated as missing: write"
            " (or any other, or missing)",
        )


def _example(feature: ir.Feature, token: Token) -> str:
    if feature.kind is ir.Kind.NUMERIC:
        return f"3 < {token} <= 5"
    return f"{token} <= {feature.categories[-1] if feature.categories else 'value'}"
