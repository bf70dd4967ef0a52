"""The functions that a Python module has beside `predict`.

The constants, `predict` and `predict_values` are an example of what a generated module
has in their place. Functions are copied as they are, so this file keeps to the standard
library and to Python 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from treecompile.model.values import (
    as_number,
    as_text,
)

Answer = str  # replaced by the type of the labels
Decided = Any  # replaced by str if the labels are texts, like the ids of rules
# Which version of a function is copied: whether there are labels, a sentence for each
# rule in RULES (not STEPS and ENDS), a tree that divides.
CLASSIFIES = True
SENTENCES = True
DIVIDES = True

FEATURES = {"sky": "str", "heat": "number"}
CLASSES = ("no", "yes")
PROBABILITIES = {"R1": (0.25, 0.75), "R2": (1.0, 0.0), "R3": (1 / 6, 5 / 6)}
RULES = {
    "R1": "R1: if sky = clear and heat <= 20 then play = yes (3 of 4 cases)",
    "R2": "R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)",
    "R3": "R3: if sky = grey (or any other, or missing) then play = yes (5 of 6 cases)",
}
STEPS = (
    (0, ""),
    (0, "sky = clear"),
    (0, "sky = grey (or any other, or missing)"),
    (1, "heat <= 20"),
    (1, "heat > 20"),
)
ENDS = {
    "R1": (3, "play = yes (3 of 4 cases)"),
    "R2": (4, "play = no (2 of 2 cases)"),
    "R3": (2, "play = yes (5 of 6 cases)"),
}
NAMES = ("sky", "heat")
CONCLUSIONS = ("play = no", "play = yes")
CONCLUSION = "hours = "  # of a regression
READERS: dict[str, Any] = {
    "sky": (as_text, frozenset({"clear", "grey"})),
    "heat": (as_number, None),
}
NODES: list[Any] = [
    (0, {"clear": 0}, 1, (1, 2), (6.0, 6.0)),
    (1, 20.0, 0, (3, 4), (4.0, 2.0)),
    "R3",
    "R1",
    "R2",
]
EXPLAINED = 10  # maximum number of rules in an explanation


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
    return divided((sky, heat), rule)


# ---------------------------------------------------------------- copied


def predict_proba(row: Mapping[str, Any]) -> dict[Answer, float]:
    """The probability of each label: its share of the training cases of the rule."""
    if DIVIDES:
        rule = predict(row, True)
        if rule == "divided":
            return dict(zip(CLASSES, mixed(reached(row[name] for name in FEATURES))))
        return dict(zip(CLASSES, PROBABILITIES[rule]))
    else:
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


# ---------------------------------------------------------------- copied if it divides
# The guard clauses of `predict` are the fast path, for rows whose values are all known.
# Any other row walks the tree as a table, from which its explanation is made too.


def explain_divided(row: Mapping[str, Any]) -> str:
    """The rule that decides a row, in words; if several do, each with its share."""
    rule = predict(row, True)
    if rule != "divided":
        return sentence(rule)
    found = reached(row[name] for name in FEATURES)
    shares = mixed(found)
    if CLASSIFIES:
        said = f"{CONCLUSIONS[shares.index(max(shares))]} ({100 * max(shares):.1f} %)"
    else:
        said = CONCLUSION + repr(shares[0])
    unknown = sorted({NODES[node][0] for node in found if len(found[node]) > 1})
    names = ", ".join(NAMES[column] for column in unknown)
    lines = [f"divided: {said}, shared by these rules; unknown: {names}"]
    parts = parts_of(found)
    for part, rule in parts[:EXPLAINED]:
        lines.append(f"  {100 * part:.1f} % {sentence(rule)}")
    rest = len(parts) - EXPLAINED
    if rest > 0:
        lines.append(f"  and {rest} more with smaller shares")
    return "\n".join(lines)


def parts_of(found: Mapping[int, tuple[int, ...]]) -> list[tuple[float, str]]:
    """The rules that share a decision, the greatest share first."""
    parts = {0: 1.0}
    for node in sorted(found):
        taken = found[node]
        weights = NODES[node][4] if len(taken) > 1 else (1.0,)
        total = sum(weights)
        for child, weight in zip(taken, weights):
            parts[child] = parts[node] * weight / total
    leaves = [(parts[node], NODES[node]) for node in found if not found[node]]
    return sorted((leaf for leaf in leaves if leaf[0]), key=lambda leaf: -leaf[0])


def divided(given: Iterable[Any], rule: bool) -> Decided:
    """The answer to values of which some are missing or were never seen."""
    found = reached(given)
    if rule:
        leaves = [NODES[node] for node in found if not found[node]]
        return leaves[0] if len(leaves) == 1 else "divided"
    shares = mixed(found)
    if CLASSIFIES:
        return CLASSES[shares.index(max(shares))]
    else:
        return shares[0]


def reached(given: Iterable[Any]) -> dict[int, tuple[int, ...]]:
    """The nodes that a row's values reach, each with the nodes that follow it."""
    values: list[Any] = []
    for value, (name, (convert, known)) in zip(given, READERS.items()):
        value = convert(name, value)
        is_known = value == value if known is None else value in known
        values.append(value if is_known else None)
    found: dict[int, tuple[int, ...]] = {}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        found[node] = ()
        if isinstance(NODES[node], str):
            continue
        column, choice, place, children, _ = NODES[node]
        value = values[column]
        if value is None:
            found[node] = children
        elif isinstance(choice, dict):
            found[node] = (children[choice.get(value, place)],)
        else:
            found[node] = (children[place if value <= choice else 1 - place],)
        waiting.extend(reversed(found[node]))
    return found


def mixed(found: Mapping[int, tuple[int, ...]]) -> tuple[float, ...]:
    """The shares of a row: those of the branches, weighted, from the leaves upwards."""
    leaves: Mapping[str, tuple[float, ...]] = PROBABILITIES
    shares: dict[int, tuple[float, ...]] = {}
    for node in sorted(found, reverse=True):
        taken = found[node]
        if not taken:
            shares[node] = leaves[NODES[node]]
        elif len(taken) == 1:
            shares[node] = shares[taken[0]]
        else:
            sums, total = [0.0] * len(shares[taken[0]]), 0.0
            for child, weight in zip(taken, NODES[node][4]):
                total += weight
                for place, share in enumerate(shares[child]):
                    sums[place] += weight * share
            shares[node] = tuple(part / total for part in sums)
    return shares[0]


def sentence(rule: str) -> str:
    """A rule in words."""
    if SENTENCES:
        return RULES[rule]
    else:
        step, conclusion = ENDS[rule]
        tests = []
        while step:
            step, test = STEPS[step]
            tests.append(test)
        return f"{rule}: if {' and '.join(reversed(tests))} then {conclusion}"
