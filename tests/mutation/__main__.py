"""Mutation testing: are the tests able to notice a fault in the product?

    python -m tests.mutation                 all modules of tests/mutation/targets.py
    python -m tests.mutation regions/ steps  those whose path contains one of the words
    python -m tests.mutation --write         and write the results to SURVIVORS.md

The exit code is 1 if less than 90 % of the mutants of a module are killed, or if a
survivor has no argument in SURVIVORS.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.mutation import report
from tests.mutation.runner import run
from tests.mutation.targets import ROOT, TARGETS, Target


def say(text: str) -> None:
    print(text, flush=True)


def judge(target: Target, modules: list[Path], only: str) -> dict[str, report.Record]:
    """The new records of some modules of a target."""
    known = report.read(report.FILE.read_text(encoding="utf-8"))
    judges = [str(ROOT / name) for name in target.judges]
    start = time.monotonic()
    records = {}
    for path, result in run(modules, judges, only, say).items():
        name = path.relative_to(ROOT).as_posix()
        record = report.update(known.get(name, report.Record()), result)
        records[name] = record
        say(f"{name}: {record.killed} of {record.total} killed")
        for mutant in record.unargued:
            say(f"  no argument: {mutant}")
    say(f"{time.monotonic() - start:.0f} seconds")
    return records


def main() -> int:
    description, _, usage = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description,
        epilog=usage,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", help="parts of the paths of modules")
    parser.add_argument("--only", default="", help="part of the names of mutants")
    parser.add_argument("--write", action="store_true", help="update SURVIVORS.md")
    options = parser.parse_args()
    chosen = [(target, _paths(target, options.words)) for target in TARGETS]
    chosen = [(target, paths) for target, paths in chosen if paths]
    if len(chosen) > 1:  # pytest collects only once in a process
        flags = ["--write"] if options.write else []
        codes = [
            subprocess.call(
                [sys.executable, "-m", "tests.mutation", *flags, *map(str, paths)],
                cwd=ROOT,
            )
            for _, paths in chosen
        ]
        return max(codes)
    records = {}
    for target, paths in chosen:
        records = judge(target, paths, options.only)
    if options.write and not options.only:
        known = report.read(report.FILE.read_text(encoding="utf-8"))
        report.FILE.write_text(report.written(known | records), encoding="utf-8")
    return not all(r.is_enough and not r.unargued for r in records.values())


def _paths(target: Target, words: list[str]) -> list[Path]:
    paths = target.paths()
    return [path for path in paths if any(word in str(path) for word in words or [""])]


if __name__ == "__main__":
    sys.exit(main())
