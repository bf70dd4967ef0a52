"""The decision as Python: functions of guard clauses, and the table of a tree.

Every condition is one short comparison. Missing numbers are NaN: `not x > 5` holds for
them and `x > 5` does not. Other missing values are None, which can be in a set like any
other value. A tree that divides unknown values also has a flat table, which rows with
such a value walk.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from treecompile.emit.literals import identifiers, python_literal, python_string
from treecompile.emit.lowering import form_of
from treecompile.emit.python.layout import (
    WIDTH,
    call,
    collection,
    condition,
    frozen_set,
    subscript,
    with_comment,
)
from treecompile.emit.steps import decision_steps
from treecompile.emit.targets import ByType
from treecompile.model import ir, words
from treecompile.model.paths import DIVIDED, divisible, unknown
from treecompile.model.semantics import membership, required_features, threshold

NAME_WIDTH = 24  # maximum length of a local variable
INLINE_WIDTH = 24  # maximum length of a label or a set of categories inside a line

CONVERTERS = ByType("as_number", "as_text", "as_integer", "as_boolean")
NUMBER_TESTS = {
    "at_most": "{x} <= {value}",
    "at_most_or_missing": "not {x} > {value}",
    "above": "{x} > {value}",
    "above_or_missing": "not {x} <= {value}",
    "missing": "{x} != {x}",
    "known": "{x} == {x}",
    "always": "True",
    "never": "False",
}


@dataclass(slots=True)
class FunctionText:
    """A function of the module, filled while the steps are written."""

    name: str  # _predict_1
    base: int  # depth of its outermost steps
    caller: FunctionText | None = None
    call_at: int = 0  # the line of the caller that will be the call
    uses: set[int] = field(default_factory=set)  # features
    # For the template, which writes the head of `predict` itself:
    head: list[str] = field(default_factory=list)  # def _predict_1(heat: Any, ...
    lines: list[str] = field(default_factory=list)  # '    if heat > 20:', ...


class DecisionCode:
    """Writes the decision as functions of guard clauses.

    `taken` has the names that no local variable may have.
    """

    def __init__(self, body: ir.Body, taken: Iterable[str]) -> None:
        self.body = body
        self.variables = identifiers(
            body, {*taken, *RESERVED}, NAME_WIDTH - 4, lower=True
        )
        self.sets: dict[tuple[ir.Category | None, ...], str] = {}
        self.steps = list(decision_steps(body))
        asked = dict.fromkeys(test for step in self.steps for test in step.tests)
        self.texts = {test: self.test(test) for test in asked}
        self.large = {
            test.feature
            for test in self.texts
            if isinstance(test.value, float) and 2.0**53 <= abs(test.value) < inf
        }
        widest = max(map(len, self.texts.values()), default=0)
        self.levels = max(1, (WIDTH - len("if :") - widest) // 4 - 1)

    def functions(self, decided: Mapping[int, ir.Rule]) -> list[FunctionText]:
        """`predict` first, then the functions that continue it."""
        body = self.body
        current = FunctionText("predict", 0)
        found = [current]
        for step in self.steps:
            while step.depth < current.base:
                assert current.caller is not None
                current = current.caller
            margin = " " * (4 * (step.depth - current.base) + 4)
            if step.tests:
                current.uses.update(test.feature for test in step.tests)
                texts = [self.texts[test] for test in step.tests]
                current.lines += condition(texts, margin)
                margin += "    "
            if step.outcome is not None:
                rule = decided[step.outcome]
                said = words.evidence(rule, body.labels)
                answer = self.answer(rule.value)
                line = f'{margin}return "{rule.id}" if rule else {answer}'
                current.lines += with_comment(line, said)
            elif step.depth - current.base + 1 >= self.levels:
                caller, depth = current, step.depth + 1
                current = FunctionText(
                    f"_predict_{len(found)}", depth, caller, len(caller.lines)
                )
                caller.lines.append(margin)
                found.append(current)
        for function in reversed(found):  # the innermost first: see `finish`
            self.finish(function)
        return found

    def finish(self, function: FunctionText) -> None:
        """Write the head of a function, and its call into its caller."""
        caller = function.caller
        if caller is None:
            function.lines = self.reading() + self.division() + function.lines
            return
        caller.uses |= function.uses
        names = [*(self.variables[i] for i in sorted(function.uses)), "rule"]
        margin = caller.lines[function.call_at]
        line = call(f"{margin}return {function.name}(", names, ")", len(margin))
        caller.lines[function.call_at] = "\n".join(line)
        arguments = [f"{name}: Any" for name in names]
        function.head = call(f"def {function.name}(", arguments, ") -> Any:")

    def reading(self) -> list[str]:
        """Fetch every required value, and convert it unless it has a plain type."""
        lines = []
        for index, variable in self.variables.items():
            feature = self.body.features[index]
            plain = self.plain_types(index)
            key = python_string(feature.name)
            convert = CONVERTERS.of(feature.type)
            lines += subscript(f"    {variable} = row", key, 4)
            lines += condition([f"type({variable}) is not {t}" for t in plain], "    ")
            arguments = [key, variable]
            lines += call(f"        {variable} = {convert}(", arguments, ")", 8)
        return lines

    def division(self) -> list[str]:
        """Send a row with an unknown value to `divided`, if the tree divides it."""
        if not divisible(self.body):
            return []
        features = self.body.features
        tests = [self.test(unknown(index, features[index])) for index in self.variables]
        returned = f"        return {DIVIDED}(row, rule)"
        return [*condition(tests, "    ", "or"), returned]

    def plain_types(self, index: int) -> tuple[str, ...]:
        """The types that need no conversion before they are compared.

        Python compares an int with a float exactly; the semantics rounds the int to a
        double first. Below 2^53 the results are the same.
        """
        value_type = self.body.features[index].type
        if value_type is not ir.ValueType.FLOAT:
            return (value_type.value,)
        return ("float",) if index in self.large else ("float", "int")

    def test(self, test: ir.Condition) -> str:
        feature = self.body.features[test.feature]
        variable = self.variables[test.feature]
        if feature.kind is ir.Kind.NUMERIC:
            name, _ = form_of(test, feature)
            value = python_literal(test.value)
            return NUMBER_TESTS[name].format(x=variable, value=value)
        inside, categories, missing = membership(test, feature)
        # A missing value is None, which can be in the set like any other.
        chosen = (*((None,) if missing == inside else ()), *categories)
        return self.member_test(inside, chosen, test.feature)

    def member_test(
        self, inside: bool, chosen: tuple[ir.Category | None, ...], index: int
    ) -> str:
        variable = self.variables[index]
        if not chosen:
            return "False" if inside else "True"
        if chosen == (None,):
            return f"{variable} is None" if inside else f"{variable} is not None"
        literals = ", ".join(map(python_literal, chosen))
        if len(chosen) == 1:
            operator, text, item = ("==" if inside else "!="), literals, "[0]"
        else:
            operator, text, item = ("in" if inside else "not in"), f"({literals})", ""
        if len(text) > INLINE_WIDTH:
            text = f"{self.named(chosen, index)}{item}"
        return f"{variable} {operator} {text}"

    def named(self, chosen: tuple[ir.Category | None, ...], index: int) -> str:
        """The constant for a set of categories that is too long for a line: TOWN_1."""
        if chosen not in self.sets:
            stem = self.variables[index].upper().strip("_")[: NAME_WIDTH - 4]
            self.sets[chosen] = f"{stem}_{len(self.sets) + 1}"
        return self.sets[chosen]

    def constants(self) -> list[str]:
        lines = []
        for chosen, name in self.sets.items():
            items = [python_literal(category) for category in chosen]
            if len(chosen) == 1:
                lines += collection(f"{name} = (", items, ")")
            else:
                lines += frozen_set(name, items)
        return lines

    def answer(self, label: ir.Label) -> str:
        text = python_literal(label)
        if len(text) <= INLINE_WIDTH or not self.body.labels:
            return text
        return f"CLASSES[{self.body.labels.index(label)}]"


RESERVED = {
    *keyword.kwlist,
    *dir(builtins),
    *("csv", "divided", "explain", "main", "overload", "predict", "predict_columns"),
    *("predict_many", "predict_proba", "row", "rule", "score", "sys"),
}


# ---------------------------------------------------------------- dividing


def readers(body: ir.Body) -> Iterator[str]:
    """For each required feature, its converter and its categories, if it has any."""
    for index in required_features(body):
        feature = body.features[index]
        known = "None"
        if feature.kind is not ir.Kind.NUMERIC:
            items = ", ".join(map(python_literal, feature.categories))
            known = f"frozenset({{{items}}})"
        convert = CONVERTERS.of(feature.type)
        yield f"    {python_string(feature.name)}: ({convert}, {known}),"


def node_table(tree: ir.Tree, decided: Mapping[int, ir.Rule]) -> Iterator[str]:
    """The rule of a leaf, or (column, choice, children, weights) of a split."""
    columns = {index: column for column, index in enumerate(required_features(tree))}
    for position, node in enumerate(tree.nodes):
        if not isinstance(node, ir.Split):
            yield f'    "{decided[position].id}",'
            continue
        column = columns[node.branches[0].when.feature]
        children = ", ".join(str(branch.then) for branch in node.branches)
        weights = ", ".join(repr(branch.weight) for branch in node.branches)
        yield f"    ({column}, {_choice(node, tree)}, ({children}), ({weights})),"


def _choice(split: ir.Split, tree: ir.Tree) -> str:
    """How a known value chooses its branch.

    A threshold and the number of the low branch: `20.0, 0`; or the branches of the
    named categories and the branch of all others: `{"clear": 0}, 1`.
    """
    feature = tree.features[split.branches[0].when.feature]
    if feature.kind is ir.Kind.NUMERIC:
        low = next(b for b in split.branches if b.when.op is ir.Op.LE)
        limit = repr(threshold(low.when))  # `inf` is imported for as_number
        return f"{limit}, {split.branches.index(low)}"
    items, others = [], []
    for place, branch in enumerate(split.branches):
        inside, chosen, _ = membership(branch.when, feature)
        if inside:
            items += [f"{python_literal(category)}: {place}" for category in chosen]
        else:
            others.append(place)
    (rest,) = others
    return f"{{{', '.join(items)}}}, {rest}"
