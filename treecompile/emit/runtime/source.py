"""The text of Python functions, as it is copied into a generated module."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType

from treecompile.model import values


class ModuleSource:
    """The functions of a module, as text."""

    def __init__(self, module: ModuleType) -> None:
        source = inspect.getsource(module)
        self.lines = source.split("\n")
        self.functions: dict[str, ast.FunctionDef] = {}
        self.origins: dict[str, str] = {}  # {"inf": "math"}
        for statement in ast.parse(source).body:
            match statement:
                case ast.ImportFrom(module=str(name), names=aliases):
                    self.origins.update((alias.name, name) for alias in aliases)
                case ast.FunctionDef(name=name):
                    self.functions[name] = statement

    def text(self, name: str, flags: Mapping[str, bool]) -> str:
        """A function, in which `if FLAG:` is resolved: one branch of it is kept."""
        function = self.functions[name]
        first, last = function.lineno, function.end_lineno or 0
        kept = dict(enumerate(self.lines[first - 1 : last], start=first))
        for node in ast.walk(function):
            if not isinstance(node, ast.If) or not isinstance(node.test, ast.Name):
                continue
            if node.test.id in flags:
                chosen = node.body if flags[node.test.id] else node.orelse
                inner = range(chosen[0].lineno, (chosen[-1].end_lineno or 0) + 1)
                for number in range(node.lineno, (node.end_lineno or 0) + 1):
                    line = kept.pop(number)
                    if number in inner:
                        kept[number] = line.removeprefix("    ")
        return "\n".join(kept[number] for number in sorted(kept))

    def with_all_used(self, names: Iterable[str]) -> set[str]:
        """The names, with all functions and imports that they need."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            if name in self.functions:
                inside = ast.walk(self.functions[name])
                waiting += [node.id for node in inside if isinstance(node, ast.Name)]
            if name in self.functions or name in self.origins:
                found.add(name)
        return found


@cache
def source_of(module: ModuleType) -> ModuleSource:
    return ModuleSource(module)


def copied(
    module: ModuleType,
    names: Sequence[str],
    flags: Mapping[str, bool] = {},
    replaced: Mapping[str, str] = {},
) -> list[str]:
    """The text of these functions of a runtime module.

    `flags` has the value of each constant that an `if` of the copy depends on, and
    `replaced` other text for some words: {"Answer": "str"}.
    """
    source = source_of(module)
    texts = [source.text(name, flags) for name in names]
    pattern = "|".join(rf"\b{re.escape(word)}\b" for word in replaced)
    if not pattern:
        return texts
    return [re.sub(pattern, lambda found: replaced[found[0]], text) for text in texts]


class Helpers:
    """The functions of `model.values` that one generated module needs."""

    def __init__(self, names: Iterable[str]) -> None:
        self.source = source_of(values)
        self.names = self.source.with_all_used(names)

    def texts(self) -> list[str]:
        """The functions, in the order of the module."""
        functions = self.source.functions
        return [self.source.text(name, {}) for name in functions if name in self.names]

    def imports(self, names: Mapping[str, Iterable[str]]) -> list[str]:
        """Import statements for the helpers, and for these names of each module."""
        wanted = {module: set(some) for module, some in names.items()}
        for name in self.names & self.source.origins.keys():
            wanted.setdefault(self.source.origins[name], set()).add(name)
        return [
            f"from {module} import {', '.join(sorted(some))}"
            for module, some in sorted(wanted.items())
        ]
