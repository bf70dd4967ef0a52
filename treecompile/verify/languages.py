"""Runs an artefact of a language: builds it with the driver of its target, and asks it.

The driver reads one row a line: a field for each column that is read, between tabs.
Empty is missing; otherwise `=` and the value, in text %41 for A. Its answers are lines,
too: the value, then the id of the rule or the margins of a forest, then the
probabilities. The artefact's own files are used as they are.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from treecompile.emit import header
from treecompile.emit.compiler import driver, emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.spelling import Spelling
from treecompile.emit.targets import read_target
from treecompile.model import ir
from treecompile.model.errors import EngineError, OptionError, TargetError
from treecompile.model.files import read_text
from treecompile.model.semantics import required_features, type_of_labels
from treecompile.verify.processes import RefusedError, execute

SINGLE_FILE = "artefact"  # how the driver knows the artefact of a target without `file`


def read_artefact(path: Path, most: int) -> tuple[str, dict[str, str]]:
    """Read an artefact, and the other files of a language of several files.

    The path is that of the artefact, of one of these files, or of their folder.
    """
    read = partial(read_text, error=OptionError, most=most)
    folder = path if path.is_dir() else path.parent
    for each in sorted(path.iterdir()) if path.is_dir() else [path]:
        try:
            said = header.read(read(each))
        except OptionError:
            if path.is_dir():
                continue  # a folder, or the program that was built
            raise
        target = read_target(said.target) if said else None
        if target and target.file:
            others = [name for name in target.beside if (folder / name).is_file()]
            return read(folder / target.file), {n: read(folder / n) for n in others}
    if path.is_dir():
        raise OptionError(
            f"{path}: no file in this folder says that it is an artefact of several"
            " files: name the artefact itself"
        )
    return read(path), {}


def run_language(
    program: ir.AnyProgram,
    text: str,
    beside: Mapping[str, str],
    target: str,
    options: EmitOptions,
    rows: Sequence[ir.Row],
    timeout: float,
) -> tuple[list[ir.Row], list[tuple[Any, ...]]]:
    """Return the rows that the language can hold, and the answers to them.

    `beside` are the other files of the artefact; those that are not given are emitted.
    """
    described, body = read_target(target), program.body
    language = str(described.spelling["language"]["name"])
    columns = [(index, body.features[index].type) for index in required_features(body)]
    write = _writer(Spelling(described))
    held, lines = [], []
    for row in rows:
        fields = [write(row[index], kind) for index, kind in columns]
        if None not in fields:
            held.append(row)
            lines.append("\t".join(map(str, fields)) + "\n")
    files = {described.driver.removesuffix(".jinja"): driver(program, target, options)}
    if set(described.beside) - set(beside):
        files |= emit(program, target, options).files
    files |= {name: beside[name] for name in described.beside if name in beside}
    files[described.file or f"{SINGLE_FILE}{described.suffix}"] = text
    with tempfile.TemporaryDirectory(prefix="treecompile-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_text(content, encoding="utf-8")
        given, answers = folder / "rows.txt", folder / "answers.txt"
        given.write_text("".join(lines), encoding="ascii")
        if described.build:
            _build(_command(described.build, language), folder, timeout)
        run = _command(described.run, language)
        execute(run, folder, timeout, given, answers)
        said = answers.read_text("utf-8", errors="replace").split("\n")[:-1]
    if len(said) != len(held):
        raise RefusedError(f"it gave {len(said)} answers for {len(held)} rows")
    return held, [_answer(line, body) for line in said]


def _command(text: str, language: str) -> list[str]:
    """Return the words of a command whose program is installed, or made by `build`."""
    first, *others = shlex.split(text)
    found = first if first.startswith("./") else shutil.which(first)
    if found is None:
        raise EngineError(
            f"there is no program {first!r}, so {language} cannot be verified here:"
            " install it, and try again"
        )
    return [found, *others]


def _build(command: Sequence[str], folder: Path, timeout: float) -> None:
    try:
        execute(command, folder, timeout)
    except RefusedError as error:
        said = (folder / "errors.txt").read_text("utf-8", errors="replace").split("\n")
        first = next((line for line in said if "error" in line), str(error))
        raise RefusedError(f"it cannot be built: {first}") from None


# ---------------------------------------------------------------- values as text


def _writer(spelling: Spelling) -> Callable[[ir.Value, ir.ValueType], str | None]:
    """Return a function that writes a value; None if the language cannot hold it."""

    @cache
    def written(is_whole: bool, value: ir.Value, kind: ir.ValueType) -> str | None:
        text = {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), str(value))
        if isinstance(value, str):
            text = quote(value, safe="", errors="surrogatepass")
        elif kind is ir.ValueType.BOOL:
            text = str(int(value or 0))
        try:
            if value is not None and kind in (ir.ValueType.STR, ir.ValueType.INT):
                spelling.literal(value)
        except TargetError:
            return None
        return f"={text}"

    return lambda value, kind: (
        # 1 and 1.0 would be one key of the cache.
        ""
        if value is None
        else written(isinstance(value, int), value, kind)
    )


def _answer(line: str, body: ir.AnyBody) -> tuple[Any, ...]:
    """Read the label, the rule or the margins of a forest, and the probabilities."""
    label, *others = line.split("\t")
    reasons: list[Any] = others[:1]
    try:
        if isinstance(body, ir.Forest):
            reasons = list(map(float, others[: len(body.start)]))
        shares = map(float, others[len(reasons) :])
        return _value(unquote(label), body.labels), *reasons, *shares
    except ValueError:
        raise RefusedError(f"an answer has an unexpected form: {line!r}") from None


def _value(text: str, labels: tuple[ir.Label, ...]) -> ir.Label:
    """Read a label or a number; what is neither stays text, and differs from both."""
    kind = type_of_labels(labels) if labels else ir.ValueType.FLOAT
    try:
        if kind is ir.ValueType.BOOL:
            return {"0": False, "1": True}.get(text, text)
        if kind is ir.ValueType.INT:
            return int(text) if str(int(text)) == text else text
        return text if kind is ir.ValueType.STR else float(text)
    except ValueError:
        return text
