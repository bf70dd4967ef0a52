"""Runs the code blocks of a page, as a reader would, in a copy of the examples.

Shell and Python keep their folder and their variables from block to block. Running a
block returns the text that it should have: the commands as they are, with the outputs
of today.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

from tests.support.doc_blocks import Block
from tests.support.samples import ROOT

SECONDS = 120  # for one block
END = "end of a command"
REST = "...\n"  # any lines
PROGRAMS = {"dbt": os.environ.get("TREECOMPILE_DBT")}  # else on the path


Handler = Callable[["Session", Block], str]


class CannotRunError(Exception):
    """A program that the block needs is not installed."""


class Session:
    """The state of one page."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT / "examples", folder / "examples")
        self.root = self.folder = folder
        self.variables: dict[str, Any] = {"__name__": "__main__"}
        self.result = ""
        self.environment = _environment(folder / ".bin")

    def run(self, block: Block) -> str:
        """The text that the block should have."""
        marks = block.marks
        if "not run" in marks:
            return block.text
        if program := marks.get("needs"):
            self._require(program)
        if "setup" in marks:
            self._run_script(Block("sh", marks["setup"], block.line))
        for mark, handle in self.by_mark.items():
            if mark in marks:
                return handle(self, block)
        if block.language not in self.by_language:
            raise AssertionError(f"nothing runs a block of {block.language!r}: mark it")
        return self.by_language[block.language](self, block)

    def _require(self, program: str) -> None:
        found = PROGRAMS.get(program) or shutil.which(program)
        if not found:
            raise CannotRunError(f"{program} is not installed")
        _add_program(self.root / ".bin" / program, f'"{found}"')

    # ------------------------------------------------------------ files

    def _write(self, block: Block) -> str:
        path = self.folder / block.marks["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return block.text

    def _excerpt(self, block: Block) -> str:
        path = self.folder / block.marks["in"]
        path = path if path.exists() else ROOT / block.marks["in"]
        return excerpt(block.text, path.read_text(encoding="utf-8"))

    # ------------------------------------------------------------ shell

    def _transcript(self, block: Block) -> str:
        """Commands behind `$`, continued behind `>`, each with its output."""
        lines = block.text.splitlines(keepends=True)
        starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
        assert starts, "a console without a command"
        assert starts[0] == 0, "output before the first command"
        commands, shown = [], []
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            begin = start + 1
            while begin < end and lines[begin].startswith("> "):
                begin += 1
            commands.append("".join(lines[start:begin]))
            shown.append("".join(lines[begin:end]))
        found = self._shell([re.sub("(?m)^[$>] ", "", each) for each in commands])
        expected = [0] * len(commands)
        expected[-1] = int(block.marks.get("exit", "0"))
        for at, (command, (output, status)) in enumerate(
            zip(commands, found, strict=True)
        ):
            is_told = at + 1 < len(commands) and commands[at + 1] == "$ echo $?\n"
            assert is_told or status == expected[at], f"{command}{output}exit {status}"
        outputs = (output for output, _ in found)
        texts = map(with_output, commands, shown, outputs)
        return "".join(texts)

    def _run_script(self, block: Block) -> str:
        """Commands whose output is not shown."""
        ((output, status),) = self._shell([f"set -e\n{block.text}\nset +e\n"])
        assert status == int(block.marks.get("exit", "0")), output
        return block.text

    def _shell(self, commands: Sequence[str]) -> list[tuple[str, int]]:
        """Output and exit code of each command, in one shell."""
        place = self.root / ".folder"
        tell = f'_code=$?; printf "\\n%s %s\\n" "{END}" $_code; (exit $_code)\n'
        script = f"trap '{tell.strip()}; pwd > \"{place}\"' EXIT\n"
        script += "".join(f"{command.rstrip()}\n{tell}" for command in commands)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=SECONDS,
        )
        self.folder = Path(place.read_text(encoding="utf-8").strip())
        # No two runs take the same time.
        said = re.sub(r"learned in [\d.]+ s", "learned in 0.1 s", done.stdout)
        found = re.findall(rf"(?s)(.*?)\n{END} (\d+)\n", said)
        return [(_ended(text), int(code)) for text, code in found[: len(commands)]]

    # ------------------------------------------------------------ Python

    def _python(self, block: Block) -> str:
        with self._here():
            if block.text.startswith(">>> "):
                return self._examples(block)
            code = compile(block.text, f"line {block.line}", "exec")
            exec(code, self.variables)
        return block.text

    def _examples(self, block: Block) -> str:
        """Lines behind `>>>`, each with its output."""
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block.text, self.variables, "page", None, block.line)
        test.globs = self.variables
        runner = Recorder()
        runner.run(test, out=lambda text: None, clear_globs=False)
        lines = block.text.splitlines(keepends=True)
        for example in reversed(test.examples):
            begin = example.lineno + example.source.count("\n")
            end = begin + example.want.count("\n")
            if example in runner.outputs:
                lines[begin:end] = [runner.outputs[example]]
        return "".join(lines)

    @contextmanager
    def _here(self) -> Iterator[None]:
        """Python in the folder of the shell, and nothing left of its modules."""
        modules = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        try:
            with chdir(self.folder):
                yield
        finally:
            sys.path.remove(str(self.folder))
            for name in set(sys.modules) - modules:
                origin = getattr(sys.modules[name], "__file__", None) or ""
                if origin.startswith(str(self.root)):
                    del sys.modules[name]

    # ------------------------------------------------------------ SQL

    def _sqlite(self, block: Block) -> str:
        with sqlite3.connect(self.folder / block.marks["sqlite"]) as connection:
            cursor = connection.execute(block.text)
            self.result = _table(cursor.description, cursor.fetchall())
        connection.close()
        return block.text

    def _duckdb(self, block: Block) -> str:
        import duckdb

        with duckdb.connect(str(self.folder / block.marks["duckdb"])) as connection:
            cursor = connection.execute(block.text)
            self.result = _table(cursor.description, cursor.fetchall())
        return block.text

    def _result(self, block: Block) -> str:
        return self.result

    def _as_it_is(self, block: Block) -> str:
        return block.text

    by_mark: ClassVar[dict[str, Handler]] = {
        "file": _write,
        "in": _excerpt,
        "sqlite": _sqlite,
        "duckdb": _duckdb,
        "result": _result,
        "generated": _as_it_is,
    }
    by_language: ClassVar[dict[str, Handler]] = {
        "console": _transcript,
        "sh": _run_script,
        "python": _python,
        "pycon": _python,
    }


class Checker(doctest.OutputChecker):
    """Does without the blank lines at the end of an output."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, _ended(got.rstrip("\n")), optionflags)


class Recorder(doctest.DocTestRunner):
    """Keeps the outputs that are not as expected."""

    def __init__(self) -> None:
        super().__init__(Checker(), optionflags=doctest.ELLIPSIS)
        self.outputs: dict[doctest.Example, str] = {}

    def report_failure(
        self, out: object, test: object, example: doctest.Example, got: str
    ) -> None:
        kept = re.sub("(?m)^$", "<BLANKLINE>", got.rstrip("\n"))
        self.outputs[example] = _ended(kept)

    def report_unexpected_exception(
        self, out: object, test: object, example: doctest.Example, exc_info: Any
    ) -> None:
        raise AssertionError(f"{example.source}{exc_info[1]!r}") from exc_info[1]


# ---------------------------------------------------------------- texts


def with_output(command: str, shown: str, output: str) -> str:
    """The command with its output, shortened in the same way if it is shortened."""
    before, rest, after = shown.partition(REST)
    if not rest:
        return command + output
    lines = output.splitlines(keepends=True)
    first, last = before.count("\n"), after.count("\n")
    assert len(lines) > first + last, f"{command}{output}"
    end = lines[len(lines) - last :]
    return command + "".join((*lines[:first], REST, *end))


PICTURE = re.compile(r"!\[[^\]]*\]\(([^):]+\.svg)\)")


def pictures(page: Path, session: Session) -> Iterator[tuple[Path, Path]]:
    """The pictures that the page shows, and those its commands have drawn."""
    for name in PICTURE.findall(page.read_text(encoding="utf-8")):
        if (drawn := session.root / name).exists():
            yield page.parent / name, drawn


def excerpt(text: str, source: str) -> str:
    """The same lines of a file; if they have changed, those from its first to last."""
    if text in source:
        return text
    first, *_, last = text.splitlines(keepends=True)
    lines = source.splitlines(keepends=True)
    start = lines.index(_nearest(first, lines))
    end = lines.index(_nearest(last, lines[start:]), start)
    return "".join(lines[start : end + 1])


def _nearest(line: str, lines: Sequence[str]) -> str:
    found = line if line in lines else "".join(get_close_matches(line, lines, 1))
    assert found, f"not in the file: {line}"
    return found


def _ended(text: str) -> str:
    return f"{text}\n" if text and not text.endswith("\n") else text


def _table(heads: Any, rows: Sequence[Sequence[object]]) -> str:
    names = [head[0] for head in heads or ()]
    lines = [[str(value) for value in line] for line in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [map(str.ljust, line, widths) for line in lines]
    return "".join(f"{' | '.join(line).rstrip()}\n" for line in padded)


# ---------------------------------------------------------------- the programs


def _environment(programs: Path) -> dict[str, str]:
    programs.mkdir()
    _add_program(programs / "treecompile", f'"{sys.executable}" -m treecompile')
    for name in ("python", "python3"):
        _add_program(programs / name, f'"{sys.executable}"')
    _add_program(programs / "pip", "false")  # a test installs nothing
    return {
        **os.environ,
        "HOME": str(programs.parent),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _add_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)
