"""Runs cases in a worker process, and replaces the worker when it dies or is old."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

from tests.fuzz.worker import MEMORY, SECONDS
from tests.support.samples import ROOT

OLD = 4000  # cases, after which a worker is replaced: memory is never given back
GRACE = 20  # seconds beyond the limit that the worker keeps itself
FRAME = re.compile(r'File ".*/treecompile/(.*)\.py", line \d+ in (\S+)')
SHOWN = 5  # seeds of each kind of finding


@dataclass(frozen=True)
class Verdict:
    kind: str  # "" if all is well
    detail: str = ""
    codes: str = ""  # the exit codes of the commands


class Pool:
    """One worker at a time; a context that ends it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = self.log = Path()
        self.age = self.first_size = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self, **request: Any) -> Verdict:
        """`door` and `seed`, or the text of a `case`."""
        if self.age >= OLD or self._is_large():
            self.end()
        process = self.process or self._start()
        self.age += 1
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._dead(True)
        ready, _, _ = select.select([process.stdout], [], [], SECONDS + GRACE)
        line = process.stdout.readline() if ready else b""
        if line:
            return Verdict(**json.loads(line))
        return self._dead(bool(ready))

    def _is_large(self) -> bool:
        """Whether the worker may reach its limit by what earlier cases have left."""
        if self.process is None:
            return False
        with suppress(FileNotFoundError):
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[0]
            size = int(pages) * os.sysconf("SC_PAGE_SIZE")
            self.first_size = self.first_size or size
            return size > self.first_size + MEMORY // 3
        return False

    def _start(self) -> subprocess.Popen[bytes]:
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.age = self.first_size = 0
        self.log = self.folder / "log"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.folder)},
            start_new_session=True,  # to end it with the programs that it started
        )
        return self.process

    def _dead(self, ended: bool) -> Verdict:
        """The verdict about a case that its worker did not survive."""
        process = self.process
        assert process
        code = process.wait() if ended else None
        said = self.log.read_text(encoding="utf-8", errors="replace")
        found = FRAME.search(said)
        place = f" in {found[1]}: {found[2]}" if found else ""
        slow = not ended or "Timeout (" in said
        kind = f"more than {SECONDS} s" if slow else f"the process died ({code})"
        self.end()
        return Verdict(kind + place, said[-4000:])

    def end(self) -> None:
        process, self.process, self.age = self.process, None, 0
        if process is None:
            return
        with suppress(ProcessLookupError):  # it has ended, and started nothing
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        rmtree(self.folder, ignore_errors=True)  # a killed worker leaves its case


# ---------------------------------------------------------------- many cases


@dataclass
class Tally:
    """What came of many cases of a door."""

    door: str
    cases: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    findings: dict[str, list[int]] = field(default_factory=dict)  # seeds by kind
    details: dict[str, str] = field(default_factory=dict)  # of the first of each kind

    def add(self, seed: int, verdict: Verdict) -> None:
        self.cases += 1
        if verdict.kind:
            self.findings.setdefault(verdict.kind, []).append(seed)
            self.details.setdefault(verdict.kind, verdict.detail)
        else:
            self.codes[verdict.codes] = self.codes.get(verdict.codes, 0) + 1

    @property
    def successes(self) -> int:
        """Cases whose commands all ended with 0; the others judge only messages."""
        return sum(n for codes, n in self.codes.items() if not codes.strip("0"))

    def text(self) -> str:
        lines = [f"{self.door}: {self.cases:,} cases, exit codes {self.codes}"]
        for kind, seeds in sorted(self.findings.items(), key=lambda kv: -len(kv[1])):
            shown = " ".join(map(str, seeds[:SHOWN]))
            lines.append(f"  {len(seeds)} x {kind}: {self.door} {shown}")
        return "\n".join(lines)


def run_many(pool: Pool, door: str, seeds: Iterable[int]) -> Tally:
    tally = Tally(door)
    for seed in seeds:
        tally.add(seed, pool.run(door=door, seed=seed))
    return tally
