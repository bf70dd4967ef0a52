"""The code blocks of a Markdown page, with the marks above them.

A mark is an HTML comment in the line above a block. It says how the block is tested:

    <!-- not run: needs a PostgreSQL server -->     not at all, and why
    <!-- file: c/target.toml -->                    later blocks find it in this file
    <!-- in: out/predict.py -->                     an excerpt of this file
    <!-- exit: 2 -->                                the exit code of its last command
    <!-- needs: dbt -->                             only if this program is installed
    <!-- duckdb: shop.db -->, <!-- sqlite: x.db --> SQL for this database
    <!-- result -->                                 what that SQL returned
    <!-- generated -->                              another test compares it
    <!-- setup: cp -r examples/penguins data -->    commands that run before the block;
                                                    they may take several lines

`doc_session` runs the blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.samples import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "examples").glob("**/README.md")),
]
OPENING = re.compile(r"( *)(```+|~~~+) *([\w-]*).*\n")
MARK = re.compile(r"(?s) *<!-- ([a-z ]+?)(?::\s(.*?))?\s-->\n")
SETUP = "<!-- setup:"


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int  # of the fence, from 1
    indent: str = ""
    marks: dict[str, str] = field(default_factory=dict)


def blocks_of(page: str) -> list[Block]:
    return [part for part in parts_of(page) if isinstance(part, Block)]


def parts_of(page: str) -> Iterator[str | Block]:
    """The page in parts: lines as they are, and the texts of the blocks."""
    lines = iter(enumerate(page.splitlines(keepends=True), start=1))
    marks: dict[str, str] = {}
    for number, line in lines:
        yield line
        if line.startswith(SETUP):
            while not line.rstrip().endswith("-->"):
                more = next(lines)[1]
                yield more
                line += more
        if mark := MARK.fullmatch(line):
            marks[mark[1]] = mark[2] or ""
        elif opening := OPENING.fullmatch(line):
            indent, fence, language = opening.groups()
            text = []
            for _, inner in lines:
                if inner.strip() == fence:
                    break
                text.append(inner.removeprefix(indent))
            yield Block(language, "".join(text), number, indent, marks)
            yield inner
            marks = {}
        else:
            marks = {}


def rewritten(page: str, text_of: Callable[[Block], str]) -> str:
    """The page with other texts in its blocks."""
    result = []
    for part in parts_of(page):
        if isinstance(part, Block):
            for line in text_of(part).splitlines(keepends=True):
                result.append(part.indent + line if line.strip() else line)
        else:
            result.append(part)
    return "".join(result)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
