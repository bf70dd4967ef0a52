"""A process that runs cases with limits: `python -m tests.fuzz.worker LOG`.

It reads a request per line, and writes a verdict per line: JSON both. What reaches its
own standard output or error is kept in the log, as is the stack of a case that takes
too long or that crashes the interpreter.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
from importlib import import_module
from pathlib import Path
from traceback import format_exception
from typing import IO, Any

from tests.fuzz.case import Case, from_text
from tests.fuzz.doors import DOORS, make
from tests.fuzz.doors.packed import UNPACKED
from tests.fuzz.oracle import FindingError, judge, place_of

SECONDS = 60  # for a case, on a machine that is busy
MEMORY = 3 << 30  # bytes of addresses beyond those in use at the start
FILE = 256 << 20  # bytes of a file
LIMITS = (
    ("emit.confined", "SECONDS", 2),
    ("tables.excel", "MOST_BYTES", UNPACKED),
    ("tables.packed", "MOST_BYTES", UNPACKED),
)


def serve(requests: IO[str], verdicts: IO[str], log: IO[str]) -> None:
    for line in requests:
        request = json.loads(line)
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=log)
        verdict = run(request)
        faulthandler.cancel_dump_traceback_later()
        if not verdict["kind"] and log.tell() < os.fstat(log.fileno()).st_size:
            verdict = {"kind": "output past the command", "detail": ""}
        log.seek(0, os.SEEK_END)
        verdicts.write(json.dumps(verdict) + "\n")
        verdicts.flush()


def run(request: dict[str, Any]) -> dict[str, str]:
    try:
        case = case_of(request)
        outcomes = judge(case, DOORS[case.door].check)
    except FindingError as finding:
        return {"kind": finding.kind, "detail": finding.detail}
    except Exception as error:
        detail = "".join(format_exception(error))
        return {"kind": f"harness: {place_of(error)}", "detail": detail}
    said = [f"{o.arguments} -> {o.code} {o.stderr}" for o in outcomes]
    codes = "".join(str(outcome.code) for outcome in outcomes)
    return {"kind": "", "detail": "\n".join(said), "codes": codes}


def case_of(request: dict[str, Any]) -> Case:
    if "case" in request:
        return from_text(request["case"])
    return make(request["door"], request["seed"])


def limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    used = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def shorten() -> None:
    """Lower limits that take long to reach: of templates, and of what is unpacked."""
    for module, name, limit in LIMITS:
        vars(import_module(f"treecompile.{module}"))[name] = limit


def main() -> None:
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    verdicts = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(sys.argv[1], "a+", encoding="utf-8") as log:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        faulthandler.enable(file=log)
        limit()
        shorten()
        serve(requests, verdicts, log)


if __name__ == "__main__":
    main()
