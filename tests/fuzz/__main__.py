"""`python -m tests.fuzz DOOR SEED`: see the package."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from tests.fuzz import __doc__ as usage
from tests.fuzz.case import to_text
from tests.fuzz.doors import DOORS, make
from tests.fuzz.pool import Pool, Verdict, run_many


def one(pool: Pool, text: str) -> int:
    """Print an input, which can be kept as a file, run it, and say what happened."""
    print(text, end="", flush=True)
    began = time.monotonic()
    verdict: Verdict = pool.run(case=text)
    took = time.monotonic() - began
    print(f"{verdict.kind or 'fine'} ({took:.2f} s)\n{verdict.detail}", file=sys.stderr)
    return bool(verdict.kind)


def many(pool: Pool, door: str, first: int, count: int) -> int:
    tally = run_many(pool, door, range(first, first + count))
    pool.end()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(tally.text())
    print(f"  {used.ru_utime + used.ru_stime:.1f} s of processor time", flush=True)
    for kind, detail in tally.details.items():
        print(f"--- {kind}\n{detail[-1500:]}", file=sys.stderr)
    return bool(tally.findings)


def main(arguments: list[str]) -> int:
    with Pool() as pool:
        match arguments:
            case [door, seed] if door in DOORS:
                return one(pool, to_text(make(door, int(seed))))
            case [door, first, count] if door in DOORS:
                return many(pool, door, int(first), int(count))
            case ["all", first, count]:
                return max(many(pool, door, int(first), int(count)) for door in DOORS)
            case [path] if Path(path).is_file():
                return one(pool, Path(path).read_text(encoding="utf-8"))
    print(f"{usage}\ndoors: {', '.join(DOORS)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
