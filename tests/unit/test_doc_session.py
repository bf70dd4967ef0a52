"""The blocks of a document are found, run, and noticed if they are not true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doc_blocks import Block, blocks_of, rewritten
from tests.support.doc_session import CannotRunError, Session, excerpt

PAGE = """\
# Page
<!-- setup:
touch a
touch b
-->
<!-- exit: 2 -->
```console
$ ls
```
- item

  ```python
  if True:
      pass

  ```
<!-- not run: a mark of another block -->

~~~sql
SELECT 1
~~~
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def console(text: str, **marks: str) -> Block:
    return Block("console", text, 1, marks=marks)


def test_blocks_and_their_marks() -> None:
    first, second, third = blocks_of(PAGE)
    assert first.marks == {"setup": "touch a\ntouch b", "exit": "2"}
    assert (first.language, first.text, first.line) == ("console", "$ ls\n", 7)
    assert (second.text, second.indent) == ("if True:\n    pass\n\n", "  ")
    assert (third.language, third.marks) == ("sql", {})


def test_a_page_is_rewritten_with_its_indents() -> None:
    assert rewritten(PAGE, lambda block: block.text) == PAGE
    changed = rewritten(PAGE, lambda block: block.text.replace("pass", "ok\n\nok"))
    assert "      ok\n\n  ok\n" in changed


# ---------------------------------------------------------------- shell


def test_the_output_is_that_of_today(session: Session) -> None:
    block = console("$ echo one\ntwo\n$ printf x\n$ cat <<E\n> a\n> E\n")
    assert (
        session.run(block) == "$ echo one\none\n$ printf x\nx\n$ cat <<E\n> a\n> E\na\n"
    )


def test_errors_are_part_of_the_output(session: Session) -> None:
    block = console("$ echo out; echo error >&2\n")
    assert session.run(block) == "$ echo out; echo error >&2\nout\nerror\n"


def test_a_shortened_output_stays_short(session: Session) -> None:
    block = console("$ seq 9\nx\n...\ny\n")
    assert session.run(block) == "$ seq 9\n1\n...\n9\n"
    with pytest.raises(AssertionError):
        session.run(console("$ seq 2\nx\n...\ny\n"))


def test_the_folder_is_kept(session: Session) -> None:
    session.run(console("$ mkdir in; cd in\n"))
    assert session.run(console("$ basename $PWD\n")) == "$ basename $PWD\nin\n"
    session.run(Block("python", "import os\nassert os.getcwd().endswith('in')\n", 1))


@pytest.mark.parametrize(
    "text", ["$ false\n", "$ false\n$ true\n", "$ exit 3\n", "$ treecompile nothing\n"]
)
def test_a_command_that_fails(session: Session, text: str) -> None:
    with pytest.raises(AssertionError):
        session.run(console(text))


def test_a_command_that_fails_as_it_says(session: Session) -> None:
    session.run(console("$ true\n$ (exit 3)\n", exit="3"))
    assert session.run(console("$ (exit 3)\n$ echo $?\n")).endswith("$ echo $?\n3\n")
    with pytest.raises(AssertionError):
        session.run(console("$ true\n", exit="3"))


def test_a_script_must_succeed(session: Session) -> None:
    session.run(Block("sh", "true\n", 1))
    with pytest.raises(AssertionError):
        session.run(Block("sh", "false\ntrue\n", 1))
    with pytest.raises(AssertionError):
        session.run(Block("console", "$ true\n", 1, marks={"setup": "false"}))


def test_a_program_that_is_absent(session: Session) -> None:
    with pytest.raises(CannotRunError, match="nosuchprogram is not installed"):
        session.run(console("$ true\n", needs="nosuchprogram"))


# ---------------------------------------------------------------- Python


def test_examples_and_their_outputs(session: Session) -> None:
    session.run(Block("python", "x = 3\n", 1))
    block = Block("python", ">>> x + 1\n5\n>>> x\n3\n>>> print('a\\n\\nb\\n')\n", 1)
    expected = ">>> x + 1\n4\n>>> x\n3\n>>> print('a\\n\\nb\\n')\na\n<BLANKLINE>\nb\n"
    assert session.run(block) == expected
    assert session.run(Block("python", expected, 1)) == expected


@pytest.mark.parametrize("text", ["1 / 0\n", ">>> 1 / 0\n", ">>> 1 / 0\n2\n"])
def test_an_exception(session: Session, text: str) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        session.run(Block("python", text, 1))


def test_modules_of_a_page_are_forgotten(session: Session) -> None:
    for value in (1, 2):
        text = f"answer = {value}\n"
        session.run(Block("python", text, 1, marks={"file": "made.py"}))
        block = Block("python", ">>> import made\n>>> made.answer\n", 1)
        assert session.run(block).endswith(f"\n{value}\n")


# ---------------------------------------------------------------- files and SQL


def test_an_excerpt() -> None:
    source = "a\nb\nc\nd\n"
    assert excerpt("b\nc\n", source) == "b\nc\n"
    assert excerpt("b\nx\nd\n", source) == "b\nc\nd\n"
    with pytest.raises(AssertionError):
        excerpt("nothing like it\nd\n", source)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_sql_and_its_result(session: Session, engine: str) -> None:
    mark = {engine: "x.db"}
    session.run(
        Block("sql", "CREATE TABLE t AS SELECT 1 AS a, 'xy' AS b", 1, marks=mark)
    )
    session.run(Block("sql", "SELECT b, a FROM t", 2, marks=mark))
    assert session.run(Block("text", "", 3, marks={"result": ""})) == "b  | a\nxy | 1\n"
    with pytest.raises(Exception, match="nothing"):
        session.run(Block("sql", "SELECT nothing FROM t", 4, marks=mark))


def test_a_block_that_nothing_runs(session: Session) -> None:
    with pytest.raises(AssertionError, match="mark it"):
        session.run(Block("text", "x", 1))
    assert session.run(Block("text", "x", 1, marks={"not run": "why"})) == "x"
