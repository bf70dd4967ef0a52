"""Makes a program refer rows to a human instead of answering them.

To refer a row is to answer it with a label of its own. It is a label like any other, so
artefacts, proofs and reports need not know about it. The options of `--refer`:

- `missing`, `unseen`: in a tree, the first split on a feature asks if its value is
  missing, or a category that was not in the training data, and has a leaf for it. In a
  list, rules at the top ask this of every feature that is tested.
- `below=SHARE`, `fewer=ROWS`: the leaves and rules that are right too rarely, or decide
  too few rows, get the label. A row that they decide is certain to be referred: its
  probability is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

from treecompile.model import ir, words
from treecompile.model.errors import OptionError
from treecompile.model.evidence import evidence
from treecompile.model.paths import outcomes, unknown
from treecompile.model.referral import LABEL, WHEN, refer_label
from treecompile.model.semantics import (
    is_missing,
    negate,
    probabilities,
    required_features,
)
from treecompile.rules.options import ReferOptions
from treecompile.rules.passes.merge import merge
from treecompile.rules.passes.number import number
from treecompile.rules.referred_counts import recounted, uncounted, widened

MISSING, UNSEEN, BELOW, FEWER = "missing", "unseen", "below", "fewer"
UNCOUNTED = (
    "the rows that are referred were not counted: treecompile evaluate MODEL DATA"
    " counts them"
)

AnyRule = TypeVar("AnyRule", ir.Leaf, ir.Rule)
Measure = Callable[[ir.Program], ir.Program]


@dataclass(frozen=True, slots=True)
class Referral:
    """When to refer, and by which label."""

    label: ir.Label
    missing: bool = False
    unseen: bool = False
    below: float = 0.0  # refer leaves that are right in a smaller share of their rows
    fewer: int = 0  # and leaves with fewer rows


def refer(
    program: ir.Program, options: ReferOptions, measure: Measure | None = None
) -> ir.NotedProgram:
    """Return the program that refers as the options say; the same without options.

    `measure` counts the rows of a program again, if they are at hand.
    """
    if not options.refer:
        if options.refer_label != ReferOptions().refer_label:
            raise OptionError("--refer-label needs --refer: say when to refer a row")
        return ir.NotedProgram(program)
    how = referral(options, program)
    made = widened(program, how.label)
    notes = []
    if how.missing or how.unseen:
        made = uncounted(replace(made, body=_guarded(made.body, how)))
        made = measure(made) if measure else made
    weak = _weak(made, how)
    body = _declined(made.body, weak, how.label)
    made = measure(replace(made, body=body)) if measure else recounted(made, body, weak)
    rules = outcomes(made.body)
    count = sum(rule.value == how.label for rule in rules.values())
    kind = "leaves" if isinstance(made.body, ir.Tree) else "rules"
    notes.append(f"{count} of {len(rules)} {kind} answer {words.value(how.label)}")
    if _quality(program) is not None and _quality(made) is None:
        notes.append(UNCOUNTED)
    named = {**dict(program.options), WHEN: ", ".join(options.refer), LABEL: how.label}
    return ir.NotedProgram(replace(made, options=tuple(named.items())), tuple(notes))


def _quality(program: ir.Program) -> ir.Quality | None:
    return program.training.quality if program.training else None


# ---------------------------------------------------------------- options


def referral(options: ReferOptions, program: ir.Program) -> Referral:
    """Return the options, after checking them against the model."""
    labels = program.body.labels
    if not labels:
        raise OptionError(
            "--refer is for labels, and the model predicts numbers: no number means"
            " that a human should decide"
        )
    if refer_label(program) is not None:
        raise OptionError(
            "--refer: the model refers rows already: learn it again, with all reasons"
        )
    found: dict[str, str] = {}
    for text in options.refer:
        name, _, value = text.partition("=")
        if name in found:
            raise OptionError(f"--refer {name} is given twice: keep one")
        found[name] = value
        if name not in (MISSING, UNSEEN, BELOW, FEWER) or (
            bool(value) != (name in (BELOW, FEWER))
        ):
            raise OptionError(
                f"--refer {text!r}: expected missing, unseen, below=SHARE or fewer=ROWS"
            )
    return Referral(
        _label(options.refer_label, labels),
        missing=MISSING in found,
        unseen=UNSEEN in found,
        below=_number(BELOW, found.get(BELOW, "0"), 1.0),
        fewer=int(_number(FEWER, found.get(FEWER, "0"), inf)),
    )


def _number(name: str, text: str, most: float) -> float:
    is_whole = name == FEWER
    try:
        value = float(int(text)) if is_whole else float(text)
    except (ValueError, OverflowError):
        value = -1.0
    if not 0 <= value <= most or value == inf:
        wanted = "a whole number" if is_whole else "a number from 0 to 1"
        raise OptionError(f"--refer {name}={text}: expected {wanted}")
    return value


def _label(asked: ir.Label, labels: Sequence[ir.Label]) -> ir.Label:
    """Return the label in the type of the model's labels; refuse one that is taken."""
    kind = type(labels[0])
    given: ir.Label | None = asked
    if kind is bool:
        raise OptionError(
            "--refer: the labels are true and false, and there is no third: use texts"
            " or integers in the data"
        )
    if kind is not str and isinstance(asked, str):
        try:
            given = kind(asked)
        except ValueError:
            given = None
    if type(given) is not kind or given != given:
        what = {int: "integers: add --refer-label -1", float: "numbers: add such a"}
        said = what.get(kind, "texts: choose a text")
        raise OptionError(
            f"--refer-label {asked!r}: the labels are {said}"
            f"{' --refer-label' if kind is float else ''}, or another one of their type"
        )
    if given in labels:
        raise OptionError(
            f"--refer-label {asked!r} is a label of the model: choose another"
        )
    return given


# ---------------------------------------------------------------- unknown values


def _certain(
    weight: float, label: ir.Label, labels: Sequence[ir.Label]
) -> ir.ClassCounts:
    """Return the statistics of a leaf that refers: its label has all the weight."""
    shares = ((weight or 1.0) if each == label else 0.0 for each in labels)
    return ir.ClassCounts(tuple(shares))


def certain_to_refer(rules: ir.RuleSet, label: ir.Label | None) -> ir.RuleSet:
    """Make the rules that refer certain of it again, after rows were counted."""

    def settled(rule: ir.Rule) -> ir.Rule:
        if rule.value != label:
            return rule
        return replace(rule, stats=_certain(rule.stats.weight, label, rules.labels))

    made = tuple(map(settled, rules.rules))
    return replace(rules, rules=made, default=settled(rules.default))


def _guarded(body: ir.Body, how: Referral) -> ir.Body:
    return (
        _guarded_tree(body, how)
        if isinstance(body, ir.Tree)
        else _guarded_rules(body, how)
    )


def _unknown(index: int, feature: ir.Feature, how: Referral) -> ir.Condition | None:
    """Return the condition for values of a feature to refer; None if there are none.

    To every test, an unseen value of an ordinal feature is a missing one.
    """
    if how.missing and (how.unseen or feature.kind is ir.Kind.ORDINAL):
        return unknown(index, feature)
    if how.missing:
        return is_missing(index, feature)
    has_others = feature.type is not ir.ValueType.BOOL or len(feature.categories) < 2
    if feature.kind is not ir.Kind.CATEGORICAL or not has_others:
        return None
    return ir.Condition(index, ir.Op.NOT_IN, feature.categories, missing=False)


def _guarded_tree(tree: ir.Tree, how: Referral) -> ir.Tree:
    """Guard the first split on each feature: an unknown value goes to a new leaf."""
    asked: list[frozenset[int]] = [frozenset()] * len(tree.nodes)  # tested above it
    moved, count = [], 0  # the new position of each node
    tests: dict[int, ir.Condition] = {}  # of the splits that get a guard
    for position, node in enumerate(tree.nodes):
        moved.append(count)
        count += 1
        if isinstance(node, ir.Leaf):
            continue
        index = node.branches[0].when.feature
        test = _unknown(index, tree.features[index], how)
        if test is not None and index not in asked[position]:
            tests[position] = test
            count += 2
        for branch in node.branches:
            asked[branch.then] = asked[position] | {index}
    nodes: list[ir.Node] = []
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Split):
            branches = tuple(replace(b, then=moved[b.then]) for b in node.branches)
            if position in tests:
                nodes += _guard(node, tests[position], moved[position], tree, how)
            node = replace(node, branches=branches)
        nodes.append(node)
    return replace(tree, nodes=tuple(nodes))


def _guard(
    split: ir.Split, test: ir.Condition, at: int, tree: ir.Tree, how: Referral
) -> tuple[ir.Split, ir.Leaf]:
    weight = split.stats.weight
    branches = (
        ir.Branch(test, at + 1, 0.0),
        ir.Branch(negate(test), at + 2, weight),
    )
    leaf = ir.Leaf(how.label, _certain(weight, how.label, tree.labels), 0.0)
    return ir.Split(branches, split.stats, 0.0), leaf


def _guarded_rules(rules: ir.RuleSet, how: Referral) -> ir.RuleSet:
    """Add rules at the top that refer unknown values; no later rule sees one."""
    guards, features = [], rules.features
    for index in required_features(rules):
        test = _unknown(index, features[index], how)
        if test is not None:
            stats = _certain(rules.default.stats.weight, how.label, rules.labels)
            guards.append(ir.Rule("", (test,), how.label, stats, 0.0))
    later = rules
    if how.missing:
        known = tuple(
            replace(
                rule,
                conditions=tuple(replace(c, missing=False) for c in rule.conditions),
            )
            for rule in rules.rules
        )
        later = merge(replace(rules, rules=known))
    return number(replace(later, rules=(*guards, *later.rules)))


# ---------------------------------------------------------------- weak rules


def _weak(program: ir.Program, how: Referral) -> set[int]:
    """Return the leaves or rules that are right too rarely or have too few rows."""
    found, rules = set(), outcomes(program.body)
    labels = program.body.labels
    for place, own in evidence(program).items():
        rule = rules[place]
        if rule.value == how.label:
            continue
        share = probabilities(rule.stats)[labels.index(rule.value)]
        if own.rows:
            share = own.right / own.rows
        if share < how.below or own.rows < how.fewer:
            found.add(place)
    return found


def _declined(body: ir.Body, weak: Collection[int], label: ir.Label) -> ir.Body:
    labels = body.labels

    def referring(item: AnyRule) -> AnyRule:
        stats = _certain(item.stats.weight, label, labels)
        return replace(item, value=label, stats=stats)

    if isinstance(body, ir.Tree):
        nodes = list(body.nodes)
        for place in weak:
            leaf = nodes[place]
            assert isinstance(leaf, ir.Leaf)
            nodes[place] = referring(leaf)
        return replace(body, nodes=tuple(nodes))
    rules = [
        referring(rule) if place in weak else rule
        for place, rule in enumerate((*body.rules, body.default))
    ]
    return replace(body, rules=tuple(rules[:-1]), default=rules[-1])
