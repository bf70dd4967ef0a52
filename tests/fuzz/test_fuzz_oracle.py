"""The harness notices what it must: tried with a command that misbehaves."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.fuzz.case import Case, Database, from_text, to_text
from tests.fuzz.doors import DOORS, make
from tests.fuzz.doors.base import nothing_more
from tests.fuzz.oracle import FindingError, judge
from tests.fuzz.pool import Pool
from treecompile.cli import main
from treecompile.model.errors import DataError


def write_and_fail(name: str) -> None:
    Path(name).write_text("x", encoding="utf-8")
    raise DataError("no")


def say_and_fail() -> None:
    click.echo("half of the result")
    raise DataError("no")


def fail_at_length() -> None:
    click.echo("Error: x\nError: y", err=True)
    sys.exit(2)


def recurse() -> None:
    recurse()


MISDEEDS: dict[str, Callable[[], object]] = {
    "ZeroDivisionError": lambda: 1 / 0,
    "RecursionError": recurse,
    "exit code 7": lambda: sys.exit(7),
    "a file is left after code 2": lambda: write_and_fail("left"),
    "a file is left after code 0": lambda: Path("pwned").write_bytes(b""),
    "an input is changed": lambda: Path("input").write_bytes(b"y"),
    "an input is gone": lambda: os.remove("input"),
    "output beside an error": say_and_fail,
    "not one line of error": fail_at_length,
    "a file outside": lambda: Path("../pwned").write_bytes(b""),
    "writes or runs elsewhere": lambda: os.system("true"),
    "UserWarning": lambda: warnings.warn("x", stacklevel=1),
}


@pytest.mark.parametrize("kind", MISDEEDS)
def test_a_misdeed_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = click.Command("misdeed", callback=lambda: MISDEEDS[kind]())
    monkeypatch.setitem(main.commands, "misdeed", command)
    case = Case("options", (("misdeed",),), {"input": b"x"})
    with pytest.raises(FindingError) as found:
        judge(case, nothing_more)
    assert found.value.kind.startswith(kind)


def test_a_good_case_passes() -> None:
    files = {"m.rules": b"TARGET y IN {a, b}\nOTHERWISE a\n"}
    outcomes = judge(Case("rules", (("show", "m.rules"),), files), nothing_more)
    assert [outcome.code for outcome in outcomes] == [0]


def test_the_pool_goes_on_after_a_death() -> None:
    with Pool() as pool:
        assert not pool.run(door="sidecar", seed=0).kind
        assert pool.process
        pool.process.kill()
        pool.process.wait()
        assert pool.run(door="sidecar", seed=0).kind.startswith("the process died")
        assert not pool.run(door="sidecar", seed=0).kind


@pytest.mark.parametrize("door", DOORS)
def test_a_case_is_the_same_from_its_seed_and_from_its_file(door: str) -> None:
    for seed in range(3):
        case = make(door, seed)
        assert case == make(door, seed)
        assert from_text(to_text(case)) == case


def test_a_database_comes_back_from_a_file() -> None:
    database = Database("d.db", "sqlite", "t", [("a", "REAL")], [[1.5], [None]])
    case = Case("database", databases=(database,), files={"b": b"\xff"})
    assert from_text(to_text(case)) == case
