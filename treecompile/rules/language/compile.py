"""Reads rules and compiles them: declarations, then rules, then what holds otherwise.

Every name must be declared, and every value must fit its column. A rule that can never
hold is an error, since its author must have meant something else; so are rules that
leave a case without an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from math import fsum

from treecompile.model import ir, words
from treecompile.model.display import example
from treecompile.model.file.limits import LEAST_WEIGHT, MOST_SQUARES, MOST_WEIGHT
from treecompile.model.paths import DEFAULT_ID
from treecompile.regions.region import Regions, region_of
from treecompile.rules.language.conditions import ConditionReader
from treecompile.rules.language.covering import is_disjoint_cover
from treecompile.rules.language.syntax import SAID, TYPES, Lexeme, Tokens, type_of

ALGORITHM = "rules"  # the algorithm of a program that was written, not learned
MOST_COUNTS = 10_000_000  # counts of all rules together: each has one for each label
STATEMENTS = ("if", "always", "otherwise")


def compile_rules(text: str) -> ir.Program:
    return _Compiler(Tokens(text)).program()


def assumed_stats(value: ir.Label, labels: tuple[ir.Label, ...]) -> ir.Stats:
    """Return the statistics of a rule without counts: certain of its answer."""
    if not labels:
        assert isinstance(value, float)
        return ir.Moments(1.0, value, None)
    return ir.ClassCounts(tuple(1.0 if label == value else 0.0 for label in labels))


class _Compiler:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.labels: tuple[ir.Label, ...] = ()
        self.features: dict[str, ir.Feature] = {}
        self.absent: dict[str, None] = {}  # texts that mean missing
        self.ids: dict[str, Lexeme] = {}

    def program(self) -> ir.Program:
        tokens = self.tokens
        tokens.need("predict", "a line such as predict play: no, yes")
        target = self._target()
        while tokens.has("from", "missing"):
            self._absent() if tokens.next().text == "missing" else self._feature()
        if tokens.has("predict"):
            raise tokens.at(tokens.token, "a second predict: there can be only one")
        self.label_set = frozenset(self.labels)
        self.known = tuple(self.features.values())
        self.reader = ConditionReader(tokens, self.known)
        rules, default = self._rules()
        body = ir.RuleSet(self.known, self.labels, rules, default or _never(rules))
        if default is None:
            self._check_covered(body)
        return ir.Program(target, ALGORITHM, body, na_values=tuple(self.absent))

    # ------------------------------------------------------------ declarations

    def _target(self) -> str:
        name = self.tokens.name()
        self.tokens.need(":")
        named, self.labels = self._values(is_target=True)
        if named not in ("", "number"):
            raise self.tokens.at(
                self.tokens.before, f"name the labels, or put {named} in quotes"
            )
        return name

    def _absent(self) -> None:
        self.tokens.need(":")
        for token, _ in self.tokens.values():
            self.absent[str(self.tokens.typed(token, ir.ValueType.STR))] = None

    def _feature(self) -> None:
        tokens, first = self.tokens, self.tokens.token
        name = tokens.name()
        if name in self.features:
            raise tokens.at(
                first, f"the column {first.text} is declared twice: leave one out"
            )
        tokens.need(":")
        is_ordered = tokens.skip("ordered")
        named, values = self._values(is_target=False)
        kind = ir.Kind.CATEGORICAL
        if named == "number":
            kind = ir.Kind.NUMERIC
        elif is_ordered or self.is_ordered:
            kind = ir.Kind.ORDINAL
        of = TYPES[named] if named else type_of(values[0])
        self.features[name] = ir.Feature(name, kind, of, values)  # type: ignore[arg-type]

    def _values(self, *, is_target: bool) -> tuple[str, tuple[ir.Label, ...]]:
        """Read a type, or values of one type between commas; < stands for an order."""
        tokens = self.tokens
        found = tokens.values()
        self.is_ordered = len(found) == 1 and not is_target and tokens.skip("<")
        if self.is_ordered:
            found += tokens.values("<")
        elif len(found) == 1 and found[0][0].text in TYPES:
            return found[0][0].text, ()
        kinds = {type_of(value): token for token, value in reversed(found)}
        if is_target and set(kinds) == {ir.ValueType.INT, ir.ValueType.FLOAT}:
            return "", self._distinct([(t, float(value)) for t, value in found])
        first = found[0][0]
        of, *others = sorted(kinds, key=lambda kind: kinds[kind].start)
        if others:
            other = kinds[others[0]]
            raise tokens.at(
                other,
                f"the values of a column must be of one type: {first.text} is"
                f" {SAID[of]}, {other.text} is not (any value in quotes is text)",
            )
        if of is ir.ValueType.FLOAT and not is_target:
            raise tokens.at(
                first,
                "categories are text, whole numbers, or true and false: for other"
                " numbers, declare the column as a number",
            )
        return "", self._distinct(found)

    def _distinct(self, found: list[tuple[Lexeme, ir.Label]]) -> tuple[ir.Label, ...]:
        seen: set[ir.Label] = set()
        for token, value in found:
            if value in seen:
                raise self.tokens.at(
                    token, f"the value {token.text} is declared twice: leave one out"
                )
            seen.add(value)
        return tuple(value for _, value in found)

    # ------------------------------------------------------------ rules

    def _rules(self) -> tuple[tuple[ir.Rule, ...], ir.Rule | None]:
        """Read all rules, and what is said to hold otherwise."""
        tokens = self.tokens
        found: list[ir.Rule] = []
        while tokens.token.kind != "end":
            if (len(found) + 1) * len(self.labels) > MOST_COUNTS:
                raise tokens.at(
                    tokens.token,
                    f"{len(self.labels):,} labels in more than {len(found):,} rules:"
                    f" the limit is {MOST_COUNTS:,} counts: predict fewer labels",
                )
            identity = self._identity()
            statement = tokens.token
            if not tokens.skip(*STATEMENTS):
                raise tokens.expected("if, always or otherwise")
            conditions = self._conditions() if statement.text == "if" else ()
            is_last = statement.text == "otherwise"
            found.append(self._rule(identity, conditions, is_last))
            if is_last:
                if tokens.token.kind != "end":
                    raise tokens.at(
                        statement, "otherwise must come last: move it to the end"
                    )
                return self._named(found[:-1]), found[-1]
        if not found:
            raise tokens.expected("a rule: if, always or otherwise")
        return self._named(found), None

    def _identity(self) -> str:
        tokens, token = self.tokens, self.tokens.token
        if token.kind not in ("name", "string"):
            return ""
        identity = tokens.name()
        if not tokens.skip(":"):
            hint = "a rule begins as in R1: if, and values have commas between them"
            if token.text.lower() in words.KEYWORDS:
                hint = f"keywords are in lower case: {token.text.lower()}"
            if token.text.lower() == "else":
                hint = "the last line begins with otherwise"
            raise tokens.at(token, f"expected a rule, found {token.text}: {hint}")
        is_short = identity.isascii() and identity.isalnum() and len(identity) <= 40
        if not is_short or (identity == DEFAULT_ID and not tokens.has("otherwise")):
            raise tokens.at(
                token,
                f"the id {token.text}: expected 1 to 40 ASCII letters and digits, other"
                f" than {DEFAULT_ID}",
            )
        if identity in self.ids:
            line = tokens.text.count("\n", 0, self.ids[identity].start) + 1
            raise tokens.at(
                token,
                f"the id {token.text} is already used in line {line}: change it, or"
                " leave it out",
            )
        self.ids[identity] = token
        return identity

    def _named(self, rules: Iterable[ir.Rule]) -> tuple[ir.Rule, ...]:
        """Return the rules; those without an id get the next free one."""
        numbers = [int(i[1:]) for i in self.ids if i[:1] == "R" and i[1:].isdigit()]
        free = count(1 + max((n for n in numbers if n < 10**30), default=0))
        return tuple(
            rule if rule.id else replace(rule, id=f"R{next(free)}") for rule in rules
        )

    def _conditions(self) -> tuple[ir.Condition, ...]:
        tokens = self.tokens
        found: list[ir.Condition] = []
        left: Regions = {}  # what the tests so far leave of each feature
        while True:
            token, conditions = self.reader.test()
            index = conditions[0].feature
            region = region_of(conditions, self.known[index])
            left[index] = region.meet(left.get(index, region))
            if left[index].is_empty:
                raise tokens.at(
                    token,
                    f"no value of {token.text} meets this test and those before it:"
                    " the rule could never hold",
                )
            found.extend(conditions)
            if not tokens.skip("and"):
                tokens.need("then", "then or and")
                return tuple(found)

    def _rule(
        self, identity: str, conditions: tuple[ir.Condition, ...], is_last: bool
    ) -> ir.Rule:
        value = self._label() if self.labels else self.tokens.number()[1]
        stats, weight = assumed_stats(value, self.labels), 0.0
        if self.tokens.skip("["):
            if self.tokens.token.text == "no":
                self.tokens.next()
                self.tokens.need_word("case")
            else:
                stats, weight = self._counts(value)
            self.tokens.need("]")
        name = identity or (DEFAULT_ID if is_last else "")
        return ir.Rule(name, conditions, value, stats, weight)

    def _label(self) -> ir.Label:
        token, _ = self.tokens.value()
        label = self.tokens.typed(token, type_of(self.labels[0]))
        if label not in self.label_set:
            raise self.tokens.unknown(token, "there is no label", self.labels)
        return label

    # ------------------------------------------------------------ counts

    def _counts(self, value: ir.Label) -> tuple[ir.Stats, float]:
        """Read what is in the brackets behind an answer."""
        tokens, first = self.tokens, self.tokens.token
        stats = self._shares(value) if self.labels else self._moments(value)
        if not stats.weight:
            raise tokens.at(first, "the counts must add up to more than 0")
        if stats.weight > MOST_WEIGHT:
            raise tokens.at(first, f"the counts add up to more than {MOST_WEIGHT:g}")
        weight = stats.weight
        if tokens.skip(";"):
            tokens.need_word("reached")
            tokens.need_word("by")
            weight = self._weight()
        return stats, weight

    def _shares(self, value: ir.Label) -> ir.ClassCounts:
        """Read "146 of 151: 4 Chinstrap, 1 Gentoo", or a count of each label."""
        tokens, first = self.tokens, self.tokens.token
        found: dict[ir.Label, float] = {}
        every, more = None, True
        while more:
            weight, label = self._weight(), value
            if not found and tokens.skip("of"):
                every = self._weight()
                more = tokens.skip(":")
            else:
                tokens.skip("is", "are")
                token, label = tokens.token, self._label()
                if label in found:
                    raise tokens.at(token, f"the label {token.text} is counted twice")
                more = tokens.skip(",")
            found[label] = weight
        if every is not None and fsum(found.values()) != every:
            raise tokens.at(
                first,
                f"the counts add up to {fsum(found.values()):g}, not to {every:g}:"
                " name the cases with other labels, as in [3 of 5: 2 no]",
            )
        return ir.ClassCounts(tuple(found.get(label, 0.0) for label in self.labels))

    def _moments(self, value: ir.Label) -> ir.Moments:
        """Read "34 cases, mean 2.5, sse 0.75"; the mean is that of the answer."""
        tokens = self.tokens
        weight = self._weight()
        tokens.need_word("cases", "case")
        mean, squares = float(value), None
        while tokens.skip(","):
            word = tokens.need_word("mean", "sd", "sse")
            token, number = tokens.number()
            if word == "mean":
                mean = number
                continue
            squares = number if word == "sse" else number * number * weight
            if not 0 <= squares <= MOST_SQUARES:
                raise tokens.at(
                    token,
                    f"{token.text}: expected a number from 0, with squares up to"
                    f" {MOST_SQUARES:g}",
                )
        return ir.Moments(weight, mean, None if squares is None else squares + 0.0)

    def _weight(self) -> float:
        """Read a weight, which must be one that a model file can hold."""
        token, found = self.tokens.number()
        if found and not LEAST_WEIGHT <= found <= MOST_WEIGHT:
            most = f"{LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
            raise self.tokens.at(
                token, f"{token.text}: expected 0, or a number from {most}"
            )
        return found + 0.0  # -0 is 0

    # ------------------------------------------------------------ no case left out

    def _check_covered(self, body: ir.RuleSet) -> None:
        """Refuse rules that say nothing about some case, and show such a case."""
        if is_disjoint_cover(body):
            return
        # Imported here, since they load numpy.
        from treecompile.regions.boxes import Boxes, SearchBudget
        from treecompile.regions.compact import is_searchable, tested_only
        from treecompile.regions.deciding import uncovered
        from treecompile.regions.space import Space

        said = "it takes too long to find out whether some rule holds for every case"
        if is_searchable(body):
            small, _ = tested_only(body)
            space = Space(small.features)
            boxes = Boxes(space, [rule.conditions for rule in small.rules])
            is_settled, box = uncovered(boxes, len(small.rules), SearchBudget())
            if box is not None:
                names = [feature.name for feature in small.features]
                row = dict(zip(names, space.row(box), strict=True))
                said = f"no rule holds for a case such as {example(row)}"
            elif is_settled:
                return
        value = words.literal(self.labels[0]) if self.labels else "0"
        raise self.tokens.at(
            self.tokens.token,
            f"{said}: say in a last line what holds otherwise, as in otherwise {value}",
        )


def _never(rules: tuple[ir.Rule, ...]) -> ir.Rule:
    """Return a default for rules that leave no case to it."""
    return ir.Rule(DEFAULT_ID, (), rules[0].value, rules[0].stats, 0.0)
