"""Mutation testing: are the tests able to notice a fault in the product?

    python -m tests.mutation                 all modules of tests/mutation/targets.py
    python -m tests.mutation regions/ steps  those whose path contains one of the words
    python -m tests.mutation --write         and write the results to SURVIVORS.md
    python -m tests.mutation --again         only the mutants that survived so far

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


def judge(
    target: Target, modules: list[Path], *, again: bool
) -> dict[str, report.Record]:
    """The new records of some modules of a target."""
    known = report.read(report.FILE.read_text(encoding="utf-8"))
    before = {path: known.get(_name(path), report.Record()) for path in modules}
    judges = [str(ROOT / name) for name in target.judges]
    start = time.monotonic()
    only = None
    if again:
        only = {path: set(record.arguments) for path, record in before.items()}
    records = {}
    for path, result in run(modules, judges, only, say).items():
        if only is not None:
            result.killed = before[path].total - len(result.survivors)
        record = records[_name(path)] = report.update(before[path], result)
        say(f"{_name(path)}: {record.killed} of {record.total} killed")
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
    parser.add_argument(
        "--again", action="store_true", help="only those that survived the last time"
    )
    parser.add_argument("--write", action="store_true", help="update SURVIVORS.md")
    options = parser.parse_args()
    chosen = [(target, _paths(target, options.words)) for target in TARGETS]
    chosen = [(target, paths) for target, paths in chosen if paths]
    if len(chosen) > 1:  # pytest collects only once in a process
        flags = ["--write"] * options.write + ["--again"] * options.again
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
        records = judge(target, paths, again=options.again)
    if options.write:
        known = report.read(report.FILE.read_text(encoding="utf-8"))
        report.FILE.write_text(report.written(known | records), encoding="utf-8")
    return not all(r.is_enough and not r.unargued for r in records.values())


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _paths(target: Target, words: list[str]) -> list[Path]:
    paths = target.paths()
    return [path for path in paths if any(word in str(path) for word in words or [""])]


if __name__ == "__main__":
    sys.exit(main())
