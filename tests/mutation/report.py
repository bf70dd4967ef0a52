"""SURVIVORS.md: how many mutants are killed, and why the others may live."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutation.runner import Result

FILE = Path(__file__).with_name("SURVIVORS.md")
LEAST = 0.9  # of the mutants of every module must be killed
NOT_ARGUED = "NOT ARGUED"
ROW = re.compile(r"\| `(\S+)` \| (\d+) \| (\d+) \| .* \|")
ENTRY = re.compile(r"- `(.*)`: (.*?)")  # the change; the argument
INTRODUCTION = """\
# Surviving mutants

Written by `python -m tests.mutation --write`, except for the arguments, which are kept.
A mutant is a fault in one function; it is killed if a test fails. Each survivor has an
argument: why no test can notice the fault, or why none should.
"""


@dataclass(slots=True)
class Record:
    """What is kept about one module."""

    killed: int = 0
    total: int = 0
    arguments: dict[str, str] = field(default_factory=dict)  # by the mutant's name

    @property
    def unargued(self) -> list[str]:
        return [name for name, why in self.arguments.items() if why == NOT_ARGUED]

    @property
    def is_enough(self) -> bool:
        return self.killed >= LEAST * self.total


def read(text: str) -> dict[str, Record]:
    """The records of a file, by the path of the module."""
    records: dict[str, Record] = {}
    module = ""
    for line in text.splitlines():
        if row := ROW.fullmatch(line):
            records[row[1]] = Record(int(row[2]), int(row[3]))
        elif line.startswith("## "):
            module = line.removeprefix("## ").strip("`")
        elif entry := ENTRY.fullmatch(line):
            records[module].arguments[entry[1]] = entry[2]
    return records


def written(records: Mapping[str, Record]) -> str:
    lines = [INTRODUCTION, "| module | killed | mutants | share |", "|---|---|---|---|"]
    for module, record in sorted(records.items()):
        share = f"{record.killed / record.total:.1%}" if record.total else "-"
        lines.append(f"| `{module}` | {record.killed} | {record.total} | {share} |")
    for module, record in sorted(records.items()):
        if record.arguments:
            lines += ["", f"## `{module}`", ""]
            lines += [f"- `{name}`: {why}" for name, why in record.arguments.items()]
    return "\n".join(lines) + "\n"


def update(record: Record, result: Result) -> Record:
    """The record after a run; survivors keep their arguments."""
    known = record.arguments
    arguments = {name: known.get(name, NOT_ARGUED) for name in result.survivors}
    return Record(result.killed, result.total, arguments)
