"""The documents mention everything that exists, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from tests.support.option_tables import written
from tests.support.samples import ROOT
from treecompile.cli import main

COMMANDS = ROOT / "docs" / "commands.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
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


def test_the_tables_of_options_are_those_declared() -> None:
    page = COMMANDS.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tests.support.option_tables"


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes addresses of them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_path_of_one_machine_is_in_the_documents(page: Path) -> None:
    found = MACHINE.search(page.read_text(encoding="utf-8"))
    assert found is None, found


def test_the_readme_leads_to_the_commands() -> None:
    assert "docs/commands.md" in (ROOT / "README.md").read_text(encoding="utf-8")
