"""Defines phrases: texts with places in braces, such as "{x} <= {value}".

A literal brace is doubled. Phrases come from files that anybody may write. So a phrase
knows only the places that are declared for it, without attributes, indices, conversions
or formats. It is checked when it is made, and filling it cannot fail. Text that is
filled in is never read as a phrase again.
"""

from __future__ import annotations

import re
from collections.abc import Collection

TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[^{}]+|(.)", re.DOTALL)


class Phrase:
    """A text whose places are among `names`; ValueError says what is wrong with it.

    The place `{}`, declared as "", is for phrases with only one.
    """

    __slots__ = ("_pattern", "text")

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        # A pattern for the operator %, which fills all places in one pass.
        parts = []
        for match in TOKEN.finditer(text):
            name, stray = match.groups()
            if stray is not None:
                raise ValueError(f"a single {stray!r}; write a brace twice")
            if name is None:
                plain = {"{{": "{", "}}": "}"}.get(match[0], match[0])
                parts.append(plain.replace("%", "%%"))
                continue
            if name not in names:
                raise ValueError(f"no place {{{name}}} here: {_choice(names)}")
            parts.append(f"%({name})s")
        self._pattern = "".join(parts)

    def fill(self, only: object = "", /, **given: object) -> str:
        """Return the text with its places filled; `only` fills `{}`."""
        given[""] = only
        return self._pattern % given

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        return f"Phrase({self.text!r})"


def _choice(names: Collection[str]) -> str:
    if not names:
        return "write a literal brace twice"
    return f"choose from {', '.join(f'{{{name}}}' for name in sorted(names))}"
