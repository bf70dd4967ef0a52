"""The functions that a Python module has beside `predict`.

The constants, `predict` and `predict_values` are an example of what a generated module
has in their place. Functions are copied as they are, so this file keeps to the standard
library and to Python 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from treecompile.model.values import as_number, as_text

Answer = str  # replaced by the type of the labels
# Which version of a function is copied: whether there is a sentence for each rule in
# RULES (not STEPS and ENDS).
SENTENCES = True

FEATURES = {"sky": "str", "heat": "number"}
CLASSES = ("no", "yes")
PROBABILITIES = {"R1": (0.25, 0.75), "R2": (1.0, 0.0), "R3": (1 / 6, 5 / 6)}
RULES = {
    "R1": "R1: if sky = clear and heat <= 20 then yes [3 of 4]",
    "R2": "R2: if sky = clear and heat > 20 then no [2 of 2]",
    "R3": "R3: if sky = grey (or any other, or missing) then yes [5 of 6]",
}
STEPS = (
    (0, ""),
    (0, "sky = clear"),
    (0, "sky = grey (or any other, or missing)"),
    (1, "heat <= 20"),
    (1, "heat > 20"),
)
ENDS = {
    "R1": (3, "yes [3 of 4]"),
    "R2": (4, "no [2 of 2]"),
    "R3": (2, "yes [5 of 6]"),
}


@overload
def predict(row: Mapping[str, Any]) -> Answer: ...
@overload
def predict(row: Mapping[str, Any], rule: Literal[True]) -> str: ...
def predict(row: Mapping[str, Any], rule: bool = False) -> Any:
    return predict_values(row["sky"], row["heat"], rule=rule)


@overload
def predict_values(sky: Any, heat: Any, /) -> Answer: ...
@overload
def predict_values(sky: Any, heat: Any, /, *, rule: bool) -> Any: ...
def predict_values(sky: Any, heat: Any, /, *, rule: bool = False) -> Any:
    sky, heat = as_text("sky", sky), as_number("heat", heat)
    if sky == "clear":
        if heat > 20:
            return "R2" if rule else "no"
        return "R1" if rule else "yes"
    return "R3" if rule else "yes"


# ---------------------------------------------------------------- copied


def predict_proba(row: Mapping[str, Any]) -> dict[Answer, float]:
    """The probability of each label: its share of the training cases of the rule."""
    return dict(zip(CLASSES, PROBABILITIES[predict(row, True)]))


def predict_many(rows: Iterable[Mapping[str, Any]]) -> list[Answer]:
    """Predict each of the rows."""
    found: list[Answer] = []
    for row in rows:
        try:
            found.append(predict(row))
        except (TypeError, IndexError):
            if isinstance(row, Mapping):
                raise
            problem = f"row {len(found)} is of type {type(row).__name__}"
            raise TypeError(f"{problem}: expected a mapping") from None
    return found


def explain(row: Mapping[str, Any]) -> str:
    """The rule that decides a row, in words."""
    if SENTENCES:
        return RULES[predict(row, True)]
    else:
        rule = predict(row, True)
        step, conclusion = ENDS[rule]
        tests = []
        while step:
            step, test = STEPS[step]
            tests.append(test)
        return f"{rule}: if {' and '.join(reversed(tests))} then {conclusion}"
