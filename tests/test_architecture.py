"""The straight line: which module may use which, and how little a template may do."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "treecompile"

# Imports point upwards only: a module uses those above it.
ORDER = (
    *("errors", "collector", "packages", "ir", "values", "semantics", "accepts"),
    *("membership", "words", "rounding", "importance", "extract", "divide"),
    *("witness", "regions", "passes", "shape", "literals", "model_file", "read"),
    *("raw", "data", "folds", "batch", "boxes", "retree", "bits", "cases"),
    *("rule_statistics", "quality", "learners", "learn_options", "training"),
    *("postprune", "pruning"),
    *("cross_validation", "import_sklearn", "glossary", "rule_language", "sources"),
    *("targets", "languages", "lower", "render", "compiler", "analysis", "verify"),
    *("show", "draw", "score", "reports", "stores", "in_database", "api", "cli"),
)


def module_name(path: Path) -> str:
    """`lower.sql` for treecompile/lower/sql.py, `lower` for its __init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
ENTRIES = ("", "__main__")  # the package itself, which loads lazily, and its command


def imported(path: Path) -> Iterator[str]:
    """The modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
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


def top(module: str) -> str:
    return module.split(".")[0]


def test_every_module_has_its_place_in_the_order() -> None:
    assert {top(name) for name in MODULES if name not in ENTRIES} == set(ORDER)
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ENTRIES])
def test_imports_point_upwards(module: str) -> None:
    place = ORDER.index(top(module))
    for other in imported(MODULES[module]):
        if other and top(other) != top(module):
            assert ORDER.index(top(other)) < place, f"{module} imports {other}"


def test_there_are_no_cycles_within_packages() -> None:
    graph = {
        name: {other for other in imported(path) if other not in ("", name)}
        for name, path in MODULES.items()
        if name not in ENTRIES
    }
    assert set(TopologicalSorter(graph).static_order()) == set(graph)


def test_the_heart_imports_nothing_heavy() -> None:
    """What decides and what writes needs the standard library alone."""
    for name in ORDER[: ORDER.index("read")]:
        for module, path in MODULES.items():
            if top(module) != name:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                for other in names:
                    root = other.split(".")[0]
                    assert root in sys.stdlib_module_names or root == "treecompile"


HEAVY = {"pandas", "numpy", "jinja2", "black", "duckdb", "pyarrow", "sklearn"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["learn", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded:', *sys.modules))\n"
        "from treecompile.cli import main\n"
        f"main({arguments!r}, prog_name='treecompile')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "treecompile" in result.stdout
    loaded = set(result.stdout.rpartition("loaded:")[2].split())
    assert "treecompile.cli" in loaded
    assert not loaded & HEAVY


# ---------------------------------------------------------------- templates

TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.is_file())
# Loops, tests of what is there, places to fill, lists behind one another.
ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.Name, nodes.Getattr, nodes.Const, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Not, nodes.Add, nodes.Filter),
)
FILTERS = {"join", "length"}


def within(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from within(child)


@pytest.mark.parametrize(
    "path",
    [p for p in TEMPLATES if p.suffix == ".jinja"],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_templates_only_loop_and_place(path: Path) -> None:
    tree = Environment().parse(path.read_text(encoding="utf-8"))
    for node in within(tree):
        assert isinstance(node, ALLOWED), f"line {node.lineno}: {node}"
        if isinstance(node, nodes.Filter):
            assert node.name in FILTERS, f"line {node.lineno}: {node.name}"
        elif isinstance(node, nodes.Operand):
            assert node.op in ("eq", "ne"), f"line {node.lineno}: {node.op}"
        elif isinstance(node, nodes.For):
            assert not node.recursive
            assert node.test is None


def test_a_target_is_templates_and_settings() -> None:
    assert {path.suffix for path in TEMPLATES} == {".jinja", ".toml"}
