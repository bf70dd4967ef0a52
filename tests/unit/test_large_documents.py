"""The rule document of a tree of 100,000 leaves, with all of its rules."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.samples import ROOT

LEAVES = 100_000
SCRIPT = """
import json
from resource import RUSAGE_SELF, getrusage
from time import process_time

from tests.support.random_models import large_tree
from treecompile import Model
from treecompile.model.ir import Program

model = Model(Program("y", "cart", large_tree({leaves})))
model.sha256
seconds, sizes = {{}}, {{}}
for target, options in (("python", {{}}), ("markdown", {{"full": True}})):
    before, began = getrusage(RUSAGE_SELF).ru_maxrss, process_time()
    text = model.emit(target, **options)
    seconds[target] = process_time() - began
    sizes[target] = (len(text), 1024 * (getrusage(RUSAGE_SELF).ru_maxrss - before))
rules = text.count("\\n| R")
print(json.dumps([seconds, sizes, rules]))
"""


@pytest.mark.large
def test_a_document_takes_little_longer_than_the_code() -> None:
    """Both write every rule once or twice; the document has twice as much text."""
    script = SCRIPT.format(leaves=LEAVES)
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    seconds, sizes, rules = json.loads(run.stdout)
    assert rules > 0.99 * LEAVES  # without leaves that no row can reach
    assert seconds["markdown"] < 4 * seconds["python"]
    length, memory = sizes["markdown"]
    assert memory < 15 * length
