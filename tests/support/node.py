"""Runs generated JavaScript on Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from treecompile.emit.javascript.lower import decision_script
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.targets import read_target
from treecompile.model.ir import Program
from treecompile.verify import node_process
from treecompile.verify.processes import RefusedError

NODE = shutil.which("node")
needs_node = pytest.mark.engine

# What JSON does not have: undefined and BigInt as text, Map and Set as arrays.
RESULT = """
console.log(JSON.stringify({}, (key, value) =>
  value === undefined || typeof value === "bigint" || Object.is(value, -0)
    ? `${{typeof value}} ${{Object.is(value, -0) ? "-0" : value}}`
    : value instanceof Map || value instanceof Set ? [...value] : value));
"""
# What each function throws.
FAILURES = """[predict, decide, predictProba, explain].map((asked) => {{
  try {{
    asked({});
    return "nothing";
  }} catch (error) {{
    return String(error);
  }}
}})"""


# Runs what it is told in lines of JSON, and replies in such lines.
WORKER = f"""{node_process.FUNCTIONS}
import {{ createInterface }} from "node:readline";
for await (const line of createInterface({{ input: process.stdin }})) {{
  const told = await run(...parse(line)).then(() => "", reason);
  console.log(stringify(told));
}}
"""


@contextmanager
def in_one_process() -> Iterator[None]:
    """Verify many modules without starting Node.js for each."""
    assert NODE is not None
    with subprocess.Popen(
        [NODE, "--input-type=module", "-e", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        asked, replies = worker.stdin, worker.stdout

        def execute(command: Sequence[str], folder: Path, timeout: float) -> None:
            asked.write(json.dumps(command[-3:]) + "\n")
            asked.flush()
            if told := json.loads(replies.readline()):
                raise RefusedError(told)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_process, "execute", execute)
            yield
        asked.close()


def run(script: str, kind: str = "module") -> str:
    """What a script prints."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, f"--input-type={kind}", "-"],
        input=script.encode(errors="surrogatepass"),
        capture_output=True,
        timeout=120,
    )
    assert not done.returncode, done.stderr.decode()
    return done.stdout.decode()


def evaluated(*asked: tuple[Program, str]) -> list[Any]:
    """The values of expressions, each behind the decision of a program."""
    parts = (f"(() => {{\n{script(p)}\nreturn ({text});\n}})()" for p, text in asked)
    found: list[Any] = json.loads(run(RESULT.format(f"[{', '.join(parts)}]")))
    return found


def thrown(*asked: tuple[Program, str]) -> list[list[str]]:
    """What the functions of each program throw for a row, as text."""
    return evaluated(*((program, FAILURES.format(row)) for program, row in asked))


def script(program: Program) -> str:
    target = read_target("javascript")
    return decision_script(CompilerInput(program, "", "", target))
