"""Runs generated JavaScript on Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from treecompile.emit.compiler import emit
from treecompile.model.ir import Program

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
    """The module without its exports, to be a part of a larger script."""
    return emit(program, "javascript").text.replace("\nexport ", "\n")
