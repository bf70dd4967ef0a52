"""Run a Python module that may be hostile, in an interpreter of its own.

The process gets nothing of ours: an empty environment, an empty folder, no standard
input. Its time, memory and files are limited. It exchanges rows and answers with us as
files, so nothing it prints can be taken for an answer. This keeps a faulty module from
doing harm, but it is not a jail: the module can do what the user can do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from treecompile.model.ir import Feature, Row
from treecompile.verify.statements import RefusedError

TIMEOUT = 600.0  # seconds for one run of an artefact
MOST_MEMORY = 8 << 30  # bytes of address space
MOST_OUTPUT = 1 << 30  # bytes of each file that the process writes
MESSAGE = 10_000  # bytes at the end of standard error that may hold the reason

# Loads the module in argv[1] and reads rows from argv[2]. `limits` is argv[4].
LOADER = """
import importlib.util, json, sys
try:
    import resource
except ImportError:  # Windows
    pass
else:
    for name, most in json.loads(sys.argv[4]).items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(which, (most, most))
spec = importlib.util.spec_from_file_location("artefact", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["artefact"] = module
spec.loader.exec_module(module)
with open(sys.argv[2], encoding="ascii") as file:
    rows = json.load(file)
names = [*rows[0]] or ["other"]  # columns without any could not say how many rows
columns = {name: [row.get(name) for row in rows] for name in names}
"""

SAVE = """
with open(sys.argv[3], "w", encoding="ascii") as file:
    json.dump(answers, file)
"""

# Writes [answer, probabilities, explanation] for each row to argv[3]. JSON keeps the
# types of values apart, and doubles exact.
RUNNER = f"""{LOADER}
predict_proba = getattr(module, "predict_proba", lambda row: {{}})
answers = []
several = zip(module.predict_many(rows), module.predict_columns(columns))
for row, others in zip(rows, several):
    answer = module.predict(row)
    for other in others:
        if type(other) is not type(answer) or other != answer:
            raise SystemExit("predict and its plural forms disagree on %r" % (row,))
    answers.append([answer, list(predict_proba(row).values()), module.explain(row)])
{SAVE}"""

NEEDS_NUMPY = "import numpy as np"  # only in a module that takes whole columns

# The same for such a module.
NUMPY_RUNNER = f"""{LOADER}
import numpy
for name, values in columns.items():
    columns[name] = numpy.empty(len(rows), dtype=object)
    columns[name][:] = values
labels = module.predict(columns).tolist()
shares = [[]] * len(rows)
if hasattr(module, "predict_proba"):
    shares = module.predict_proba(columns).tolist()
answers = [list(answer) for answer in zip(labels, shares, module.rules(columns))]
{SAVE}"""


@dataclass(frozen=True, slots=True)
class PythonAnswer:
    """What a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    rule: str


def run_python(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    timeout: float = TIMEOUT,
) -> list[PythonAnswer]:
    """The answers of a module; only one that needs NumPy gets site packages."""
    if not rows:
        return []
    options, code = ["-I", "-S"], RUNNER
    if NEEDS_NUMPY in text:
        options, code = ["-I"], NUMPY_RUNNER
    names = [feature.name for feature in features]
    mappings = [dict(zip(names, row, strict=True)) for row in rows]
    with tempfile.TemporaryDirectory(prefix="treecompile-") as name:
        folder = Path(name)
        module, given, answers = (
            folder / file for file in ("artefact.py", "rows.json", "answers.json")
        )
        module.write_text(text, encoding="utf-8", errors="surrogatepass")
        given.write_text(json.dumps(mappings), encoding="ascii")
        files = [str(path) for path in (module, given, answers)]
        limits = {
            "RLIMIT_AS": MOST_MEMORY,
            "RLIMIT_FSIZE": MOST_OUTPUT,
            # For a module that outlives us, since we end it after `timeout` ourselves.
            "RLIMIT_CPU": ceil(timeout) * (os.cpu_count() or 1) + 1,
        }
        execute([*options, "-c", code, *files, json.dumps(limits)], folder, timeout)
        return _answers(answers, len(rows))


def execute(arguments: Sequence[str], folder: Path, timeout: float) -> None:
    """Run an interpreter to its end, or raise RefusedError with the reason."""
    errors = folder / "errors.txt"
    with open(errors, "wb") as said:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise RefusedError(not_in_time(timeout)) from None
    finally:
        _end(process)
    if status < 0:
        with suppress(ValueError):
            raise RefusedError(f"it was ended by {signal.Signals(-status).name}")
    if status:
        raise RefusedError(_last_line(errors) or "it ended without a message")


def not_in_time(timeout: float) -> str:
    return f"it did not end within {timeout:g} seconds (see --timeout)"


def _environment() -> dict[str, str]:
    """Empty, but for what Windows needs to start a process."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all those that it has started in its group."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _last_line(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MESSAGE))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _answers(path: Path, rows: int) -> list[PythonAnswer]:
    """What a module has answered, if it is one answer for each row."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RefusedError("it ended before it gave an answer") from None
    except (ValueError, RecursionError):
        raise RefusedError("its answers cannot be read") from None
    if not isinstance(found, list) or len(found) != rows:
        count = len(found) if isinstance(found, list) else "no"
        raise RefusedError(f"it gave {count} answers for {rows} rows")
    return [_answer(record) for record in found]


def _answer(record: Any) -> PythonAnswer:
    match record:
        case [label, [*shares], str(said)]:
            return PythonAnswer(label, tuple(shares), said.partition(":")[0])
    raise RefusedError(f"an answer has an unexpected form: {record!r}")
