"""The tables of options in docs/commands.md, from the declarations.

`python -m tests.support.option_tables` writes them into the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tests.support.samples import ROOT
from treecompile.cli.options import help_of
from treecompile.emit.options import EmitOptions
from treecompile.learning.options import LearnOptions
from treecompile.model.options import Option, options_of
from treecompile.tables.options import DataOptions

PAGE = ROOT / "docs" / "commands.md"
MARKED = r"(?s)<!-- {} -->\n.*?<!-- end -->"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (heads, *rows)]
    lines.insert(1, f"|{'---|' * len(heads)}")
    return "\n".join((*lines, ""))


def option(each: Option) -> list[str]:
    spelt = f"`{each.flag} {each.metavar}`" if each.metavar else f"`{each.flag}`"
    text = help_of(each, says_where=False)
    return [spelt, re.sub(r"\[default: (.*)\]$", r"Default: \1.", text)]


def algorithms(names: Sequence[str]) -> str:
    return ", ".join(sorted(names, key=("id3", "c45", "cart").index))


def learn_table() -> str:
    rows = []
    for kind in (DataOptions, LearnOptions):
        for each in options_of(kind).values():
            if each.is_hidden:
                continue
            own = algorithms(each.algorithms) or "all"
            there = own if each.in_database is None else algorithms(each.in_database)
            rows.append([*option(each), own, there or "none"])
    return table(["option", "meaning", "algorithms", "in a database"], rows)


def emit_table() -> str:
    rows = [
        [*option(each), ", ".join(each.targets) or "all"]
        for each in options_of(EmitOptions).values()
    ]
    return table(["option", "meaning", "target"], rows)


TABLES = {"learn": learn_table, "emit": emit_table}


def written(page: str) -> str:
    """The page with the tables as they must be."""
    for name, made in TABLES.items():
        (old,) = re.findall(MARKED.format(name), page)
        page = page.replace(old, f"<!-- {name} -->\n{made()}<!-- end -->")
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
