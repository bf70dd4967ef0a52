"""Where the rules are in a file: all of it, or one fenced block of a Markdown document.

What lies outside the block is blanked, not cut away, so that lines and columns are
those of the document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from treecompile.collector import paused
from treecompile.errors import RulesError
from treecompile.ir import Program
from treecompile.rule_language.meaning import meaning
from treecompile.rule_language.syntax import parse

MARKDOWN = (".md", ".markdown")

INFO = "rules"  # what a fence says of its block
MAX_BYTES = 1 << 30
FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\r]*)\r?")


@dataclass(frozen=True, slots=True)
class Source:
    program: Program
    notes: tuple[str, ...]  # what the author of the rules should know


def read_rules(path: str | Path) -> Source:
    """The program that a `.rules` file or a Markdown document holds."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise RulesError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise RulesError(f"{path}: rules have at most {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RulesError(f"{path} is not UTF-8 text") from None
    try:
        return loads(text, is_markdown=Path(path).suffix.lower() in MARKDOWN)
    except RulesError as error:
        raise RulesError(f"{path}, {error}") from None


def loads(text: str, is_markdown: bool = False) -> Source:
    """The same for a text."""
    with paused():
        found = meaning(parse(block(text) if is_markdown else text))
    notes: tuple[str, ...] = ()
    if found.edited:
        shown = ", ".join(found.edited[:10])
        more = len(found.edited) - 10
        shown += f" and {more} more" if more > 0 else ""
        notes = (f"edited since they were counted, and left without counts: {shown}",)
    return Source(found.program, notes)


def block(text: str) -> str:
    """A document with all but its block of rules blanked."""
    kept: list[str] = []
    opened, opened_at, inside = "", 0, False
    found_at = 0
    for line_number, line in enumerate(text.split("\n"), start=1):
        fence = FENCE.fullmatch(line)
        keep = False
        if opened:
            if (
                fence
                and fence["fence"].startswith(opened)
                and not fence["info"].strip()
            ):
                opened, inside = "", False
            else:
                keep = inside
        elif fence and not ("`" in fence["info"] and fence["fence"][0] == "`"):
            opened, opened_at = fence["fence"], line_number
            inside = fence["info"].strip() == INFO
            if inside and found_at:
                raise RulesError(
                    f"line {line_number}, column 1: a second block of rules, the first"
                    f" is in line {found_at}: a document has one"
                )
            found_at = line_number if inside else found_at
        kept.append(line if keep else "")
    if not found_at:
        raise RulesError(
            f"line {len(kept)}, column 1: the document has no block of rules: expected"
            f" a line ```{INFO} before them and ``` behind"
        )
    if opened and inside:
        raise RulesError(
            f"line {opened_at}, column 1: the block of rules has no end: expected a"
            f" line {opened} behind it"
        )
    return "\n".join(kept)
