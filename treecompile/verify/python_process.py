"""Runs a Python module in an interpreter of its own."""

from __future__ import annotations

import json
import marshal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treecompile.model.ir import Feature, Row
from treecompile.verify.processes import TIMEOUT, RefusedError, execute

# Loads the module in argv[1] and reads rows from argv[2].
# Writes [answer, rule, *probabilities] for each row to argv[3]; the module of a
# forest has margins instead of a rule. JSON keeps the types of values apart,
# and doubles exact.
RUNNER = """
import gc, importlib.util, json, marshal, sys
gc.disable()  # it would look at all rows again and again
spec = importlib.util.spec_from_file_location("artefact", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["artefact"] = module
spec.loader.exec_module(module)
with open(sys.argv[2], "rb") as file:
    names, rows = marshal.load(file)
rows = [dict(zip(names, row)) for row in rows]
is_forest = hasattr(module, "margin")
predict_proba = getattr(module, "predict_proba", lambda row: {})
several = iter(module.predict_many(rows))
answers = []
for row in rows:
    answer = module.predict(row)
    other = next(several, None)
    if other is None:
        break  # too few answers
    by_position, reason = module.decide(*[row[name] for name in module.FEATURES])
    if is_forest:
        said, margins = module.margin(row), reason
        said = list(said.values()) if isinstance(said, dict) else [said]
        agree = said == (list(margins) if isinstance(margins, tuple) else [margins])
    else:
        said = [module.explain(row).partition(":")[0]]  # the rest may be long
        agree = said == [reason]
    for each in (other, by_position):
        agree = agree and type(each) is type(answer) and each == answer
    if not agree:
        raise SystemExit("predict and its other forms disagree on %r" % (row,))
    answers.append([answer, *said, *predict_proba(row).values()])
forms = {
    "predict": module.predict,
    "decide": lambda row: module.decide(*[row[n] for n in module.FEATURES]),
}
for name in module.FEATURES:
    row = dict(rows[0], **{name: []})
    for told, form in forms.items():
        try:
            form(row)
        except TypeError as error:
            if str(error).startswith("%r is []: expected " % (name,)):
                continue
        raise SystemExit("%s does not refuse [] as the value of %r" % (told, name))
with open(sys.argv[3], "w", encoding="ascii") as file:
    file.write(json.dumps(answers))
"""


def run_python(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    timeout: float = TIMEOUT,
) -> list[tuple[Any, ...]]:
    """Return the answers of a module, which sees no site packages.

    They are the label, the rule or the margins of a forest, and the probabilities.
    """
    if not rows:
        return []
    names = [feature.name for feature in features]
    with tempfile.TemporaryDirectory(prefix="treecompile-") as name:
        module, given, answers = (
            Path(name, file) for file in ("artefact.py", "rows.marshal", "answers.json")
        )
        module.write_text(text, encoding="utf-8")
        values: Any = (names, list(rows))
        given.write_bytes(marshal.dumps(values))
        files = [str(path) for path in (module, given, answers)]
        command = [sys.executable, "-I", "-S", "-c", RUNNER, *files]
        execute(command, Path(name), timeout)
        if not answers.exists():
            raise RefusedError("it ended before it gave an answer")
        found = list(map(tuple, json.loads(answers.read_bytes())))
    if len(found) != len(rows):
        raise RefusedError(f"it gave {len(found)} answers for {len(rows)} rows")
    return found
