"""Make one readable tree, or rules, of a forest."""

from __future__ import annotations

from typing import Any

from treecompile.cli.command import command
from treecompile.cli.options import (
    argument,
    declared,
    given,
    json_option,
    model_option,
    quiet_option,
    reading_options,
    rules_option,
    value,
)
from treecompile.learning.options import LearnOptions
from treecompile.model.options import COMMON, options_of

OWN = ("algorithm", "max_leaves")  # have other defaults here
SHARED = [name for name in options_of(LearnOptions) if name not in OWN]


@command(
    "distil",
    "Learn one tree that imitates a forest.",
    "treecompile distil forest.json data.csv -o model.json\n"
    "treecompile distil forest.json data.csv --max-leaves 12 --held-out 0.2",
    "The model file of the tree, by default model.json. The comparison of tree and"
    " forest goes to standard error.",
)
@argument("forest")
@argument("data")
@value("--algorithm", "NAME", "id3, c45 or cart. [default: cart]", group=COMMON)
@value(
    "--max-leaves",
    "N",
    "Maximum number of leaves. The best splits are made first. Only for cart and id3."
    " [default: 30]",
    type=int,
    group=COMMON,
)
@declared(LearnOptions, *SHARED)
@value(
    "--held-out",
    "F",
    "The share of the rows on which tree and forest are compared. The tree is learned"
    " from the others. [default: one third]",
    type=float,
    group=COMMON,
)
@rules_option
@reading_options
@model_option("model.json", COMMON)
@json_option
@quiet_option
def distil(
    forest: str,
    data: str,
    out: str,
    force: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn one tree, or rules, from the answers of a FOREST to the rows of DATA.

    FOREST is a model file with a forest. DATA is a table with the columns that the
    forest tests; known targets are not necessary. The tree is learned from the answers
    to two thirds of the rows. On the others, the report says how often tree and forest
    agree, and shows rows for which their answers differ.

    Without options, the tree is a CART tree of at most 30 leaves.
    """
    from treecompile.api.distilled import lines, witness_lines
    from treecompile.api.distilling import distil, forest_of
    from treecompile.cli import json_reports
    from treecompile.cli.terminal import Terminal, check_json, check_output, output
    from treecompile.model.file.write import dumps
    from treecompile.rules.language.document import read_model

    check_json(out, as_json=as_json)
    check_output(out, force=force)
    terminal = Terminal(quiet)
    found = forest_of(read_model(forest)[0], forest)
    made = distil(found, data, feedback=terminal, **given(options))
    output(out, dumps(made.model.program))
    terminal.tell(*lines(made), *witness_lines(made), f"wrote {out}")
    if as_json:
        json_reports.write(json_reports.distilled(made, [out]))
