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
    """The functions and constants of a module, as text."""

    def __init__(self, module: ModuleType) -> None:
        source = inspect.getsource(module)
        self.lines = source.split("\n")
        self.definitions: dict[str, ast.stmt] = {}
        self.origins: dict[str, str] = {}  # {"inf": "math", "re": ""} for `import re`
        for statement in ast.parse(source).body:
            match statement:
                case ast.ImportFrom(module=str(name), names=aliases):
                    self.origins.update((alias.name, name) for alias in aliases)
                case ast.Import(names=aliases):
                    self.origins.update((alias.name, "") for alias in aliases)
                case ast.FunctionDef(name=name):
                    self.definitions[name] = statement
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.definitions[name] = statement

    def text(self, name: str, flags: Mapping[str, bool]) -> str:
        """A definition, in which `if FLAG:` is resolved: one branch of it is kept."""
        definition = self.definitions[name]
        first, last = definition.lineno, definition.end_lineno or 0
        kept = dict(enumerate(self.lines[first - 1 : last], start=first))
        for node in ast.walk(definition):
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
        """The names, with all definitions and imports that they need."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            if name in self.definitions:
                inside = ast.walk(self.definitions[name])
                waiting += [node.id for node in inside if isinstance(node, ast.Name)]
            if name in self.definitions or name in self.origins:
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
    """The text of these functions and constants of a runtime module.

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
        """The definitions in the order of the module: constants before their users.

        Constants that follow each other are one text.
        """
        texts: list[str] = []
        follows = False
        for name, definition in self.source.definitions.items():
            if name in self.names:
                is_constant = isinstance(definition, ast.Assign)
                before = f"{texts.pop()}\n" if follows and is_constant else ""
                texts.append(before + self.source.text(name, {}))
                follows = is_constant
        return texts

    def imports(self, names: Mapping[str, Iterable[str]]) -> list[str]:
        """Import statements for the helpers, and for these names of each module.

        Modules themselves are under "": {"": {"re"}, "typing": {"Any"}}.
        """
        wanted = {module: set(some) for module, some in names.items()}
        for name in self.names & self.source.origins.keys():
            wanted.setdefault(self.source.origins[name], set()).add(name)
        lines = [f"import {name}" for name in sorted(wanted.pop("", ()))]
        for module, some in sorted(wanted.items()):
            lines.append(f"from {module} import {', '.join(sorted(some))}")
        return lines
