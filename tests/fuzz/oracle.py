"""What is allowed to happen: the judge of every case.

Exit code 0 or 1, or 2 with one line; nothing but a SystemExit; no files but the outputs
of a success; inputs unchanged; nothing written or started elsewhere. Whether a success
gave the right answer is judged by the check of the door.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EPERM
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.fuzz.case import Case
from tests.support.commands import contents
from tests.support.node import NODE
from treecompile.cli import main
from treecompile.emit.sql import dialect

INVOKE = CliRunner.invoke  # itself: a test may put one that checks in its place
LONGEST = 1200  # characters of a message
UNDECIDED = ("check", "diff")  # the commands that may end with 3
INTERNAL = re.compile(r"internal error in ([^,]*), line \d+: (\w+)")
EXCUSES = ("Error: out of memory", "Error: cannot load a library")
PACKAGE = re.compile(r".*/treecompile/(.*)\.py")


class FindingError(Exception):
    """Something that must not happen; `kind` is the same for all of its class."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


@dataclass(frozen=True)
class Outcome:
    arguments: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: str

    @property
    def command(self) -> str:
        return self.arguments[0] if self.arguments else ""


Check = Callable[[Case, Path, list[Outcome]], None]


def require(truth: object, kind: str, detail: object = "") -> None:
    if not truth:
        raise FindingError(kind, str(detail))


# ---------------------------------------------------------------- the whole story


def judge(case: Case, check: Check) -> list[Outcome]:
    """Run a case in a folder of its own; raises a FindingError."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as top:
        folder, temporary = Path(top, "case"), Path(top, "tmp")
        temporary.mkdir()
        _prepare(case, folder)
        with _inside(folder, temporary), WATCH.over(Path(top)):
            outcomes = _run(case, folder)
            _judge_surroundings(Path(top), temporary)
            try:
                check(case, folder, outcomes)
            except (FindingError, MemoryError):
                raise
            except Exception as error:
                raise FindingError(f"check: {place_of(error)}", _trace(error)) from None
    return outcomes


def _prepare(case: Case, folder: Path) -> None:
    for each in vars(dialect).values():  # a dialect is kept by its path
        if hasattr(each, "cache_clear"):
            each.cache_clear()
    folder.mkdir()
    for name, data in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for database in case.databases:
        database.create(folder)


def _run(case: Case, folder: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    before = contents(folder)
    for arguments in case.commands:
        outcome = _invoke(arguments, case.stdin)
        outcomes.append(outcome)
        _judge_code(outcome)
        after = contents(folder)
        _judge_files(case, outcome, before, after)
        before = after
        if outcome.code:
            break
    return outcomes


@contextmanager
def _inside(folder: Path, temporary: Path) -> Iterator[None]:
    former, former_temporary = os.getcwd(), tempfile.tempdir
    os.chdir(folder)
    tempfile.tempdir = str(temporary)
    try:
        yield
    finally:
        tempfile.tempdir = former_temporary
        os.chdir(former)


def _invoke(arguments: tuple[str, ...], stdin: bytes) -> Outcome:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = INVOKE(CliRunner(), main, list(arguments), input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        error = result.exception
        raise FindingError(place_of(error), f"{arguments}\n{_trace(error)}")
    for warning in warned:
        if not issubclass(warning.category, (DeprecationWarning, ResourceWarning)):
            place = warning.filename.rpartition("site-packages/")[2]
            kind = f"{warning.category.__name__} in {_module(place)}"
            raise FindingError(kind, f"{arguments}: {warning.message}")
    stderr = result.stderr_bytes.decode(errors="replace")
    return Outcome(arguments, result.exit_code, result.stdout_bytes, stderr)


# ---------------------------------------------------------------- judging


def _judge_code(outcome: Outcome) -> None:
    shown = f"{outcome.arguments}: {outcome.stderr[:2000]}"
    allowed = (0, 1, 2, 3) if outcome.command in UNDECIDED else (0, 1, 2)
    internal = INTERNAL.search(outcome.stderr)
    require(
        not internal, f"{internal and internal[2]} in {internal and internal[1]}", shown
    )
    require(outcome.code in allowed, f"exit code {outcome.code}", shown)
    for excuse in EXCUSES:  # the inputs are small, and everything is installed
        require(excuse not in outcome.stderr, excuse, shown)
    require("Traceback (most" not in outcome.stderr, "traceback shown", shown)
    if outcome.code != 2:
        return
    lines = outcome.stderr.split("\n")
    errors = [line for line in lines if line.startswith("Error: ")]
    require(len(errors) == 1 and lines[-1] == "", "not one line of error", shown)
    require(lines[-2] == errors[0], "the error is not the last line", shown)
    is_quiet = "-q" in outcome.arguments or "--quiet" in outcome.arguments
    require(len(lines) == 2 or not is_quiet, "more than one line with -q", shown)
    require(len(errors[0]) <= LONGEST, "a long line of error", shown)
    controls = [c for c in errors[0] if ord(c) < 32 or 127 <= ord(c) < 160]
    require(not controls, "control characters in the error", repr(shown))
    require(len(errors[0]) > len("Error: ."), "an empty error", shown)
    require(not outcome.stdout, "output beside an error", shown)


def _judge_files(
    case: Case, outcome: Outcome, before: dict[str, bytes], after: dict[str, bytes]
) -> None:
    shown = f"{outcome.arguments}: {outcome.code} {outcome.stderr[:500]}"
    for name, data in before.items():
        is_output = name in case.changes or under(name, case.writes)
        if not is_output or (outcome.code == 2 and name not in case.changes):
            require(name in after, "an input is gone", f"{name}: {shown}")
            require(after[name] == data, "an input is changed", f"{name}: {shown}")
    for name in after.keys() - before.keys():
        is_output = under(name, case.writes) and outcome.code == 0
        kind = f"a file is left after code {outcome.code}"
        require(is_output, kind, f"{name}: {shown}")


def _judge_surroundings(top: Path, temporary: Path) -> None:
    others = {path.name for path in top.iterdir()} - {"case", "tmp"}
    require(not others, "a file outside", others)
    left = [path.name for path in temporary.iterdir()]
    require(not left, "a temporary file is left", left)


def under(name: str, outputs: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(f"{each}/") for each in outputs)


# ---------------------------------------------------------------- where errors arise


def place_of(error: BaseException) -> str:
    """`KeyError in emit/code: _layout`: the innermost function of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if PACKAGE.fullmatch(frame.filename)]
    where = ours[-1] if ours else (frames[-1] if frames else None)
    if where is None:
        return type(error).__name__
    return f"{type(error).__name__} in {_module(where.filename)}: {where.name}"


def _module(filename: str) -> str:
    found = PACKAGE.fullmatch(filename)
    return found[1] if found else filename


def _trace(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    text = "".join(lines)
    return text if len(text) < 6000 else f"{text[:2000]}\n...\n{text[-4000:]}"


# ---------------------------------------------------------------- what Python does


CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink")
DEVICES = ("/dev/null", "/dev/full")
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
PROGRAMS = (sys.executable, NODE)  # which run artefacts


class Watch:
    """Refuses to write files elsewhere or to start programs, and notes the attempt.

    So data that is executed in this process does no harm and does not go unnoticed.
    """

    def __init__(self) -> None:
        self.top = ""
        self.is_installed = False
        self.seen: list[str] = []

    @contextmanager
    def over(self, top: Path) -> Iterator[None]:
        if not self.is_installed:
            sys.addaudithook(self.hook)
            self.is_installed = True
        self.top, self.seen = str(top.resolve()), []
        try:
            yield
        except FindingError:
            if not self.seen:  # else the refusal is why
                raise
        finally:
            self.top = ""
        require(not self.seen, "writes or runs elsewhere", self.seen)

    def hook(self, event: str, details: tuple[Any, ...]) -> None:
        if self.top and self._is_wrong(event, details):
            self.seen.append(f"{event} {details!r}"[:300])
            raise PermissionError(EPERM, f"{event} outside the folder of the case")

    def _is_wrong(self, event: str, details: tuple[Any, ...]) -> bool:
        if event == "open":
            return self._writes(details) and self._elsewhere(details[0])
        if event in CHANGES:
            return self._elsewhere(details[0])
        return event in STARTS and str(details[0]) not in PROGRAMS

    @staticmethod
    def _writes(details: tuple[Any, ...]) -> bool:
        _, mode, flags = details
        if isinstance(mode, str):
            return bool(set(mode) & set("wax+"))
        return bool(flags & (os.O_WRONLY | os.O_RDWR))

    def _elsewhere(self, path: Any) -> bool:
        if isinstance(path, int):
            return False
        full = os.path.abspath(os.fsdecode(path))
        return full not in DEVICES and not full.startswith((self.top, "/proc/"))


WATCH = Watch()
