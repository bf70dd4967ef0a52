"""Every code block of the documents runs, and shows what a reader sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.support.doc_blocks import PAGES, blocks_of, name_of
from tests.support.doc_session import CannotRunError, Session, pictures

NOT_RUN = "not run"
MOST_NOT_RUN = 12
MARKERS = {  # what the blocks of a page need, beyond the extra `test`
    "docs/databases.md": "large",
    "docs/faq.md": "large",
    "docs/gallery.md": "large",
    "docs/rule-language.md": "large",
    "docs/tutorials/notebook.md": "large",
    "docs/tutorials/ship-a-module.md": "engine",  # Node.js
    "docs/tutorials/sql-in-dbt.md": "engine",
    "docs/your-own-model.md": "library",
    "examples/lightgbm/README.md": "engine",  # dbt
}


def pages() -> Iterator[Any]:
    for page in PAGES:
        name = name_of(page)
        marks = [getattr(pytest.mark, MARKERS[name])] if name in MARKERS else []
        yield pytest.param(page, id=name, marks=marks)


@pytest.mark.parametrize("page", list(pages()))
def test_the_blocks_are_true(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    missing = set()
    for block in blocks_of(page.read_text(encoding="utf-8")):
        try:
            found = session.run(block)
        except CannotRunError as error:
            missing.add(str(error))
        except Exception as error:
            error.add_note(f"in {name_of(page)}, line {block.line}")
            raise
        else:
            told = f"{name_of(page)}, line {block.line}: python -m tests.record_docs"
            assert block.text == found, told
    for shown, drawn in pictures(page, session):
        assert shown.read_bytes() == drawn.read_bytes(), shown
    if missing:
        pytest.skip(", ".join(sorted(missing)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_is_overlooked(page: Path) -> None:
    """Indented code would be one, or a fence that only Markdown sees."""
    text = page.read_text(encoding="utf-8")
    tokens = MarkdownIt("commonmark").parse(text)
    assert not [token.map for token in tokens if token.type == "code_block"]
    fences = [
        token.map[0] + 1 for token in tokens if token.type == "fence" and token.map
    ]
    assert fences == [block.line for block in blocks_of(text)]


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    blocks = [b for page in PAGES for b in blocks_of(page.read_text(encoding="utf-8"))]
    reasons = [block.marks[NOT_RUN] for block in blocks if NOT_RUN in block.marks]
    assert all(len(reason.split()) > 2 for reason in reasons), reasons
    assert len(reasons) <= MOST_NOT_RUN
