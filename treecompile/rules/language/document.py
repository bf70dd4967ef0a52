"""Reads files that hold a model: model files, `.rules` files and Markdown documents.

The rules of a document are in one fenced block. Everything outside it is blanked, not
cut away, so that messages have the lines and columns of the document.
"""

from __future__ import annotations

import re
from pathlib import Path

from treecompile.model.collector import paused
from treecompile.model.errors import RulesError
from treecompile.model.file.read import read_any_program, read_program
from treecompile.model.files import beginning, read_text
from treecompile.model.ir import AnyProgram, Program

MARKDOWN = (".md", ".markdown")
RULES = (".rules", *MARKDOWN)
MODEL = (".json",)
BEGINNING = 1 << 16  # bytes
INFO = "rules"  # the info string of the fence: ```rules
# A fenced block, as CommonMark says; one without an end goes to the end of the text.
BLOCK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>.*)(?P<rules>(?s:.*?))"
    r"(?:^ {0,3}(?P=fence)(?P<end>(?:(?<=`)`|(?<=~)~)*[^\S\n]*)$|\Z)",
    re.MULTILINE,
)
MARK = re.compile(rb'"format"\s*:\s*"treecompile model"')

# A line that was meant to begin a block of rules, but is indented or has more text.
NEAR_MISS = re.compile(rf"[\W\d]*(?:`{{3}}|~{{3}})\W*{INFO}\b", re.IGNORECASE)


def is_rules(path: str | Path) -> bool:
    """Whether a file holds rules in the rule language, judged by its name."""
    return Path(path).suffix.lower() in RULES


def holds_model(path: str | Path) -> bool:
    """Whether a file holds a model or rules, and not a table.

    A table may be JSON, too, so the beginning of such a file is read.
    """
    if is_rules(path):
        return True
    is_json = Path(path).suffix.lower() in MODEL
    return is_json and MARK.search(beginning(path, BEGINNING)) is not None


def read_any_model(path: str | Path) -> AnyProgram:
    """Read the tree, rules or forest in a file of any kind."""
    return read_model(path) if is_rules(path) else read_any_program(path)


def read_model(path: str | Path) -> Program:
    """Read the tree or rules in a file of any kind."""
    if not is_rules(path):
        return read_program(path)
    text = read_text(path, RulesError)
    try:
        return loads(text, is_markdown=Path(path).suffix.lower() in MARKDOWN)
    except RulesError as error:
        raise RulesError(f"{path}, {error}") from None


def loads(text: str, is_markdown: bool = False) -> Program:
    """Compile rules, or the block of rules in a Markdown document."""
    # Imported here, so that a model file is read without loading the parser.
    from treecompile.rules.language.compile import compile_rules

    # Lines may end as on Windows, or as on an old Mac.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    with paused():
        return compile_rules(block(text) if is_markdown else text)


def block(text: str) -> str:
    """Blank everything in a Markdown document except its block of rules."""
    blocks = [found for found in BLOCK.finditer(text) if found["info"].strip() == INFO]
    if not blocks:
        raise _no_block(text.split("\n"))
    line, *others = (text.count("\n", 0, found.start()) + 1 for found in blocks)
    if others:
        raise RulesError(
            f"line {others[0]}, column 1: a second block of rules: a document may have"
            f" only one, and the first begins in line {line}"
        )
    found = blocks[0]
    if found["end"] is None:
        raise RulesError(
            f"line {line}, column 1: the block of rules has no end: put a line"
            f" {found['fence']} after the rules"
        )
    below = text.count("\n", found.end("rules"))
    return "\n" * (line - 1) + found["rules"] + "\n" * below


def _no_block(lines: list[str]) -> RulesError:
    for number, line in enumerate(lines, start=1):
        if NEAR_MISS.match(line, 0, 100):
            return RulesError(
                f"line {number}, column 1: this does not begin a block of rules: write"
                f" ```{INFO} and nothing else in a line, outside lists, quotes and"
                " other blocks"
            )
    return RulesError(
        f"line {len(lines)}, column 1: the document has no block of rules: put a"
        f" line ```{INFO} before the rules and a line ``` after them"
    )
