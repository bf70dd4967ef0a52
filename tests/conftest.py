"""Servers for a whole test run, and a run that fails if a test is skipped.

Every call of the command line is checked: see `support.commands`. A run fails for a
skipped test only where TREECOMPILE_ALL_ENGINES is set, as `.ci/run` does. Exceptions
are in tests/may_skip.txt, each with its reason.
"""

from __future__ import annotations

import os

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

NOTHING_SKIPS = bool(os.environ.get("TREECOMPILE_ALL_ENGINES"))
ALLOWED = {test for test, _ in may_skip()}

skipped: dict[str, str] = {}  # reason by test, of the whole run


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of xdist that runs tests for another one."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config):
        config.add_cleanup(servers.begin())


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
