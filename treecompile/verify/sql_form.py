"""What kind of text a SQL artefact is, and what it reads and makes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from treecompile.errors import EngineError


@dataclass(frozen=True, slots=True)
class SqlForm:
    text: str  # to be run, without the semicolon at its end
    table: str = ""  # as quoted in the text; "" for a bare expression or a function
    view: str = ""  # that the text makes
    function: str = ""  # that the text makes
    alias: str = ""  # that a bare expression calls its table


COMMENT = re.compile(r"\s*(?:/\*.*?\*/|--[^\n]*\n)", re.DOTALL)
QUOTED = r"""(?:`[^`]*`|"[^"]*"|\w+)+"""
PATH = rf"{QUOTED}(?:\.{QUOTED})*"
MADE = re.compile(rf"\s*CREATE\s+(VIEW|FUNCTION|MACRO)\s+({PATH})", re.IGNORECASE)
SOURCE = re.compile(rf"\bFROM\s+({PATH})(?:\s+{QUOTED})?\s*\Z", re.IGNORECASE)
# What dbt puts in: a brace, or the name of a model or of a table of a source.
BRACE = re.compile(r"\{\{ \"\{\" \}\}")
REFERENCE = re.compile(r"\{\{ (?:ref|source)\((.*)\) \}\}\s*(\S*)\s*\Z")


def sql_form(text: str, alias: str = "") -> SqlForm:
    """Whether a text is an expression, a query, a view or a function."""
    text = from_dbt(text).strip().rstrip(";")
    rest = text
    while match := COMMENT.match(rest):
        rest = rest[match.end() :]
    made = MADE.match(rest)
    if made and made[1].upper() != "VIEW":
        return SqlForm(text, function=made[2])
    if not made and not re.match(r"\s*SELECT\b", rest, re.IGNORECASE):
        return SqlForm(text, alias=alias)
    source = SOURCE.search(rest)
    if not source:
        raise EngineError("a query must end in FROM and the name of one table")
    return SqlForm(text, source[1], made[2] if made else "")


def from_dbt(text: str) -> str:
    """The SQL that dbt would make of a model that reads one table."""
    reference = REFERENCE.search(text)
    if not reference:
        return text
    names = re.sub(r"\"(\w+)\"(?:, )?", r"\1.", reference[1]).rstrip(".")
    query = f"{text[: reference.start()]}{names} {reference[2]}"
    return BRACE.sub("{", query)


def schema_of(table: str) -> str:
    """What stands before the last name of a path; "" if it is the only one."""
    return table.removesuffix(re.findall(rf"\.?{QUOTED}", table)[-1])
