"""Tests as they are written -> conditions of the IR, exactly.

The IR has <= and > for what is ordered, in and not in for what is not. A double is
below another if it is at most the one before it, so the other signs lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from lark import Token

from treecompile.ir import Category, Condition, Feature, Kind, Op, ValueType
from treecompile.rule_language.printer import word
from treecompile.rule_language.syntax import Comparison, Membership, Presence, Test, at
from treecompile.rule_language.values import name, number, typed, unknown
from treecompile.semantics import NEGATED, in_order, is_missing, negate, rank

MIRRORED = {
    **{"AT_MOST": "AT_LEAST", "AT_LEAST": "AT_MOST"},
    **{"BELOW": "ABOVE", "ABOVE": "BELOW", "EQUAL": "EQUAL", "UNEQUAL": "UNEQUAL"},
}
PYTHON_TYPES: dict[ValueType, type] = {
    ValueType.STR: str,
    ValueType.INT: int,
    ValueType.BOOL: bool,
}


class Reader:
    """Reads the tests of rules over certain features."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.places = {feature.name: i for i, feature in enumerate(features)}
        self.categories = [frozenset(feature.categories) for feature in features]

    def conditions(self, test: Test) -> tuple[Token, tuple[Condition, ...]]:
        """The token of the feature, and at least one condition on it."""
        if isinstance(test, Presence):
            where = self.place(test.feature)
            return test.feature, (self.presence(where, test.missing),)
        if isinstance(test, Membership):
            return test.feature, self.membership(test)
        token, pairs = self.oriented(test)
        where = self.place(token)
        feature = self.features[where]
        if feature.kind is Kind.CATEGORICAL:
            return token, self.equality(test, token, pairs)
        self.check_flags(test, token, feature)
        bounds = [
            Condition(where, op, value, test.missing)
            for sign, edge in pairs
            for op, value in self.bounds(where, sign, edge)
        ]
        return token, tuple(bounds)

    def place(self, token: Token) -> int:
        where = self.places.get(name(token))
        if where is None or token.type not in ("NAME", "STRING"):
            known = [feature.name for feature in self.features]
            raise unknown(token, "there is no feature", known)
        return where

    def oriented(self, test: Comparison) -> tuple[Token, list[tuple[str, Token]]]:
        """The feature, and each sign with its edge as if the feature stood left."""
        signs = [sign.type for sign in test.signs]
        if len(signs) == 2:
            low, feature, high = test.operands
            rising, falling = {"BELOW", "AT_MOST"}, {"ABOVE", "AT_LEAST"}
            if not (set(signs) <= rising or set(signs) <= falling):
                raise at(
                    test.signs[1], "an interval is written 3 < x <= 5 or 5 >= x > 3"
                )
            return feature, [(MIRRORED[signs[0]], low), (signs[1], high)]
        left, right = test.operands
        is_left = left.type in ("NAME", "STRING") and name(left) in self.places
        is_right = right.type in ("NAME", "STRING") and name(right) in self.places
        if is_right and not is_left:
            return right, [(MIRRORED[signs[0]], left)]
        return left, [(signs[0], right)]

    def presence(self, where: int, missing: bool) -> Condition:
        feature = self.features[where]
        if feature.kind is Kind.ORDINAL and feature.categories:
            test = Condition(where, Op.GT, feature.categories[-1], missing=True)
        else:
            test = is_missing(where, feature)
        return test if missing else negate(test)

    # ------------------------------------------------------------ categories

    def category(self, where: int, token: Token) -> Category:
        feature = self.features[where]
        found = typed(token, PYTHON_TYPES[feature.type])
        if found not in self.categories[where]:
            shown = word(feature.name)  # as the rules write it: a name may be blanks
            raise unknown(token, f"{shown} has no category", feature.categories)
        return found  # type: ignore[return-value]

    def membership(self, test: Membership) -> tuple[Condition, ...]:
        where = self.place(test.feature)
        feature = self.features[where]
        if feature.kind is not Kind.CATEGORICAL:
            raise at(
                test.feature,
                f"{test.feature} is {feature.kind.value}: compare it, as in"
                f" {_example(feature, test.feature)}",
            )
        if not test.values:
            raise at(test.feature, "the set is empty: name at least one category")
        return self.chosen(test, where, test.values, test.negated)

    def equality(
        self, test: Comparison, token: Token, pairs: Sequence[tuple[str, Token]]
    ) -> tuple[Condition, ...]:
        (sign, edge), *more = pairs
        if more or sign not in ("EQUAL", "UNEQUAL"):
            raise at(
                test.signs[0],
                f"{token} has no order: write {token} = {edge}, or declare it IN ORDER",
            )
        where = self.place(token)
        return self.chosen(test, where, [edge], sign == "UNEQUAL")

    def chosen(
        self,
        test: Membership | Comparison,
        where: int,
        tokens: Sequence[Token],
        negated: bool,
    ) -> tuple[Condition, ...]:
        named = tuple(dict.fromkeys(self.category(where, token) for token in tokens))
        op = Op.NOT_IN if negated else Op.IN
        if test.others:
            if negated:
                raise at(
                    tokens[0], 'what is "not" some value is any other already: drop it'
                )
            op = NEGATED[op]
            feature = self.features[where]
            named = in_order(feature, self.categories[where] - set(named))
        return (Condition(where, op, named, test.missing),)

    # ------------------------------------------------------------ what has an order

    def check_flags(self, test: Comparison, token: Token, feature: Feature) -> None:
        if not test.others:
            return
        if feature.kind is Kind.NUMERIC:
            raise at(token, f"{token} is a number: there is no other value")
        if not test.missing:
            raise at(
                token,
                f"{token} is ordered, and other values are treated as missing there:"
                " write (or any other, or missing)",
            )

    def bounds(
        self, where: int, sign: str, edge: Token
    ) -> Iterator[tuple[Op, Category | float]]:
        feature = self.features[where]
        if sign == "UNEQUAL":
            raise at(
                edge,
                f"!= is not for a feature that is {feature.kind.value}:"
                " write a rule for what lies below and one for what lies above",
            )
        value: Category | float
        before: Category | float | None  # the value just below, if there is one
        if feature.kind is Kind.NUMERIC:
            value = number(edge)
            before = nextafter(value, -inf)
        else:
            value = self.category(where, edge)
            place = rank(feature, value)
            before = feature.categories[place - 1] if place else None
        if sign in ("AT_MOST", "EQUAL"):
            yield Op.LE, value
        elif sign == "ABOVE":
            yield Op.GT, value
        if sign in ("AT_MOST", "ABOVE"):
            return
        if before == -inf or (before is None and sign == "BELOW"):
            raise at(edge, f"{edge} is the least value: no other lies below")
        if before is not None:
            yield (Op.LE if sign == "BELOW" else Op.GT), before
        elif sign == "AT_LEAST":  # any value that has a place in the order
            yield Op.LE, feature.categories[-1]


def _example(feature: Feature, token: Token) -> str:
    if feature.kind is Kind.NUMERIC:
        return f"3 < {token} <= 5"
    return f"{token} <= {feature.categories[-1] if feature.categories else 'value'}"
