"""Binds the text of a rule document, so that it cannot say what the rules do not.

People edit the block of rules and write notes. All other lines are as treecompile wrote
them, or the document is refused. A comment at its end, the record, has a checksum for
each line, and the model that the document was made from:

    <!-- treecompile document 1
    ...
    lines: Xk0aP3...
    model: QlpoOT...
    check: 5875b3...
    -->

So a document is checked by any release, whatever its text looks like. Blanks at the end
of lines, empty lines and the kind of line ends do not count: editors change them. This
does not stop forgers. It stops text that was edited in the wrong place.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from treecompile.model.errors import ModelFileError, RulesError
from treecompile.model.file.limits import MOST_BYTES
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.ir import Program
from treecompile.model.paths import leaf_count
from treecompile.rules.seals import matches, seals

VERSION = 1
HEAD, END = "<!-- treecompile document", "-->"
EXPLANATION = (
    "Checksums of the lines above, and the model that they describe. Do not edit this:"
    " `treecompile build` reads it."
)
WIDTH = 88
DIGEST = 3  # bytes in the checksum of a line
THE_MODEL = "the model"  # what a note is about, if not about a rule
STRUCK = ", struck"  # appended to the id of a rule that is gone
PLACE = re.compile(rf"<!-- note on ({THE_MODEL}|[A-Za-z0-9]{{1,40}}(?:{STRUCK})?) -->")
MOST_RULES = 5_000  # of a model that is remembered: packing more takes seconds
KEYS = ("lines", "model", "former", "check")
INFO = "rules"  # the info string of the fence: ```rules
FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
# What every document says that treecompile has written.
OURS = re.compile(r"^Model SHA-256: `[0-9a-f]{64}`, written by treecompile \d", re.M)

NO_BLOCK = (0, 0)

Notes = Mapping[str, str]  # by their subject; lines that begin with >


def place_of(name: str, notes: Notes) -> str:
    """Return the place of a note: its mark, and below it the note, if there is one."""
    mark = f"<!-- note on {name} -->"
    return f"{mark}\n{notes[name]}" if name in notes else mark


def moved(notes: Notes, old: Program, new: Program) -> Notes:
    """Move notes on the rules of one program to the rules of another.

    Rules are matched by seal, then by id. A note on a rule that is gone is kept.
    """
    then = seals(old)
    found = {name: rule for rule, name in matches(seals(new), then).items()}
    made: dict[str, str] = {}
    for name, note in notes.items():
        about = found.get(name, f"{name}{STRUCK}") if name in then else name
        made[about] = f"{made[about]}\n\n{note}" if about in made else note
    return made


@dataclass(frozen=True, slots=True)
class Record:
    """What the record of a document says."""

    program: Program | None  # the document's origin; None: too large
    former: Program | None  # before the rules were edited, if they were


@dataclass(slots=True)
class DocumentLines:
    """The lines of a document, sorted by their kind, without the record."""

    block: list[str] = field(default_factory=list)  # the rules as they are now
    notes: dict[str, str] = field(default_factory=dict)
    bound: list[tuple[int, str]] = field(default_factory=list)  # numbers and texts


# ---------------------------------------------------------------- writing


def with_record(text: str, program: Program, former: Program | None = None) -> str:
    """Add the record to a document; one without a block of rules needs none."""
    lines = text.rstrip("\n").split("\n")
    found = sort_lines(lines)
    if not found.block:
        return text
    parts = {"lines": b"".join(_checksum(line) for _, line in found.bound)}
    for key, each in (("model", program), ("former", former)):
        if each is not None and leaf_count(each.body) <= MOST_RULES:
            parts[key] = bz2.compress(dumps(each).encode())
    texts = {key: base64.b64encode(part).decode() for key, part in parts.items()}
    texts["check"] = _check(found, texts)
    return "\n".join((*lines, "", *_record_lines(texts), ""))


def _record_lines(texts: Mapping[str, str]) -> Iterator[str]:
    yield f"{HEAD} {VERSION}"
    yield from wrap(EXPLANATION, WIDTH)
    for key, value in texts.items():
        text = f"{key}: {value}"
        yield from (text[n : n + WIDTH] for n in range(0, len(text), WIDTH))
    yield END


def _checksum(line: str) -> bytes:
    return hashlib.sha256(line.encode()).digest()[:DIGEST]


def _check(found: DocumentLines, texts: Mapping[str, str]) -> str:
    parts = (*(line for _, line in found.bound), *texts.values())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# ---------------------------------------------------------------- without rules

CHECKED = re.compile(r"<!-- treecompile check ([0-9a-f]{64}) -->")


def with_check(text: str) -> str:
    """Add a checksum at the end of a document that has no rules."""
    return f"{text.rstrip()}\n\n<!-- treecompile check {_digest(text)} -->\n"


def is_as_written(text: str) -> bool:
    """Whether a document without rules has the text that treecompile wrote."""
    rest, _, last = text.rstrip().rpartition("\n")
    found = CHECKED.fullmatch(last)
    return found is not None and found[1] == _digest(rest)


def _digest(text: str) -> str:
    lines = filter(None, map(str.rstrip, text.splitlines()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# ---------------------------------------------------------------- reading


def read_record(text: str) -> tuple[Record | None, Notes]:
    """Return the record and notes of a document; refuse text that was edited.

    The record is None in a document that a person wrote.
    """
    lines = text.split("\n")
    heads = [n for n, line in enumerate(lines) if line.startswith(HEAD)]
    if not heads:
        ours = OURS.search(text)
        if ours is None:
            return None, {}
        number = text.count("\n", 0, ours.start()) + 1
        raise _at(
            number,
            "treecompile wrote this document, and the record at its end is missing:"
            " restore it; or, if the document is of an older release, copy the block"
            " of rules into a file such as edited.rules",
        )
    start = heads[-1]
    if lines[start].rstrip() != f"{HEAD} {VERSION}":
        raise _at(
            start + 1, "this release cannot read the record here: a newer one may"
        )
    ends = (n for n in range(start, len(lines)) if lines[n].rstrip() == END)
    stop = next(ends, len(lines)) + 1
    rest = [*lines[:start], *[""] * (stop - start), *lines[stop:]]
    if _block(rest) == NO_BLOCK:
        return None, {}  # compiling it says what is wrong
    texts = _parts(lines[start : stop - 1])
    document = sort_lines(rest)
    _compare(document, _decoded(texts.get("lines", ""), start))
    own = [line for line in map(str.rstrip, lines[start:stop]) if line]
    check = texts.get("check")
    texts["check"] = _check(document, {k: v for k, v in texts.items() if k != "check"})
    if check != texts["check"] or own != [*_record_lines(texts)]:
        raise _damaged(start)
    programs = [
        _program(texts[key], start) if key in texts else None
        for key in ("model", "former")
    ]
    return Record(*programs), document.notes


def _parts(lines: Sequence[str]) -> dict[str, str]:
    """Return the values of a record by key; each may have several lines."""
    texts: dict[str, str] = {}
    key = ""
    for line in lines:
        found, colon, value = line.partition(": ")
        if colon and found in KEYS:
            key, line = found, value
        if key:
            texts[key] = texts.get(key, "") + line.strip()
    return texts


def _decoded(text: str, start: int) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _damaged(start) from None


def _program(text: str, start: int) -> Program:
    unpack = bz2.BZ2Decompressor()
    try:
        return loads(unpack.decompress(_decoded(text, start), MOST_BYTES + 1))
    except (OSError, EOFError, ModelFileError):
        raise _damaged(start) from None


def _compare(found: DocumentLines, checksums: bytes) -> None:
    """Refuse the first line that is not as it was written."""
    expected = [checksums[n : n + DIGEST] for n in range(0, len(checksums), DIGEST)]
    actual = [_checksum(line) for _, line in found.bound]
    if actual == expected:
        return
    pairs = enumerate(zip(actual, expected, strict=False))
    least = min(len(actual), len(expected))
    place = next((n for n, (one, other) in pairs if one != other), least)
    what = "this line was edited"
    if actual[place:] == expected[place + 1 :]:
        what = "a line is missing before this one"
    if actual[place + 1 :] == expected[place:]:
        what = "this line was added"
    number = found.bound[-1][0] + 1 if found.bound else 1  # after the last line
    if place < len(actual):
        number = found.bound[place][0]
    raise _at(
        number,
        f"{what}: undo that, edit the rules in the block ```{INFO} instead, and write"
        " notes below a mark <!-- note on ... -->, in lines that begin with >",
    )


def sort_lines(lines: Sequence[str]) -> DocumentLines:
    """Tell the rules, the notes and the bound lines apart."""
    found = DocumentLines()
    opened, closing = _block(lines)
    about, note = "", list[str]()
    for number, line in enumerate((*lines, END), start=1):  # the last ends a note
        text = line.rstrip()
        if opened < number < closing:
            found.block.append(text)
            continue
        if about and (not text or text.startswith(">")):
            note.append(text)
            continue
        if written := "\n".join(note).strip("\n"):
            found.notes[about] = written
        mark = PLACE.fullmatch(text) if text.startswith("<!--") else None
        about, note = (mark[1] if mark else ""), []
        if text and number <= len(lines):
            found.bound.append((number, text))
    return found


def _block(lines: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of the lines before and after the block of rules."""
    opened, fence = 0, ""
    for number, line in enumerate(lines, start=1):
        found = FENCE.fullmatch(line)
        if found is None:
            continue
        info = found["info"].strip()
        if opened and found["fence"].startswith(fence) and not info:
            return opened, number
        if not opened and info == INFO:
            opened, fence = number, found["fence"]
    return NO_BLOCK


def _at(number: int, message: str) -> RulesError:
    return RulesError(f"line {number}: {message}")


def _damaged(start: int) -> RulesError:
    return _at(
        start + 1,
        "the record of the document was edited: restore it from a copy, or write the"
        " document again with `treecompile emit model.json --to markdown`",
    )
