"""Statements -> a program, checked against what is declared.

Every name must be declared and every value fit its feature; a rule that nothing can
meet is a mistake, for whoever writes one means something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from lark import Token

from treecompile.extract import DEFAULT_ID
from treecompile.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Moments,
    Program,
    Rule,
    RuleSet,
    Stats,
    ValueType,
)
from treecompile.rule_language.conditions import Reader
from treecompile.rule_language.evidence import ALGORITHM, Seals, unfounded
from treecompile.rule_language.syntax import (
    Declaration,
    Evidence,
    Script,
    Statement,
    at,
)
from treecompile.rule_language.values import common_type, name, number, typed, unknown
from treecompile.semantics import intersect

VALUE_TYPES = {str: ValueType.STR, int: ValueType.INT, bool: ValueType.BOOL}


@dataclass(frozen=True, slots=True)
class Meaning:
    program: Program
    edited: tuple[str, ...]  # ids of the rules whose counts no longer hold


def meaning(script: Script) -> Meaning:
    """The program that a script describes."""
    if not script.targets:
        raise at(
            script.default.value,
            "the rules do not say what they predict: add a line such as"
            " TARGET play IN {no, yes}, or TARGET price NUMERIC",
        )
    target, *others = script.targets
    if others:
        raise at(others[0].name, "a second TARGET: there is one")
    labels = _labels(target)
    features = tuple(map(_feature, script.features))
    _once(
        zip((d.name for d in script.features), (f.name for f in features), strict=True),
        "the feature {} is declared twice",
    )
    writer = _Writer(features, labels)
    rules = writer.rules(script)
    program = Program(
        target=name(target.name),
        algorithm=ALGORITHM,
        body=RuleSet(features, labels, rules[:-1], rules[-1]),
        na_values=tuple(dict.fromkeys(str(typed(t, str)) for t in script.absent)),
    )
    return Meaning(program, tuple(writer.edited))


def _labels(target: Declaration) -> tuple[Label, ...]:
    if target.values is None:
        return ()
    if not target.values:
        raise at(target.name, "the target needs at least one label")
    kind = common_type(target.values, target.type, is_target=True)
    labels = tuple(typed(token, kind) for token in target.values)
    _once(zip(target.values, labels, strict=True), "the label {} is declared twice")
    return labels


def _feature(declaration: Declaration) -> Feature:
    text = name(declaration.name)
    tokens = declaration.values
    if tokens is None:
        return Feature(text, Kind.NUMERIC, ValueType.FLOAT)
    kind = common_type(tokens, declaration.type, is_target=False)
    categories = tuple(typed(token, kind) for token in tokens)
    _once(zip(tokens, categories, strict=True), "the category {} is declared twice")
    return Feature(
        text,
        Kind.ORDINAL if declaration.ordered else Kind.CATEGORICAL,
        VALUE_TYPES[kind],
        categories,  # type: ignore[arg-type]
    )


def _once(found: Iterable[tuple[Token, object]], message: str) -> None:
    seen: set[object] = set()
    for token, item in found:
        if item in seen:
            raise at(token, message.format(token))
        seen.add(item)


class _Writer:
    """Makes the rules of a script, with what they all need at hand."""

    def __init__(
        self, features: tuple[Feature, ...], labels: tuple[Label, ...]
    ) -> None:
        self.features = features
        self.labels = labels
        self.label_set = frozenset(labels)
        self.reader = Reader(features)
        self.seals = Seals(features, labels)
        self.edited: list[str] = []

    def rules(self, script: Script) -> tuple[Rule, ...]:
        """All rules, the default last."""
        taken = self.identities(script.rules, script.default)
        free = _free(taken)
        rules = [
            self.rule(s, name(s.identity) if s.identity is not None else free())
            for s in script.rules
        ]
        last = script.default
        identity = name(last.identity) if last.identity is not None else DEFAULT_ID
        return (*rules, self.rule(last, identity))

    def identities(self, rules: Sequence[Statement], default: Statement) -> set[str]:
        taken: dict[str, Token] = {}
        if default.identity is None:
            taken[DEFAULT_ID] = default.value
        for token in (s.identity for s in (*rules, default)):
            if token is None:
                continue
            identity = name(token)
            if not (identity.isascii() and identity.isalnum() and len(identity) <= 40):
                raise at(token, f"the id {token}: expected ASCII letters and digits")
            if identity in taken:
                raise at(
                    token,
                    f"the id {token} is taken in line {taken[identity].line}:"
                    " change it, or leave it out",
                )
            taken[identity] = token
        return set(taken)

    def rule(self, statement: Statement, identity: str) -> Rule:
        conditions = self.conditions(statement)
        value = self.label(statement.value)
        bare = Rule(identity, conditions, value, unfounded(value, self.labels), 0.0)
        if statement.evidence is None:
            return bare
        stats, weight = self.evidence(statement.evidence, statement.value)
        rule = replace(bare, stats=stats, weight=weight)
        claimed = statement.evidence.seal
        if claimed and claimed != self.seals.seal(rule):
            self.edited.append(identity)
            return bare
        return rule

    def conditions(self, statement: Statement) -> tuple[Condition, ...]:
        found: list[Condition] = []
        by_feature: dict[int, list[Condition]] = {}
        for test in statement.tests:
            token, conditions = self.reader.conditions(test)
            where = conditions[0].feature
            so_far = by_feature.setdefault(where, [])
            so_far.extend(conditions)
            if intersect(so_far, self.features[where]) is None:
                raise at(
                    token,
                    f"no value of {token} meets this and the tests before it:"
                    " the rule could never hold",
                )
            found.extend(conditions)
        return tuple(found)

    def label(self, token: Token) -> Label:
        if not self.labels:
            return number(token)
        label = typed(token, type(self.labels[0]))
        if label not in self.label_set:
            raise unknown(token, "there is no label", self.labels)
        return label

    def evidence(self, evidence: Evidence, value: Token) -> tuple[Stats, float]:
        stats = self.counts(evidence) if self.labels else _moments(evidence)
        if not 0 < stats.weight < float("inf"):
            raise at(evidence.counts[0][1], "the counts add up to no case")
        weight = stats.weight
        if evidence.reached is not None:
            key, count = evidence.reached
            if key != "reached":
                raise at(key, f"expected reached, found {key}")
            weight = _weight(count)
        return stats, weight

    def counts(self, evidence: Evidence) -> ClassCounts:
        weights = dict.fromkeys(self.labels, 0.0)
        _once(((key, key) for key, _ in evidence.counts), "{} is counted twice")
        for key, count in evidence.counts:
            weights[self.label(key)] = _weight(count)
        return ClassCounts(tuple(weights.values()))


def _moments(evidence: Evidence) -> Moments:
    keys = ("cases", "mean", "sse")
    found: dict[str, float] = {}
    for key, count in evidence.counts:
        if key not in keys:
            raise at(key, f"expected {' or '.join(keys)}, found {key}")
        if key in found:
            raise at(key, f"{key} stands there twice")
        found[str(key)] = number(count) if key == "mean" else _weight(count)
    for needed in keys[:2]:
        if needed not in found:
            raise at(evidence.counts[0][0], f"the evidence does not tell its {needed}")
    return Moments(found["cases"], found["mean"], found.get("sse"))


def _weight(token: Token) -> float:
    found = number(token)
    if found < 0:
        raise at(token, f"{token}: expected a number of at least 0")
    return found


def _free(taken: set[str]) -> Callable[[], str]:
    """Gives the ids R1, R2, ... from behind the greatest that is taken."""
    numbers = [int(i[1:]) for i in taken if i[:1] == "R" and i[1:].isdigit()]
    last = max((n for n in numbers if n < 10**30), default=0)

    def following() -> str:
        nonlocal last
        last += 1
        return f"R{last}"

    return following
