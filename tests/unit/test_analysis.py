"""The commands `check` and `diff`: what they print, and their exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import treecompile
from tests.support.random_models import large_tree
from tests.support.rule_lists import above, at_most, random_list, rule_set
from tests.support.samples import TENNIS
from treecompile.cli import main
from treecompile.inspect.check import OF_ORDER, Fault, check
from treecompile.inspect.diff import diff
from treecompile.model.errors import OptionError
from treecompile.model.file.write import dumps
from treecompile.model.ir import (
    Body,
    Feature,
    Kind,
    Program,
    RuleSet,
    Split,
    Tree,
    ValueType,
)
from treecompile.rules.extract import extract
from treecompile.rules.passes import apply_rule_passes
from treecompile.rules.passes.shadowed import shadowed


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def saved(folder: Path, name: str, body: Body, target: str = "y") -> Path:
    path = folder / name
    path.write_text(dumps(Program(target, "test", body)))
    return path


OVERLAPPING = rule_set(
    ((at_most(0, 5.0),), "yes"),
    ((above(0, 3.0), at_most(1, 1.0)), "no"),
    ((at_most(0, 2.0),), "no"),
    ((above(2, 4.0), at_most(2, 1.0)), "no"),
)

# ---------------------------------------------------------------- check


def test_check_of_a_tree_and_its_rules_finds_nothing(tmp_path: Path) -> None:
    tree = large_tree(30)
    rules = apply_rule_passes(extract(tree))
    result = run("check", saved(tmp_path, "rules.json", rules))
    assert result.exit_code == 0
    assert "mutually exclusive: yes" in result.stdout
    assert "complete without the default: yes" in result.stdout


def test_check_of_a_tree_names_the_leaves_that_no_row_reaches(tmp_path: Path) -> None:
    model = treecompile.learn(TENNIS, target="play", algorithm="id3")
    path = tmp_path / "tree.json"
    model.save(path)
    result = run("check", path)
    assert result.exit_code == 0
    assert "every row reaches exactly one leaf" in result.stdout


def test_check_says_what_it_found_and_shows_a_row(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", OVERLAPPING)
    result = run("check", path, "--strict")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].endswith("rules.json: 4 rules and a default")
    assert lines[1:5] == [
        "  mutually exclusive: no, 2 pairs of rules can match the same row,"
        " 2 with different answers",
        "  complete without the default: no, the default decides some rows",
        "  shadowed: 1",
        "  unreachable: 1",
    ]
    assert "  R4: x2 > 4 and x2 <= 1" in lines
    assert any(line.startswith("  R3: R1 decides {") for line in lines)
    assert any(line.startswith("  R1 (yes) and R2 (no): {") for line in lines)


def test_what_is_normal_in_an_ordered_list_is_not_listed(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", OVERLAPPING)
    accepted = ("--allow", "shadowed", "--allow", "unreachable")
    result = run("check", path, *accepted)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 5  # the counts, and no finding
    assert "2 pairs of rules can match the same row" in lines[1]
    found = json.loads(run("check", path, *accepted, "--json").stdout)
    assert found["findings"] == []
    assert found["counts"]["conflict"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_pruned_rules_have_no_dead_weight(seed: int) -> None:
    random = Random(seed)
    rows = []
    for _ in range(400):
        x, z = random.randrange(12), random.randrange(6)
        colour = random.choice(("red", "green", "blue"))
        y = (x > 5) ^ (colour == "red") if random.random() < 0.8 else z > 2
        rows.append({"x": x * 1.0, "z": z * 1.0, "colour": colour, "y": str(y)})
    table = pd.DataFrame(rows)
    tree = treecompile.learn(table[:200], target="y", algorithm="cart", prune="none")
    rules = tree.rules()
    for pruned in (rules.prune(table[200:]), rules.prune(training=table[:200])):
        found = pruned.check()
        assert found.counts[Fault.SHADOWED] == found.counts[Fault.UNREACHABLE] == 0
        assert found.passed(OF_ORDER)
        # Removing what never decides changes no answer.
        body = pruned.program.body
        assert isinstance(body, RuleSet)
        assert shadowed(body) == body


def test_check_as_json_can_be_read_back(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", OVERLAPPING)
    result = run("check", path, "--strict", "--json", "--list", "1")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["counts"] == {
        "unreachable": 1,
        "shadowed": 1,
        "conflict": 2,
        "overlap": 0,
        "incomplete": 1,
    }
    assert [f["kind"] for f in found["findings"]] == [
        "unreachable",
        "shadowed",
        "conflict",
        "incomplete",
    ]
    assert found["undecided"] == []


def test_what_is_allowed_is_no_finding(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", OVERLAPPING)
    allowed = ["--allow", "conflict", "--allow", "incomplete", "--allow", "shadowed"]
    assert run("check", path, *allowed).exit_code == 1
    assert run("check", path, *allowed, "--allow", "unreachable").exit_code == 0


def test_check_says_what_the_budget_leaves_undecided(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", apply_rule_passes(extract(large_tree(30))))
    result = run("check", path, "--budget", "40")
    assert result.exit_code == 3
    assert "complete without the default: undecided" in result.stdout
    assert "undecided within the budget" in result.stdout


def test_thousands_of_rules_are_checked_within_the_budget() -> None:
    rules = apply_rule_passes(extract(large_tree(1000)))
    result = check(Program("y", "test", rules))
    assert result.passed()
    assert not result.undecided


def test_hostile_rules_end_within_the_budget() -> None:
    result = check(Program("y", "test", random_list(300, 10, 4)), budget=500)
    assert result.counts[Fault.CONFLICT] > 0
    assert len([f for f in result.findings if f.fault is Fault.CONFLICT]) <= 1000


def test_wrong_options_of_check_are_one_line(tmp_path: Path) -> None:
    path = saved(tmp_path, "rules.json", OVERLAPPING)
    for extra in (["--budget", "0"], ["--allow", "all"], ["--list", "-1"]):
        result = run("check", path, *extra)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: ")


# ---------------------------------------------------------------- diff


def moved(tree: Tree, by: float) -> Tree:
    """The first numeric split of a tree at another threshold."""
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split) and isinstance(node.branches[0].when.value, float):
            branches = tuple(
                replace(b, when=replace(b.when, value=b.when.value + by))  # type: ignore[operator]
                for b in node.branches
            )
            nodes = list(tree.nodes)
            nodes[position] = replace(node, branches=branches)
            return replace(tree, nodes=tuple(nodes))
    raise AssertionError


def test_a_tree_and_its_rules_are_the_same(tmp_path: Path) -> None:
    tree = large_tree(60)
    old = saved(tmp_path, "tree.json", tree)
    new = saved(tmp_path, "rules.json", apply_rule_passes(extract(tree)))
    result = run("diff", old, new)
    assert (result.exit_code, result.stdout) == (0, "the same everywhere\n")


def test_a_moved_threshold_is_one_region() -> None:
    old = rule_set(((at_most(0, 5.0),), "yes"))
    new = rule_set(((at_most(0, 6.5),), "yes"))
    result = diff(Program("y", "test", old), Program("y", "test", new))
    (region,) = result.regions
    assert region.tests == (above(0, 5.0), at_most(0, 6.5))
    assert (region.old, region.new) == ("no", "yes")
    assert 5.0 < region.row["x0"] <= 6.5  # type: ignore[operator]


def test_diff_counts_the_rows_of_the_data(tmp_path: Path) -> None:
    old = rule_set(((at_most(0, 5.0),), "yes"), ((at_most(1, 1.0),), "no"))
    new = rule_set(((at_most(0, 6.0),), "yes"), ((above(1, 9.0),), "yes"))
    table = tmp_path / "data.csv"
    table.write_text("x0,x1\n5.5,5\n5.5,0\n7,10\n7,NA\n1,1\n")
    arguments: list[str | Path] = [
        saved(tmp_path, "old.json", old),
        saved(tmp_path, "new.json", new),
        *("--data", table, "--na-value", "NA"),
    ]
    result = run("diff", *arguments)
    assert result.exit_code == 1
    assert "3 of 5 rows of data.csv get a different answer" in result.stdout
    found = json.loads(run("diff", *arguments, "--json").stdout)
    assert sum(region["rows"] for region in found["regions"]) == found["differing"] == 3
    assert found["rows"] == 5
    assert found["regions"][0]["rows"] == 2
    assert found["regions"][0]["if"] == ["5 < x0 <= 6"]


def test_numbers_are_compared_exactly() -> None:
    one = treecompile.learn(
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0.1, 0.2, 0.3]}), target="y"
    )
    other = treecompile.learn(
        pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0.1, 0.2, 0.1 + 0.2]}), target="y"
    )
    (region,) = treecompile.diff(one, other).regions
    assert (region.old, region.new) == (0.3, 0.1 + 0.2)
    assert region.tests[0].value == 2.5
    assert treecompile.diff(one, one).same


def test_two_large_trees_that_differ_in_one_place() -> None:
    tree = large_tree(3000)
    result = diff(Program("y", "test", tree), Program("y", "test", moved(tree, 1e-3)))
    assert result.complete
    assert result.regions


def test_diff_without_an_end_is_undecided(tmp_path: Path) -> None:
    tree = large_tree(60)
    old = saved(tmp_path, "tree.json", tree)
    new = saved(tmp_path, "rules.json", apply_rule_passes(extract(tree)))
    result = run("diff", old, new, "--budget", "5")
    assert result.exit_code == 3
    assert "undecided" in result.stdout


def test_what_cannot_be_compared_is_one_line(tmp_path: Path) -> None:
    rules = rule_set(((at_most(0, 5.0),), "yes"))
    old = saved(tmp_path, "old.json", rules)
    text = Feature("x0", Kind.CATEGORICAL, ValueType.STR, ("a",))
    others = {
        "target": saved(tmp_path, "target.json", rules, "z"),
        "feature": saved(
            tmp_path, "feature.json", replace(rule_set(), features=(text,))
        ),
    }
    for name, path in others.items():
        result = run("diff", old, path)
        assert result.exit_code == 2, name
        assert result.stderr.startswith("Error: the ")
        assert result.stderr.count("\n") == 1
    labels = treecompile.learn(TENNIS, target="play").program
    number = treecompile.learn(
        pd.DataFrame({"x": [1.0, 2.0], "play": [0.5, 0.7]}), target="play"
    ).program
    with pytest.raises(OptionError, match="labels of type str and as numbers"):
        diff(labels, number)


def test_the_same_verbs_from_python() -> None:
    old = treecompile.learn(TENNIS, target="play", algorithm="id3")
    new = treecompile.learn(TENNIS, target="play", algorithm="id3", max_depth=1)
    assert old.check().passed()
    assert old.rules().check().passed()
    found = treecompile.diff(old, new, TENNIS)
    assert found.rows == 14
    assert found.differing == sum(region.rows or 0 for region in found.regions)
    assert found.differing == (old.predict(TENNIS) != new.predict(TENNIS)).sum()
