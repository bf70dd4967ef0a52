"""Which room may import which, and how little a template may do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from tests.support.may_skip import may_skip

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "treecompile"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """`lower.sql` for treecompile/lower/sql.py, `lower` for its __init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
ENTRIES = ("", "__main__")  # the package itself, which loads lazily, and its command


def imported(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            root, _, inner = (node.module or "").partition(".")
            names = [alias.name for alias in node.names]
            if root != "treecompile":
                continue
            found = [".".join(filter(None, (inner, name))) for name in names]
            yield from (name if name in MODULES else inner for name in found)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root, _, inner = alias.name.partition(".")
                if root == "treecompile":
                    yield inner


def room_of(module: str) -> str:
    return module.split(".")[0]


def may_import() -> dict[str, set[str]]:
    """The rooms of the table in CONTRIBUTING.md, and which rooms each may import."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| `(\w+)/` \|[^|]*\| ([^|]*) \|$", text)
    rooms = [room for room, _ in rows]
    return {
        room: (
            set(rooms)
            if others == "all"
            else set(re.findall(r"\w+", others)) - {"nothing"}
        )
        for room, others in rows
    }


ROOMS = may_import()


def test_every_room_is_in_the_table() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(ROOMS) == folders
    assert {room_of(name) for name in MODULES if name not in ENTRIES} == folders


def test_the_rooms_form_no_cycle() -> None:
    rooms = {room: others - {"api", "cli"} for room, others in ROOMS.items()}
    del rooms["api"], rooms["cli"]
    assert set(TopologicalSorter(rooms).static_order()) == set(rooms)


def test_a_module_imports_only_what_its_room_may() -> None:
    offenders = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        if module not in ENTRIES
        for other in imported(path)
        if other and room_of(other) not in {room_of(module), *ROOMS[room_of(module)]}
    ]
    assert offenders == []


def test_there_are_no_cycles_between_modules() -> None:
    graph = {
        name: {other for other in imported(path) if other not in ("", name)}
        for name, path in MODULES.items()
        if name not in ENTRIES
    }
    assert set(TopologicalSorter(graph).static_order()) == set(graph)


def test_every_package_says_what_lives_there() -> None:
    packages = PACKAGE.rglob("__init__.py")
    said = {p.parent.name: ast.get_docstring(parsed(p)) or "" for p in packages}
    assert [name for name, text in said.items() if len(text.split()) < 8] == []


LONGEST = 400  # lines


def test_a_module_can_be_read_in_one_go() -> None:
    texts = {name: path.read_text("utf-8") for name, path in MODULES.items()}
    assert [n for n, text in texts.items() if len(text.splitlines()) > LONGEST] == []


def test_imports_are_absolute() -> None:
    offenders = [
        f"{module}, line {node.lineno}"
        for module, path in MODULES.items()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert offenders == []


def test_no_name_serves_two_classes() -> None:
    classes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(module)
    assert {name: found for name, found in classes.items() if len(found) > 1} == {}


# What decides, and what makes rules, needs the standard library alone.
LIGHT_ROOMS = ("model", "regions")
HEAVY_MODULES = {  # use numpy
    *("model.arrays", "model.batch", "regions.boxes", "regions.deciding")
}


def test_the_heart_imports_nothing_heavy() -> None:
    for module, path in MODULES.items():
        if room_of(module) not in LIGHT_ROOMS or module in HEAVY_MODULES:
            continue
        for node in ast.walk(parsed(path)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for other in names:
                root = other.split(".")[0]
                assert root in sys.stdlib_module_names or root == "treecompile", module


HEAVY = {"pandas", "numpy", "jinja2", "black", "duckdb", "pyarrow", "sklearn"}


DATA = str(ROOT / "examples" / "tennis" / "tennis.csv")
MODEL = str(ROOT / "examples" / "tennis" / "out" / "model.json")
RULES = str(ROOT / "examples" / "tennis" / "out" / "RULES.md")
LATER = ("treecompile.database", "treecompile.verify", "treecompile.engines")


def modules_after(arguments: list[str]) -> set[str]:
    """The modules that a command has loaded when it ends."""
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded:', *sys.modules))\n"
        "from treecompile.cli import main\n"
        f"main({arguments!r}, prog_name='treecompile')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(result.stdout.rpartition("loaded:")[2].split())
    assert "treecompile.cli" in loaded
    return loaded


def test_importing_the_package_loads_nothing_of_it() -> None:
    script = "import sys, treecompile; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(result.stdout.split())
    assert {name for name in loaded if name.startswith("treecompile")} == {
        "treecompile"
    }
    assert not loaded & {*HEAVY, "click"}


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["--version"], ["learn", "--help"]],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert not modules_after(arguments) & HEAVY


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["show", MODEL], {"numpy", *LATER}),
        (["show", MODEL, "--json", "--stats", "--importance"], {"numpy", *LATER}),
        (["show", RULES], {"numpy", *LATER}),
        (["show", MODEL, "--svg", "-"], {"numpy", *LATER}),
        (["check", MODEL], {*LATER}),
        (["predict", MODEL, DATA], {"treecompile.verify"}),
        (["evaluate", MODEL, DATA], {"treecompile.verify"}),
        (["learn", DATA, "--target", "play", "-o", "-"], {"treecompile.verify"}),
    ],
)
def test_a_command_loads_only_what_it_needs(
    arguments: list[str], unused: set[str]
) -> None:
    loaded = modules_after(arguments)
    needed = {"numpy", "jinja2"} if "--svg" in arguments else {"numpy"}
    assert not loaded & (unused | HEAVY - needed)


# ---------------------------------------------------------------- templates

TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.is_file())
# Loops, tests of what is there, places to fill, lists behind one another, margins, and
# other templates of the folder with their macros.
ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.Name, nodes.Getattr, nodes.Const, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Not, nodes.Add, nodes.Filter, nodes.Include),
    *(nodes.Macro, nodes.FromImport, nodes.Call, nodes.CondExpr, nodes.Test),
    *(nodes.Concat, nodes.Mul, nodes.Getitem, nodes.Neg, nodes.Tuple),
)
FILTERS = {"first", "join", "length", "map"}
FILTERS |= {"escaped", "laid_out", "scalar"}  # of SQL: quoting and margins
# A template of a language writes the lines of the decision in the language's own way.
LANGUAGES = {
    path.parent
    for path in TEMPLATES
    if path.name == "target.toml" and "[language]" in path.read_text(encoding="utf-8")
}


def within(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from within(child)


def is_allowed(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter):
        return node.name in FILTERS
    if isinstance(node, nodes.Operand):
        return node.op in ("eq", "ne")
    if isinstance(node, nodes.For):
        return not node.recursive
    return isinstance(node, ALLOWED)


def test_templates_only_loop_and_place() -> None:
    offenders = [
        f"{path.parent.name}/{path.name}, line {node.lineno}: {node}"
        for path in TEMPLATES
        if path.suffix == ".jinja" and path.parent not in LANGUAGES
        for node in within(Environment().parse(path.read_text(encoding="utf-8")))
        if not is_allowed(node)
    ]
    assert offenders == []


def test_a_target_is_templates_and_settings() -> None:
    parts = {".css", ".js"}  # of the review page, the same for every model
    assert {path.suffix for path in TEMPLATES} == {".jinja", ".toml", *parts}
    assert {p.parent.name for p in TEMPLATES if p.suffix in parts} == {"html"}


# ---------------------------------------------------------------- tests

TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


def imported_names(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, `a.b.c` for `from a.b import c`."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_test_imports_another_test() -> None:
    """What several tests use is in tests/support/."""
    offenders = [
        f"{path.stem} imports {name}"
        for path in TESTS
        for name in imported_names(path)
        if re.match(r"tests\.(.*\.)?test_", name)
    ]
    assert offenders == []


def test_what_may_skip_exists_and_has_a_reason() -> None:
    for test, reason in may_skip():
        path, _, function = test.partition("::")
        tree = parsed(ROOT / path)
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in names
        assert reason
