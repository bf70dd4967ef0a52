"""Which tests need more than the extra `test`, and what holds for every test.

Every call of the command line is checked: see `support.commands`. Where
TREECOMPILE_ALL_ENGINES is set, as in `.ci/run`, a skipped test fails the run, unless
tests/may_skip.txt names it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings

from tests.support import commands, servers
from tests.support.may_skip import may_skip

# A test passes however busy the machine is.
settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

# Files and folders whose modules import what only the extra `all` installs. They are
# not even collected, unless their marker is asked for.
HEAVY = {
    "page": "browser",
    "test_from_lightgbm.py": "library",
    "test_from_xgboost.py": "library",
    "test_parsed.py": "library",
}
# A test with one of these as a parameter is an `engine`. (Others have the marker.)
ENGINES = {"postgres", "mariadb", "clickhouse", "spark", "datafusion", "sqlite, newer"}
ENGINES |= {"javascript"}  # runs on Node.js

NOTHING_SKIPS = bool(os.environ.get("TREECOMPILE_ALL_ENGINES"))
ALLOWED = {test for test, _ in may_skip()}

skipped: dict[str, str] = {}  # reason by test, of the whole run


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of xdist that runs tests for another one."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config):
        config.add_cleanup(servers.begin())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    marker, asked = HEAVY.get(collection_path.name), config.option.markexpr
    if marker and asked and not re.search(rf"(?<!not ){marker}", asked):
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before those that `-m` leaves out are dropped
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part in item.path.parts:
            if part in HEAVY:
                item.add_marker(HEAVY[part])
        call = getattr(item, "callspec", None)
        for value in call.params.values() if call else ():
            if isinstance(value, str) and value in ENGINES:
                item.add_marker("engine")


@pytest.fixture(autouse=True)
def _one_line_for_every_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CliRunner, "invoke", commands.checked(CliRunner.invoke))


# ---------------------------------------------------------------- skipped tests


def note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    if report.nodeid.partition("[")[0] not in ALLOWED:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        skipped[report.nodeid] = reason


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if NOTHING_SKIPS and skipped and not is_worker(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not NOTHING_SKIPS or not skipped:
        return
    terminalreporter.section("skipped, but not in tests/may_skip.txt")
    for test, reason in skipped.items():
        terminalreporter.line(f"{test}: {reason}")
