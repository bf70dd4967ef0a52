"""Reads files that hold a model: model files, `.rules` files and Markdown documents.

The rules of a document are in one fenced block. Everything outside it is blanked, not
cut away, so that messages have the lines and columns of the document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from treecompile.model.collector import paused
from treecompile.model.errors import RulesError
from treecompile.model.file.read import read_any_program, read_program
from treecompile.model.files import beginning, read_text
from treecompile.model.ir import AnyProgram, NotedProgram, Program
from treecompile.model.referral import referring_as
from treecompile.rules.language.record import (
    FENCE,
    INFO,
    Notes,
    moved,
    read_record,
)

MARKDOWN = (".md", ".markdown")
RULES = (".rules", *MARKDOWN)
MODEL = (".json",)
BEGINNING = 1 << 16  # bytes
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


@dataclass(frozen=True, slots=True)
class RuleSource:
    """What a file of rules, or a model file, says."""

    program: Program
    messages: tuple[str, ...] = ()  # for the author
    notes: Notes = field(default_factory=dict)  # what people wrote in a document
    origin: Program | None = None  # the model that the document was made from
    former: Program | None = None  # the model before the rules were edited, if ever

    @property
    def is_edited(self) -> bool:
        """Whether a document has other rules than treecompile wrote."""
        return self.origin is not None and self.origin is not self.program


def read_model(path: str | Path) -> tuple[AnyProgram, tuple[str, ...]]:
    """Read the tree, rules or forest in a file of any kind, and notes on it."""
    if not is_rules(path):
        return read_any_program(path), ()
    return read_source(path)


def read_source(path: str | Path) -> NotedProgram:
    """Read the tree or rules in a file of any kind, and notes for its author."""
    found = read_whole(path)
    return NotedProgram(found.program, found.messages)


def read_whole(path: str | Path) -> RuleSource:
    """Read all that a file of any of the three kinds says."""
    if not is_rules(path):
        return RuleSource(read_program(path))
    text = read_text(path, RulesError)
    try:
        return loads_whole(text, is_markdown=Path(path).suffix.lower() in MARKDOWN)
    except RulesError as error:
        raise RulesError(f"{path}, {error}") from None


def loads(text: str, is_markdown: bool = False) -> NotedProgram:
    """Compile rules, or the block of rules in a Markdown document."""
    found = loads_whole(text, is_markdown)
    return NotedProgram(found.program, found.messages)


def loads_whole(text: str, is_markdown: bool = False) -> RuleSource:
    """Compile rules, and read what else a document says.

    A document whose rules were not edited is the model that it was made from.
    """
    # Lines may end as on Windows, or as on an old Mac.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    with paused():
        if not is_markdown:
            return RuleSource(*_compiled(text))
        record, notes = read_record(text)
        rules = block(text)
        if record is None or record.program is None:
            return RuleSource(*_compiled(rules), notes)
        return _since(record.program, record.former, rules, notes)


def _since(
    origin: Program, former: Program | None, rules: str, notes: Notes
) -> RuleSource:
    from treecompile.rules.language.printer import print_rules

    printed = print_rules(origin)
    unedited = RuleSource(origin, (), notes, origin, former)
    if _lines(rules) == _lines(printed):
        return unedited
    program, messages = _compiled(rules)
    if program == _compiled(printed).program:
        return unedited
    program = referring_as(program, origin)
    return RuleSource(program, messages, moved(notes, origin, program), origin, origin)


def _lines(text: str) -> list[str]:
    return [line for line in map(str.rstrip, text.split("\n")) if line]


def _compiled(text: str) -> NotedProgram:
    # Imported here, so that a model file is read without loading the parser.
    from treecompile.rules.language.compile import compile_script
    from treecompile.rules.language.syntax import parse

    return compile_script(parse(text))


def block(text: str) -> str:
    """Blank everything in a Markdown document except its block of rules."""
    kept: list[str] = []
    opened, start = "", 0  # the fence of the current block, and its line
    rules_at = 0  # the line where the block of rules begins
    for number, line in enumerate(text.split("\n"), start=1):
        kept.append("")
        found = FENCE.fullmatch(line)
        fence, info = (found["fence"], found["info"].strip()) if found else ("", "")
        if opened and fence.startswith(opened) and not info:
            opened = ""
        elif opened:
            kept[-1] = line if start == rules_at else ""
        elif fence and not ("`" in info and fence[0] == "`"):
            opened, start = fence, number
            if info == INFO and rules_at:
                raise RulesError(
                    f"line {number}, column 1: a second block of rules: a document"
                    f" may have only one, and the first begins in line {rules_at}"
                )
            rules_at = number if info == INFO else rules_at
    if not rules_at:
        raise _no_block(text.split("\n"))
    if opened and start == rules_at:
        raise RulesError(
            f"line {start}, column 1: the block of rules has no end: put a line"
            f" {opened} after the rules"
        )
    return "\n".join(kept)


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
