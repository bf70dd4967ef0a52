"""Rules pruned by a table in its database, as `pruning` prunes them by one in memory.

The rows come as groups that the rules cannot tell apart (see `parts`): for labels the
rules are those of memory, for numbers but for the last digits of their means.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.cases import Cases
from treecompile.errors import DataError
from treecompile.in_database.coding import bits_of_tests_there
from treecompile.in_database.evaluate import evaluate
from treecompile.in_database.parts import Grouping
from treecompile.in_database.places import Place
from treecompile.in_database.reading import Reading, reading
from treecompile.in_database.validation import no_known_answer
from treecompile.ir import Program, RuleSet
from treecompile.postprune.c45rules import c45rules, check_labels, strict
from treecompile.postprune.validation import prune_on_validation
from treecompile.pruning import (
    C45RULES,
    VALIDATION,
    Pruned,
    Start,
    confidence,
    flattening_notes,
    left_out,
    raw_rules,
    silent,
    stranger,
    with_rules,
)


def prune_by_validation_there(
    program: Program,
    there: Place,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> Pruned:
    """Prune the rules of a program against rows that did not grow it."""
    work = _Pruning(program, there, na_values)
    read = reading(there.store, there.relation, work.flat, na_values)
    cases, unknown = work.grouped(read, work.rules)
    whole = len(work.rules.rules) * cases.rows
    body = prune_on_validation(work.rules, cases, start(whole))
    pruned = work.measured(body, VALIDATION)
    notes = (*flattening_notes(program), *left_out(program, unknown))
    return Pruned(pruned, notes)


def prune_by_training_there(
    program: Program,
    there: Place,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> Pruned:
    """Prune the rules of a program by the rows that grew it, as c4.5rules does."""
    work = _Pruning(program, there, na_values)
    rules = work.rules
    check_labels(rules)
    read = reading(there.store, there.relation, work.flat, na_values, with_all=True)
    cases, unknown = work.grouped(read, strictly(rules))
    tests = bits_of_tests_there(there.store, read, rules)
    whole = len(rules.rules) * cases.rows
    body = c45rules(
        rules, cases, confidence(program), progress=start(whole), tests=tests
    )
    pruned = work.measured(body, C45RULES)
    notes = (
        *flattening_notes(program),
        *stranger(program, cases.total),
        *left_out(program, unknown),
    )
    return Pruned(pruned, notes)


def strictly(rules: RuleSet) -> RuleSet:
    """The rules with the conditions of c4.5rules, which no missing value meets."""
    made = (
        replace(
            rule,
            conditions=tuple(
                strict(c, rules.features[c.feature]) for c in rule.conditions
            ),
        )
        for rule in rules.rules
    )
    return replace(rules, rules=tuple(made))


class _Pruning:
    """What both ways of pruning have in common."""

    def __init__(
        self, program: Program, there: Place, na_values: tuple[str, ...]
    ) -> None:
        self.program, self.there, self.na_values = program, there, na_values
        self.rules = raw_rules(program)
        self.flat = replace(program, body=self.rules)

    def grouped(self, read: Reading, rules: RuleSet) -> tuple[Cases, int]:
        """The rows in groups that rules tell apart, and how many have no answer."""
        grouping = Grouping(self.there.store, read, rules)
        unknown, cases = grouping.unknown(), grouping.cases()
        if cases.rows:
            return cases, unknown
        source = self.there.source
        if not unknown:
            raise DataError(f"{source} has no row: expected rows with the target")
        raise no_known_answer(self.program.target, rules.labels, source)

    def measured(self, body: RuleSet, how: str) -> Program:
        """The program of the pruned rules, with what they do on the rows."""
        pruned = with_rules(self.program, body, how)
        if pruned.training is None:
            return pruned
        store, relation = self.there.store, self.there.relation
        found = evaluate(store, relation, pruned, self.na_values)
        summary = replace(
            pruned.training,
            quality=None,
            validation=None,
            rules=(),
            validation_rules=(),
        )
        if how == VALIDATION:
            summary = replace(
                summary, validation=found.quality, validation_rules=found.tallies
            )
        else:
            summary = replace(summary, quality=found.quality, rules=found.tallies)
        return replace(pruned, training=summary)
