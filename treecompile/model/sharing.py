"""What the rules of a large tree share, made once.

A hundred thousand rules have millions of conditions, but only some hundred thousand
different ones. To find that out again, by comparing or hashing them, takes longer than
to write the text of a rule. So shared parts are known by their identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Generic, TypeVar

from treecompile.model.ir import Condition

Group = tuple[Condition, ...]  # conditions on one feature
Part = TypeVar("Part")
Text = TypeVar("Text")


class SharedPath(tuple[Condition, ...]):
    """The conditions of a rule, which has them by feature too."""

    groups: Sequence[Group]

    @classmethod
    def of(cls, groups: Sequence[Group]) -> SharedPath:
        path = cls(chain.from_iterable(groups))
        path.groups = groups
        return path


class Texts(Generic[Part, Text]):
    """The texts of parts that many rules share, each written once."""

    def __init__(self, text_of: Callable[[Part], Text]) -> None:
        self.text_of = text_of
        self.found: dict[int, Text] = {}
        self.parts: list[Part] = []  # kept, so that no other gets the identity of one

    def of(self, parts: Sequence[Part]) -> list[Text]:
        texts, found = [], self.found
        for part in parts:
            text = found.get(id(part))
            if text is None:
                text = found[id(part)] = self.text_of(part)
                self.parts.append(part)
            texts.append(text)
        return texts
