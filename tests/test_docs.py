"""The documents mention everything that exists, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import click
import pytest

import treecompile
from tests.support import api_reference, option_tables
from tests.support.doc_blocks import PAGES, blocks_of, name_of
from tests.support.samples import ROOT
from treecompile.cli import main

README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "commands.md"
LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.M
)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
MACHINE = re.compile(
    r"(?<![\w./])/(?:home|root|Users|work|opt|tmp|private|mnt)/\w|\b[A-Z]:\\\w|file://"
)


def mentions(text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def test_every_command_and_option_is_documented() -> None:
    text = COMMANDS.read_text(encoding="utf-8")
    for name, command in main.commands.items():
        assert mentions(text, f"treecompile {name}"), name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                longest = max(parameter.opts, key=len)
                assert mentions(text, longest), f"{name} {longest}"


def test_no_option_is_documented_that_does_not_exist() -> None:
    known = {
        name
        for command in main.commands.values()
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    } | {"--help", "--version"}
    for line in COMMANDS.read_text(encoding="utf-8").splitlines():
        if "pip " in line:
            continue
        for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", line):
            assert option in known, line


@pytest.mark.parametrize("generated", [option_tables, api_reference])
def test_what_is_generated_is_up_to_date(generated: ModuleType) -> None:
    page = generated.PAGE.read_text(encoding="utf-8")
    assert page == generated.written(page), "run python -m tests.record_docs"


def test_the_reference_has_every_public_name() -> None:
    text = api_reference.PAGE.read_text(encoding="utf-8")
    for name in treecompile.__all__:
        assert (
            re.search(rf"(?m)^##+ {name}$|^\| `{name}` ", text) or name[0] == "_"
        ), name


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes addresses of them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for groups in LINK.findall(text):
        link = next(filter(None, groups))
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = unquote(link).partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert path.is_relative_to(ROOT), link
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_path_of_one_machine_is_in_the_documents(page: Path) -> None:
    found = MACHINE.search(page.read_text(encoding="utf-8"))
    assert found is None, found


def test_the_index_leads_to_every_page() -> None:
    """The navigation of the site is made of it."""
    index = ROOT / "docs" / "index.md"
    links = re.findall(r"(?m)^- \[.*?\]\((.*?)\)", index.read_text(encoding="utf-8"))
    found = {(index.parent / link).resolve() for link in links}
    examples = set((ROOT / "examples").glob("*/**/README.md"))
    assert found == set(PAGES) - {index} - examples


# ---------------------------------------------------------------- the README


def test_both_commands_of_the_readme_are_single_lines() -> None:
    blocks = blocks_of(README.read_text(encoding="utf-8"))
    commands = [block.text for block in blocks if "venv" in block.text]
    assert len(commands) == 2
    assert all(command.count("\n") == 1 for command in commands)


def test_the_figures_in_the_readme_are_those_of_the_benchmarks() -> None:
    """Each figure with a unit, and each count, is in the results of its script."""
    results = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    scale = ROOT / "docs" / "databases.md"
    results += scale.read_text(encoding="utf-8")
    known = set(re.findall(r"\d[\d.,]*\d|\d", results.replace(",", "")))
    text = README.read_text(encoding="utf-8").partition("## How it compares")[2]
    lines = re.findall(r"(?m)^\| .*`(\w+\.py)` \|$", text)
    assert len(lines) >= 4
    for script in lines:
        assert (ROOT / "benchmarks" / script).exists()
    for line in re.findall(r"(?m)^\| .*\.py` \|$", text):
        for number in re.findall(r"\d[\d.,]*\d|\d", line):
            assert number.replace(",", "") in known, line
