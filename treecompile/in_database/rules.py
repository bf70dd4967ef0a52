"""Rules pruned against a validation table in its database, as `pruning` does in memory.

The rows come as groups that the rules cannot tell apart (see `parts`): for labels the
rules are those of memory, for numbers but for the last digits of their means.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.errors import DataError
from treecompile.in_database.evaluate import evaluate
from treecompile.in_database.parts import Grouping
from treecompile.in_database.reading import reading
from treecompile.in_database.validation import no_known_answer
from treecompile.ir import Program
from treecompile.postprune.validation import prune_on_validation
from treecompile.pruning import (
    VALIDATION,
    Pruned,
    Start,
    flattening_notes,
    left_out,
    raw_rules,
    silent,
    with_rules,
)
from treecompile.stores.base import Store


def prune_there(
    store: Store,
    relation: str,
    source: str,
    program: Program,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> Pruned:
    """Prune the rules of a program; `source` is what messages call the table."""
    rules = raw_rules(program)
    flat = replace(program, body=rules)
    grouping = Grouping(store, reading(store, relation, flat, na_values), rules)
    unknown, cases = grouping.unknown(), grouping.cases()
    if not cases.rows:
        if not unknown:
            raise DataError(f"{source} has no row: expected rows with the target")
        raise no_known_answer(program.target, rules.labels, source)
    whole = len(rules.rules) * cases.rows
    body = prune_on_validation(rules, cases, start(whole))
    pruned = with_rules(program, body, VALIDATION)
    if pruned.training is not None:
        found = evaluate(store, relation, pruned, na_values)
        summary = replace(
            pruned.training,
            quality=None,
            validation=found.quality,
            rules=(),
            validation_rules=found.tallies,
        )
        pruned = replace(pruned, training=summary)
    notes = (*flattening_notes(program), *left_out(program, unknown))
    return Pruned(pruned, notes)
