"""Runs tests against mutants, each mutant in a process of its own.

pytest collects the tests once. Then this process forks: first a child that runs every
test and reports which lines each one reaches; then one child for each mutant. Such a
child puts the faulty code into the function, which every importer of it sees, and runs
the tests that reach the fault until one fails. This process itself runs no test, so
that nothing is remembered (caches, threads of databases) from one child to the next.

Why not mutmut: it has one list of tests for all modules, leaves out properties and
other decorated functions, keeps what caches hold from the run before, and lets pytest
collect again for each mutant, which takes twice the time.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import importlib
import os
import pickle
import resource
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from mmap import mmap
from pathlib import Path
from tempfile import TemporaryFile
from types import FunctionType

import pytest

from tests.mutation.mutants import Mutant, Source

ENOUGH = 8.0  # seconds of tests for one mutant; slower tests are left out
SERVERS = ("postgres", "mariadb", "clickhouse", "spark", "datafusion", "newer")
MEMORY = 8_000_000_000  # bytes of address space, against faults that never stop adding
LONGEST = 300  # seconds of computing, also for processes that the tests leave behind
KILLED, SURVIVED, BROKEN = 1, 0, 70  # exit codes of a child; or it dies by a signal

Line = tuple[str, int]  # file, number


@dataclass(slots=True)
class Result:
    """What became of the mutants of one module."""

    killed: int = 0
    survivors: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)  # survivors that no test runs

    @property
    def total(self) -> int:
        return self.killed + len(self.survivors)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a test takes and reaches when nothing is wrong."""

    seconds: float  # of computing
    lines: frozenset[Line]


class Runner:
    """A plugin of pytest that runs mutants instead of a plain run of all tests."""

    def __init__(
        self,
        modules: Sequence[Path],
        only: Mapping[Path, set[str]] | None,
        say: Callable[[str], None],
    ) -> None:
        self.sources = {str(path): Source(path) for path in modules}
        self.only = only  # the names of the mutants to try; None for all
        self.say = say
        self.results: dict[Path, Result] = {}
        self.failed = False  # in a child: whether a test has failed
        self.kills: Counter[tuple[str, str]] = Counter()  # by function and test

    def pytest_configure(self) -> None:
        import hypothesis  # only now: pytest complains of plugins imported before it

        generate = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile(
            "mutation", derandomize=True, database=None, phases=generate
        )
        hypothesis.settings.load_profile("mutation")
        # Formatting takes most of the time, so fewer tests would fit into ENOUGH.
        vars(importlib.import_module("treecompile.emit.templates"))["BLACK_UP_TO"] = 0

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not needs_server(item)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("a judge cannot be collected")
        reach = self.reach(session)
        for path, source in self.sources.items():
            functions = functions_of(path)
            result = self.results[Path(path)] = Result()
            mutants = source.mutants()
            if self.only is not None:
                mutants = [m for m in mutants if m.name in self.only[Path(path)]]
            for number, mutant in enumerate(mutants, start=1):
                tests = self.tests(session, mutant, reach)
                outcome = self.outcome(mutant, functions[mutant.function], tests, reach)
                if outcome:
                    result.killed += 1
                    continue
                (result.survivors if tests else result.unreached).append(mutant.name)
                kind = "survived" if tests else "no test"
                self.say(f"  {number}/{len(mutants)} {kind}  {mutant.name}")
            result.survivors += result.unreached
        return True

    # ------------------------------------------------------------ in this process

    def reach(self, session: pytest.Session) -> dict[str, Reach]:
        """Run all tests on the code as it is; they must pass."""
        self.say(f"  {len(session.items)} tests on the code without a fault")
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            try:
                answer = pickle.dumps(self.measured(session.items))
                with os.fdopen(write, "wb") as out:
                    out.write(answer)
            finally:
                os._exit(SURVIVED)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        if not answer:
            raise session.Failed("the tests stopped before any mutant was tried")
        found, failed = pickle.loads(answer)
        if failed:
            raise session.Failed(f"these fail without a mutant: {', '.join(failed)}")
        reach: dict[str, Reach] = found
        return reach

    def tests(
        self, session: pytest.Session, mutant: Mutant, reach: dict[str, Reach]
    ) -> list[pytest.Item]:
        """The tests that run the faulty lines, first those likely to notice."""
        lines = {(str(mutant.source.path), line) for line in mutant.lines}
        tests = [item for item in session.items if reach[item.nodeid].lines & lines]
        tests.sort(key=lambda item: reach[item.nodeid].seconds)
        sums = accumulate(reach[item.nodeid].seconds for item in tests)
        tests = [item for item, sum_ in zip(tests, sums, strict=True) if sum_ < ENOUGH]
        return sorted(tests, key=lambda item: -self.kills[mutant.function, item.nodeid])

    def outcome(
        self,
        mutant: Mutant,
        function: list[FunctionType],
        tests: Sequence[pytest.Item],
        reach: dict[str, Reach],
    ) -> bool:
        """Whether a test notices the mutant."""
        if not tests:
            return False
        # Not a pipe: processes that outlive the child would hold it open.
        with TemporaryFile() as progress:
            child = os.fork()
            if not child:
                os.setsid()  # so that processes of tests can be ended with the child
                code = BROKEN
                try:
                    to = progress.fileno()
                    code = self.judged(mutant, function, tests, reach, to)
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            progress.seek(0)
            running = progress.read().decode().splitlines()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
            raise RuntimeError(f"the mutant cannot be run: {mutant.name}")
        is_killed = status != SURVIVED
        if is_killed and running:
            self.kills[mutant.function, running[-1]] += 1
        return is_killed

    # ------------------------------------------------------------ in a child

    def judged(
        self,
        mutant: Mutant,
        function: list[FunctionType],
        tests: Sequence[pytest.Item],
        reach: dict[str, Reach],
        progress: int,
    ) -> int:
        code = mutant.code()
        for each in function:
            each.__code__ = code
        forget()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for item, following in pairs(tests):
            os.write(progress, f"{item.nodeid}\n".encode())
            # Generous: the machine may be busy with other things.
            limit = 10.0 + 20.0 * reach[item.nodeid].seconds
            signal.setitimer(signal.ITIMER_REAL, limit)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return KILLED
        return SURVIVED

    def measured(
        self, items: Sequence[pytest.Item]
    ) -> tuple[dict[str, Reach], list[str]]:
        """The time and the lines of each test, and the tests that fail."""
        found, failed = {}, []
        reached: dict[str, mmap] = {}  # a byte for each line
        for path, source in self.sources.items():
            # Shared with the processes that a test forks.
            seen = reached[path] = mmap(-1, source.lines + 1)
            mark = f"_mark_{len(vars(builtins))}"
            setattr(builtins, mark, partial(mmap.__setitem__, seen))
            codes = source.marked(mark)
            for name, functions in functions_of(path).items():
                for each in functions:
                    each.__code__ = codes.get(name, each.__code__)
        for item, following in pairs(items):
            self.failed = False
            forget()  # or only the first test would reach what is cached
            for seen in reached.values():
                seen[:] = bytes(len(seen))
            start = sum(os.times()[:4])
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds = sum(os.times()[:4]) - start
            lines = (
                (path, line)
                for path, seen in reached.items()
                for line, mark in enumerate(bytes(seen))
                if mark
            )
            found[item.nodeid] = Reach(seconds, frozenset(lines))
            if self.failed:
                failed.append(item.nodeid)
        return found, failed


def functions_of(path: str) -> dict[str, list[FunctionType]]:
    """The functions of a file, by qualified name, wherever they are wrapped."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == path:
            found[each.__code__.co_qualname].append(each)
    return found


def forget() -> None:
    """Empty the caches of functions, which collecting and other tests have filled."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and (
            each.__wrapped__.__module__.startswith(("treecompile.", "tests."))
        ):
            each.cache_clear()


def needs_server(item: pytest.Item) -> bool:
    """Whether a test runs on a database that takes long to start or to answer."""
    file, _, parameters = item.nodeid.partition("[")
    return "/engines/" in file and any(name in parameters for name in SERVERS)


def pairs(
    items: Sequence[pytest.Item],
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip(items, (*items[1:], None), strict=True)


def run(
    modules: Sequence[Path],
    judges: Sequence[str],
    only: Mapping[Path, set[str]] | None = None,
    say: Callable[[str], None] = print,
) -> dict[Path, Result]:
    """The result of each module, judged by some files of tests."""
    runner = Runner(modules, only, say)
    arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist"]
    arguments += ["--override-ini=addopts=", "-m", "not fuzz and not large", *judges]
    status = pytest.main(arguments, plugins=[runner])
    if status:
        raise RuntimeError(f"pytest ended with {status!r}")
    return runner.results
