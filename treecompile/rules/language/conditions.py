"""Turns the tests of rules into conditions of the IR.

The IR has `<=` and `>` for ordered values, `in` and `not in` for categories. The other
comparisons are expressed exactly: `x < 5` is `x <= 4.999999999999999`, the double just
below 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from treecompile.model import ir, paths
from treecompile.model.semantics import in_order, is_missing, negate, rank
from treecompile.model.words import word
from treecompile.rules.language.syntax import Lexeme, Tokens

MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
MOST_NAMED = 20_000_000  # categories in the conditions of all rules, for the memory
MISSING, OTHER = "missing", "any other"
Flags = frozenset[str]


class ConditionReader:
    """Reads tests of given columns."""

    def __init__(self, tokens: Tokens, features: Sequence[ir.Feature]) -> None:
        self.tokens = tokens
        self.features = features
        self.indices = {feature.name: i for i, feature in enumerate(features)}
        self.categories = [frozenset(feature.categories) for feature in features]
        self.named = 0  # categories in the conditions so far

    def test(self) -> tuple[Lexeme, tuple[ir.Condition, ...]]:
        """Return the token of the column, and at least one condition on it."""
        tokens = self.tokens
        first, _ = tokens.value()
        if tokens.skip("is"):
            return first, (self._presence(self._index(first)),)
        if tokens.has("in", "not"):
            return first, (self._membership(first),)
        if tokens.token.kind != "sign":
            raise tokens.expected("a comparison such as = or >")
        sign, (second, _) = tokens.next(), tokens.value()
        feature, pairs = first, [(sign.text, second)]
        if tokens.token.kind == "sign":  # 3 < x <= 5
            last = tokens.next()
            if {sign.text[0], last.text[0]} not in ({"<"}, {">"}):
                raise tokens.at(last, "write an interval as 3 < x <= 5 or 5 >= x > 3")
            third, _ = tokens.value()
            feature, pairs = second, [(MIRRORED[sign.text], first), (last.text, third)]
        elif self._is_feature(second) and not self._is_feature(first):
            feature = second
            pairs = [(MIRRORED.get(sign.text, sign.text), first)]
        index, flags = self._index(feature), self._flags()
        if self.features[index].kind is ir.Kind.CATEGORICAL:
            if len(pairs) > 1 or sign.text not in ("=", "!="):
                raise tokens.at(
                    sign,
                    f"{feature.text} has no order: write {feature.text} ="
                    f" {second.text}, or declare its values with < between them",
                )
            negated = sign.text == "!="
            named = [self._category(index, pairs[0][1])]
            return feature, (self._one_of(first, index, named, negated, flags),)
        if flags == {OTHER} or (OTHER in flags and not self.features[index].categories):
            raise tokens.at(
                feature,
                f"{feature.text} has an order, and any other value counts as missing:"
                " write (or missing)",
            )
        return feature, tuple(
            ir.Condition(index, op, value, MISSING in flags)
            for sign_text, edge in pairs
            for op, value in self._bounds(index, sign_text, edge)
        )

    def _index(self, token: Lexeme) -> int:
        if not self._is_feature(token):
            names = [feature.name for feature in self.features]
            raise self.tokens.unknown(token, "there is no column", names)
        return self.indices[self.tokens.text_of(token)]

    def _is_feature(self, token: Lexeme) -> bool:
        is_name = token.kind in ("name", "string")
        return is_name and self.tokens.text_of(token) in self.indices

    def _flags(self) -> Flags:
        """Read "(or any other, or missing)": what else the test holds for."""
        tokens, found = self.tokens, set()
        if tokens.skip("("):
            while True:
                tokens.need("or")
                if tokens.skip("any"):
                    tokens.need("other")
                    found.add(OTHER)
                else:
                    tokens.need("missing", "missing or any other")
                    found.add(MISSING)
                if not tokens.skip(",") and not tokens.has("or"):
                    break
            tokens.need(")")
        return frozenset(found)

    # ------------------------------------------------------------ categories

    def _presence(self, index: int) -> ir.Condition:
        tokens, feature = self.tokens, self.features[index]
        negated = tokens.skip("not")
        if not tokens.has("missing", "known"):
            raise tokens.expected("missing or known")
        is_ordinal = feature.kind is ir.Kind.ORDINAL and feature.categories
        absent = (paths.unknown if is_ordinal else is_missing)(index, feature)
        asks_missing = (tokens.next().text == "missing") != negated
        return absent if asks_missing else negate(absent)

    def _category(self, index: int, token: Lexeme) -> ir.Category:
        feature = self.features[index]
        found = self.tokens.typed(token, feature.type)
        if found not in self.categories[index]:
            shown = word(feature.name)
            known = feature.categories
            raise self.tokens.unknown(token, f"{shown} has no category", known)
        return found  # type: ignore[return-value]

    def _membership(self, first: Lexeme) -> ir.Condition:
        tokens, index = self.tokens, self._index(first)
        feature = self.features[index]
        negated = tokens.skip("not")
        tokens.need("in")
        if feature.kind is not ir.Kind.CATEGORICAL:
            last = feature.categories[-1:]
            form = f"{first.text} <= {last[0]}" if last else f"3 < {first.text} <= 5"
            raise tokens.at(
                first, f"{first.text} has an order: compare it, as in {form}"
            )
        tokens.need("{")
        named = [self._category(index, token) for token, _ in tokens.values()]
        tokens.need("}")
        return self._one_of(first, index, named, negated, self._flags())

    def _one_of(
        self,
        token: Lexeme,
        index: int,
        named: Sequence[ir.Category],
        negated: bool,
        flags: Flags,
    ) -> ir.Condition:
        chosen = tuple(dict.fromkeys(named))
        if OTHER in flags:
            if negated:
                raise self.tokens.at(
                    token,
                    '!= and not in already hold for any other value: leave out "or any'
                    ' other"',
                )
            rest = self.categories[index] - set(chosen)
            chosen, negated = in_order(self.features[index], rest), True
        self.named += len(chosen)
        if self.named > MOST_NAMED:
            raise self.tokens.at(
                token,
                f"the sets of all rules have more than {MOST_NAMED:,} categories: use"
                " fewer rules or categories, or != in place of = (or any other)",
            )
        op = ir.Op.NOT_IN if negated else ir.Op.IN
        return ir.Condition(index, op, chosen, MISSING in flags)

    # ------------------------------------------------------------ ordered values

    def _bounds(
        self, index: int, sign: str, edge: Lexeme
    ) -> Iterator[tuple[ir.Op, ir.Category | float]]:
        feature = self.features[index]
        if sign == "!=":
            raise self.tokens.at(
                edge,
                "a column with an order cannot be compared with !=: write one rule for"
                " the values below and one for those above",
            )
        value: ir.Category | float
        before: ir.Category | float | None  # the value just below, if there is one
        if feature.kind is ir.Kind.NUMERIC:
            value = self.tokens.typed(edge, feature.type)
            before = nextafter(float(value), -inf)
        else:
            value = self._category(index, edge)
            place = rank(feature, value)
            before = feature.categories[place - 1] if place else None
        if sign in ("<=", "="):
            yield ir.Op.LE, value
        elif sign == ">":
            yield ir.Op.GT, value
        if sign in ("<=", ">"):
            return
        if before == -inf or (before is None and sign == "<"):
            raise self.tokens.at(
                edge, f"{edge.text} is the lowest value: no value lies below it"
            )
        if before is not None:
            yield (ir.Op.LE if sign == "<" else ir.Op.GT), before
        elif sign == ">=":  # true for every declared value
            yield ir.Op.LE, feature.categories[-1]
