"""Runs a Python module in an interpreter of its own."""

from __future__ import annotations

import marshal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treecompile.model.ir import Feature, Row
from treecompile.verify.processes import TIMEOUT, ModuleAnswer, execute, records

# Loads the module in argv[1] and reads rows from argv[2].
# Writes [answer, probabilities, explanation] for each row to argv[3]; the module of a
# forest has margins instead of an explanation. JSON keeps the types of values apart,
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
predict_proba = getattr(module, "predict_proba", lambda row: {})
explain = getattr(module, "explain", None) or (lambda row: list(module.margins(row)))
by_position = getattr(module, "predict_values", None)  # older modules have none
several = iter(module.predict_many(rows))
answers = []
for row in rows:
    answer = module.predict(row)
    other = next(several, None)
    if other is None:
        break  # too few answers
    others = [other]
    said = explain(row)
    agree = True
    if isinstance(said, str):
        said = said.partition(":")[0]  # the rule; the rest may be long
    if by_position:
        values = [row[name] for name in module.FEATURES]
        others.append(by_position(*values))
        agree = type(said) is list or by_position(*values, rule=True) == said
    for other in others:
        agree = agree and type(other) is type(answer) and other == answer
    if not agree:
        raise SystemExit("predict and its other forms disagree on %r" % (row,))
    answers.append([answer, list(predict_proba(row).values()), said])
forms = {
    "predict": module.predict,
    "predict_values": lambda row: by_position(*[row[n] for n in module.FEATURES]),
}
for name in module.FEATURES if by_position else ():
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
) -> list[ModuleAnswer]:
    """Return the answers of a module, which sees no site packages."""
    if not rows:
        return []
    names = [feature.name for feature in features]
    with tempfile.TemporaryDirectory(prefix="treecompile-") as name:
        folder = Path(name)
        module, given, answers = (
            folder / file for file in ("artefact.py", "rows.marshal", "answers.json")
        )
        module.write_text(text, encoding="utf-8", errors="surrogatepass")
        values: Any = (names, list(rows))
        given.write_bytes(marshal.dumps(values))
        files = [str(path) for path in (module, given, answers)]
        command = [sys.executable, "-I", "-S", "-c", RUNNER, *files]
        execute(command, folder, timeout)
        return records(answers, len(rows))
