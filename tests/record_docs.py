"""Bring the documents up to date: `python -m tests.record_docs [PAGE ...]`.

Writes the tables of options and the reference of the API, runs the code blocks and the
notebooks, and writes today's outputs into them. Read the difference before you commit
it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import api_reference, notebooks, option_tables
from tests.support.doc_blocks import PAGES, Block, name_of, rewritten
from tests.support.doc_session import CannotRunError, Session, pictures


def record(page: Path) -> None:
    text = before = page.read_text(encoding="utf-8")
    for generated in (option_tables, api_reference):
        if page == generated.PAGE:
            text = generated.written(text)
    with TemporaryDirectory() as folder:
        session = Session(Path(folder))

        def text_of(block: Block) -> str:
            try:
                return session.run(block)
            except CannotRunError as error:
                print(f"{name_of(page)}, line {block.line}: {error}")
                return block.text
            except Exception as error:
                error.add_note(f"in {name_of(page)}, line {block.line}")
                raise

        made = rewritten(text, text_of)
        for shown, drawn in pictures(page, session):
            shown.write_bytes(drawn.read_bytes())
    if made != before:
        page.write_text(made, encoding="utf-8")
        print(f"{name_of(page)} has changed")


def record_notebook(path: Path) -> None:
    made = notebooks.dumped(notebooks.executed(path))
    if made != path.read_text(encoding="utf-8"):
        path.write_text(made, encoding="utf-8")
        print(f"{name_of(path)} has changed")


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    for each in chosen or [*PAGES, *notebooks.NOTEBOOKS]:
        (record_notebook if each.suffix == ".ipynb" else record)(each)
