"""The site is built without a warning, leads nowhere wrong, and needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.doc_blocks import PAGES
from tests.support.samples import ROOT

README = ROOT / "README.md"
LOADED = {"script": "src", "img": "src", "link": "href", "source": "src"}
LINKED = {**LOADED, "a": "href"}


class Html(HTMLParser):
    """The addresses in a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.add(found.get("id", ""))
        if address := found.get(LINKED.get(tag, "")):
            self.addresses.append((tag, address))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(map(find_spec, ("sphinx", "furo", "myst_parser"))):
        pytest.skip("sphinx is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    found = re.search(r"`sphinx-build (.*?)`", README.read_text("utf-8"), re.DOTALL)
    assert found
    *options, out = found[1].split()
    assert out == "build/site"
    trees = ["-d", str(folder / "trees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", *trees, *options, str(folder / "html")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Html]:
    found = sorted(site.glob("**/*.html"))
    return {path: Html(path.read_text(encoding="utf-8")) for path in found}


def test_every_document_is_a_page(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists(), page


def test_every_link_and_anchor_exists(site: Path, pages: dict[Path, Html]) -> None:
    for path, page in pages.items():
        for _, address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)) if parts.path else path
            assert target.exists(), f"{path.relative_to(site)}: {address}"
            if parts.fragment and target.suffix == ".html":
                anchors = pages[target.resolve()].anchors
                assert unquote(parts.fragment) in anchors, address


def test_every_page_can_be_reached(site: Path, pages: dict[Path, Html]) -> None:
    first = site / "index.html"
    reached, todo = {first}, [first]
    while todo:
        path = todo.pop()
        for _, address in pages[path].addresses:
            target = (path.parent / unquote(urlsplit(address).path)).resolve()
            if target in pages and target not in reached:
                reached.add(target)
                todo.append(target)
    assert reached == set(pages)


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Html]) -> None:
    for path, page in pages.items():
        for tag, address in page.addresses:
            assert tag not in LOADED or not urlsplit(address).scheme, (path, address)
    for path in site.glob("**/*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import|url\()[\s\"']*(?:https?:)?//", text), path
