"""Chooses how a decision is laid out: as the list of rules, or nested.

    list:  if outlook == "cloudy": return "yes"             # R1
           if outlook == "rainy" and wind == "strong": ...  # R2

Both give the same answers. The list has one guard for each rule, in the order of the
rule document. The nested decision (see `steps`) asks less of each row. By default, the
list is taken if a row needs at most TWICE as many tests in it, on average over the rows
that each rule decides. Both averages are bounds:

- for the list from above: a row that rule 5 decides fails rule 2 at the first test that
  excludes rule 5, if there is one; otherwise all tests of rule 2 count. A test of
  several categories counts as several, and in SQL `OR x IS NULL` as one more;
- for the nested decision from below: a row takes the shortest way to its rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treecompile.emit.options import AUTO, DECISION, LAYOUTS, LIST, check_choice
from treecompile.emit.steps import Step, decision_steps, nest, note
from treecompile.model import ir
from treecompile.model.evidence import evidence
from treecompile.model.paths import outcomes
from treecompile.model.semantics import membership
from treecompile.model.words import quantity
from treecompile.regions.region import Region, Regions, rule_regions, where
from treecompile.rules.extract import flatten

TWICE = 2
READABLE = 500  # a longer list is nested unless the user asks for it
LOOKED_UP = 4  # a longer list of categories costs no more tests: it is looked up


@dataclass(frozen=True, slots=True)
class CodeLayout:
    name: str  # LIST or DECISION
    how: str = ""  # "7 rules, one after the other"; "" if nothing is to be said
    why: str = ""  # "there are more than 500 rules"

    def steps(
        self, body: ir.Body, budget: int | None = None, missing_last: bool = False
    ) -> Iterator[Step]:
        """Yield the steps in order of execution, at most `budget` levels deep."""
        if self.name == LIST:
            return list_steps(body)
        return decision_steps(body, budget, missing_last)

    @property
    def said(self) -> str:
        """Describe the layout for the head of an artefact, where `verify` reads it."""
        return f"layout {self.name}{f': {self.how}' if self.how else ''}"

    def note(self, what: str) -> str:
        """For the user: "the SQL uses the layout list: ..."; "" for a nested tree."""
        reasons = "; ".join(filter(None, (self.how, self.why)))
        return f"{what} uses the layout {self.name}: {reasons}" if self.how else ""


NESTED = CodeLayout(DECISION)


@dataclass(frozen=True, slots=True)
class LanguageCosts:
    """What a language adds to the tests of a row, in tests."""

    reading: int = 0  # what a row costs before its first test
    missing: int = 0  # what a test costs that also accepts a missing value


def choose(program: ir.Program, asked: str, costs: LanguageCosts) -> CodeLayout:
    """Return the layout that the user asks for; for AUTO, choose one of the two."""
    check_choice("--layout", asked, LAYOUTS)
    body = program.body
    if asked != LIST and isinstance(body, ir.RuleSet) and nest(body) is None:
        return CodeLayout(LIST, note(body))
    if asked == DECISION:
        return CodeLayout(DECISION, note(body))
    if asked == AUTO and len(outcomes(body)) > READABLE:
        return CodeLayout(DECISION, note(body), f"there are more than {READABLE} rules")
    rules = listed(body)
    if len(rules) == 1:
        return CodeLayout(DECISION if asked == AUTO else asked)  # nothing to lay out
    if asked == AUTO and (ratio := cost_of_list(program, rules, costs)) > TWICE:
        why = (
            f"as a list (--layout list), a row may need {ratio:.1f} times as many tests"
        )
        return CodeLayout(DECISION, note(body), why)
    return CodeLayout(LIST, f"{quantity(len(rules), 'rule')}, one after the other")


def listed(body: ir.Body) -> list[ir.Rule]:
    """Return the rules of the document in its order; the last holds if all others fail.

    The last is the default of a list. Of the rules of a tree, one holds for every row.
    """
    rules = flatten(body)
    found = list(rules.rules)
    for place, rule in enumerate(found):
        if not rule.conditions:  # it matches every row that comes to it
            return found[: place + 1]
    return found if isinstance(body, ir.Tree) else [*found, rules.default]


def list_steps(body: ir.Body) -> Iterator[Step]:
    """Yield one step for each rule."""
    places = {rule.id: place for place, rule in outcomes(body).items()}
    *others, last = listed(body)
    for rule in others:
        yield Step(0, rule.conditions, places[rule.id])
    yield Step(0, (), places[last.id])


# ---------------------------------------------------------------- bounds


def cost_of_list(
    program: ir.Program, rules: Sequence[ir.Rule], costs: LanguageCosts
) -> float:
    """Return a bound of how many times more tests a row needs in the list."""
    body = program.body
    places = {rule.id: place for place, rule in outcomes(body).items()}
    rows = {place: each.rows for place, each in evidence(program).items()}
    if not any(rows.values()):
        rows = dict.fromkeys(rows, 1.0)
    fewest = least_tests(decision_steps(body), costs)
    most = most_tests(rules, body.features, costs)
    flat = nested = 0.0
    for rule, tests in zip(rules, most, strict=True):
        place = places[rule.id]
        flat += rows[place] * (costs.reading + tests)
        nested += rows[place] * (costs.reading + fewest.get(place, tests))
    return flat / nested if nested else 1.0


def least_tests(steps: Iterable[Step], costs: LanguageCosts) -> dict[int, int]:
    """Return the tests of a row on the shortest way to each outcome."""
    found: dict[int, int] = {}
    before = [0]  # for each open block, the tests of a row that failed all its arms
    for step in steps:
        del before[step.depth + 1 :]
        met = before[step.depth] + len(step.tests)
        if step.outcome is None:
            before.append(met)
        else:
            found[step.outcome] = min(met, found.get(step.outcome, met))
        if step.tests:  # an arm fails at its first test, or later
            before[step.depth] += 1 + costs.missing * step.tests[0].missing
    return found


SizedTest = tuple[int, Region, int]  # a feature, what of it passes, the size


def most_tests(
    rules: Sequence[ir.Rule], features: Sequence[ir.Feature], costs: LanguageCosts
) -> Iterator[int]:
    """Yield, for each rule of a list, the most tests of a row that it decides."""

    def sized(test: ir.Condition) -> SizedTest:
        feature = features[test.feature]
        count = size(test, feature) + costs.missing * test.missing
        return test.feature, where(test, feature), count

    written = [list(map(sized, rule.conditions)) for rule in rules[:-1]]
    for place, rule in enumerate(rules):
        box = rule_regions(rule, features)
        failed = sum(_tests_until(box, tests) for tests in written[:place])
        own = sum(size for *_, size in written[place]) if rule is not rules[-1] else 0
        yield failed + own


def _tests_until(box: Regions, tests: Sequence[SizedTest]) -> int:
    """Count the tests of a rule up to the first that no row of the box passes."""
    total = 0
    for feature, region, size in tests:
        total += size
        if feature in box and not box[feature].overlaps(region):
            break
    return total


def size(test: ir.Condition, feature: ir.Feature) -> int:
    """Return as how many tests a test counts: one of several categories as several."""
    if feature.kind is ir.Kind.NUMERIC:
        return 1
    _, chosen, _ = membership(test, feature)
    return min(max(1, len(chosen)), LOOKED_UP)
