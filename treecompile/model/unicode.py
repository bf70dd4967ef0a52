"""Text that cannot be encoded or seen.

Python strings can hold half a surrogate pair (U+D800 to U+DFFF). No encoding has it, so
no file or database can: readers refuse it with `is_unicode`. Names of files come from
the operating system and may hold bytes that are not UTF-8, which Python also reads as
such halves. The files are opened all the same; `file_name` is how they are shown.
"""

from __future__ import annotations

import re

HALF = re.compile("[\ud800-\udfff]")
NOT_UNICODE = "is not Unicode text (it has half a surrogate pair)"


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded; half a surrogate pair cannot."""
    return text.isascii() or not HALF.search(text)


def file_name(text: str) -> str:
    """The name of a file as text: a replacement character for each undecodable byte."""
    return HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    """Text in which every character but a line end or a tab can be seen."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else escaped(c) for c in text)


def escaped(character: str) -> str:
    r"""A character as an escape: \x1b, \u202e."""
    return ascii(character)[1:-1]
