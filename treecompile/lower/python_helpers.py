"""The functions of `values` that a generated module carries with it, verbatim."""

from __future__ import annotations

import ast
import inspect
from functools import cache

from treecompile import values


@cache
def _parse() -> tuple[dict[str, tuple[str, set[str]]], dict[str, str]]:
    """The definitions in `values` (text, names used), and the source of its imports."""
    source = inspect.getsource(values)
    definitions: dict[str, tuple[str, set[str]]] = {}
    origins: dict[str, str] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.ImportFrom(module=str(module), names=aliases):
                origins.update((alias.name, module) for alias in aliases)
            case ast.Import(names=aliases):
                origins.update((alias.name, "") for alias in aliases)
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                text = ast.get_source_segment(source, statement)
                assert text is not None
                used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
                definitions[name] = text, used
    return definitions, origins


class Helpers:
    """The helpers that one module needs, with all that they rest on."""

    def __init__(self) -> None:
        self.definitions, self.origins = _parse()
        self.needed: set[str] = set()

    def need(self, *names: str) -> None:
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in self.needed:
                continue
            self.needed.add(name)
            if name in self.definitions:
                waiting.extend(self.definitions[name][1])

    def names(self) -> set[str]:
        return self.needed & (self.definitions.keys() | self.origins.keys())

    def sources(self) -> list[str]:
        """The functions, each behind two blank lines, constants before their user."""
        return [
            text for name, (text, _) in self.definitions.items() if name in self.needed
        ]

    def imports(self, modules: set[str], names: dict[str, set[str]]) -> list[str]:
        """Import statements for the helpers, and for these modules and names."""
        plain = set(modules)
        wanted = {module: set(some) for module, some in names.items()}
        for name in self.needed & self.origins.keys():
            module = self.origins[name]
            if module:
                wanted.setdefault(module, set()).add(name)
            else:
                plain.add(name)
        lines = [f"import {name}" for name in sorted(plain)]
        for module, some in sorted(wanted.items()):
            ordered = sorted(some, key=str.swapcase)
            lines.append(f"from {module} import {', '.join(ordered)}")
        return lines
