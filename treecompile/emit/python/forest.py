"""Lowers a forest to a Python module with guard clauses for each tree.

The text comes out as black formats it, without running black.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.guards import FunctionText, GuardClauses
from treecompile.emit.literals import identifiers, python_literal, python_string
from treecompile.emit.lower import lower as lower_tree
from treecompile.emit.lowering import ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.python.decision import (
    RESERVED,
    VARIABLE_WIDTH,
    DecisionCode,
    set_constants,
)
from treecompile.emit.python.layout import (
    WIDTH,
    call,
    call_by_row,
    collection,
    in_docstring,
    mapping,
    signature,
)
from treecompile.emit.python.lower import (
    IMPORTED,
    ReadColumns,
    example_calls,
)
from treecompile.emit.runtime import forests as runtime
from treecompile.emit.runtime import rows
from treecompile.emit.runtime.source import copied
from treecompile.model import forests, ir, words


@dataclass(frozen=True, slots=True)
class ForestModule:
    """The strings of the module of a forest; a list has one line in each entry."""

    docstring: list[str]  # "Predict price: a sum of 100 trees, by LightGBM.", ...
    imports: list[str]  # "from math import exp, nan", ...
    model: list[str]  # MODEL = {"name": "price", "algorithm": "LightGBM", ...}
    features: list[str]  # FEATURES = {"heat": "number", "sky": "str"}
    classes: list[str]  # CLASSES = ("no", "yes"); nothing for a regression
    constants: list[str]  # CUT = 0.0, TOWN_1 = frozenset({"Athens", "Berlin", ...})
    first: list[str]  # "def predict(row: ...", "def margin(row: ...", ...
    target: str  # price
    interface: list[str]  # "def predict_values(heat: Any, /) -> float:"
    call_by_position: list[str]  # its body: "    found = sums(heat)", ...
    call_by_name: list[str]  # the body of `margins`: '    return sums(row["heat"])'
    head: list[str]  # "def sums(heat: Any, /) -> tuple[float, ...]:"
    sums: list[str]  # its body: "    m0 = 0.5", "    m0 += _tree_1(heat)"
    runtime: list[str]  # the other functions: "def predict_many(...", ...
    trees: list[FunctionText]  # each with its head and its lines
    helpers: list[str]  # "def as_number(...", ...


def lower(source: ForestInput, options: EmitOptions) -> Lowered:
    program = source.program
    forest = program.body
    read = ReadColumns.of(program)
    used, helpers = read.used, read.helpers
    answer_type = type(forest.labels[0]).__name__ if forest.labels else "float"
    code = ForestCode(forest, helpers.names)
    names = list(code.variables.values())
    flags = {
        "ONE_SUM": len(forest.start) == 1,
        "ROUNDS": forest.arithmetic is ir.Arithmetic.SINGLE,
    }
    target = in_docstring(words.name(program.target))
    renamed = {"Answer": answer_type, "TARGET": target, **VERSIONS}
    first, others = functions(forest)
    math = ["nan"] * bool(forest.zero_is_missing)
    if "power" in others:
        math += ["exp", *["log1p"] * (forest.link is ir.Link.SOFTPLUS)]
    imports = IMPORTED | ({"math": set(math)} if math else {})
    module = ForestModule(
        docstring=_docstring(source),
        imports=helpers.imports(imports),
        model=mapping("MODEL", _identity(source)),
        features=read.features(),
        classes=classes(forest),
        constants=[*constants(forest, others), *set_constants(code.sets)],
        first=copied(runtime, first, flags, renamed),
        target=target,
        interface=signature("def predict_values(", names, f") -> {answer_type}:"),
        call_by_position=[
            *call("    found = sums(", names, ")", 4),
            "    return answer(found)",
        ],
        call_by_name=call_by_row(
            "    return sums(", (python_string(f.name) for f in used), ")"
        ),
        head=signature("def sums(", names, ") -> tuple[float, ...]:"),
        sums=code.sums(),
        runtime=[
            *copied(runtime, others, flags, renamed),
            *copied(rows, ["predict_many"], replaced={"Answer": answer_type}),
        ],
        trees=list(code.trees()),
        helpers=helpers.texts(),
    )
    return Lowered(module)


VERSIONS = {
    f"{name}__{version}": name
    for name, versions in {
        "margin": ("one", "several"),
        "answer": ("by_cut", "by_greatest", "number"),
        "linked": [link.value for link in ir.Link],
    }.items()
    for version in versions
}


def functions(forest: ir.Forest) -> tuple[list[str], list[str]]:
    """Return the functions that users call and those behind them, by runtime names."""
    several = len(forest.start) > 1
    first = ["predict", "margin__several" if several else "margin__one"]
    others = ["answer__by_greatest" if several else "answer__by_cut"]
    links = bool(forest.labels) and forest.link is not ir.Link.NONE
    if not forest.labels:
        others, links = ["answer__number"], True
    if forest.labels and links:
        first.append("predict_proba")
    if links:
        others.append(f"linked__{forest.link}")
        is_plain = forest.link is ir.Link.IDENTITY and (several or not forest.labels)
        others += ["rounded"] * (not is_plain)
        others += ["power"] * (not forests.is_exact(forest))
    is_single = forest.arithmetic is ir.Arithmetic.SINGLE
    return first, [*others, *["single"] * is_single]


def classes(forest: ir.Forest) -> list[str]:
    """Return the constant CLASSES of a classifier."""
    labels = map(python_literal, forest.labels)
    return collection("CLASSES = (", labels, ")") if forest.labels else []


def constants(forest: ir.Forest, used: Sequence[str]) -> Iterator[str]:
    """Yield the numbers that the functions in use need for the answer."""
    if forest.cut is not None:
        yield f"CUT = {forest.cut!r}  # of the margin: the second label is above it"
    if forest.link is ir.Link.LOGISTIC:
        yield f"SLOPE = {forest.slope!r}"
    if "power" in used:
        yield f"LARGEST = {forests.largest_power(forest)!r}  # that is exponentiated"


def _identity(source: ForestInput) -> dict[str, str]:
    program = source.program
    known = {
        "name": program.target,
        "algorithm": program.algorithm,
        "version": source.version,
        "sha256": source.sha256,
        "trees": len(program.body.members),
    }
    return {key: python_literal(value) for key, value in known.items()}


def _docstring(source: ForestInput) -> list[str]:
    program, forest = source.program, source.program.body
    row: ir.Row = tuple(
        0.0 if feature.kind is ir.Kind.NUMERIC else feature.categories[0]
        for feature in forest.features
    )
    answer = forests.answer(forest, forests.margins(forest, row))
    trees = words.quantity(len(forest.members), "tree")
    lines = [
        f"Predict {words.name(program.target)}: a sum of {trees}, by"
        f" {words.name(program.algorithm)}.",
        "",
        *(f"    {line}" for line in example_calls(forest, row, answer)),
        "",
        f"Compiled by treecompile {source.version} from the model with SHA-256",
        f"{source.sha256}.",
        *textwrap.wrap(exactness(forest), WIDTH),
        "Standard library only, Python 3.9 or later.",
    ]
    return [in_docstring(line).rstrip() for line in lines]


def exactness(forest: ir.Forest) -> str:
    """Say in a sentence what the module computes exactly as the model does."""
    bits = "32" if forest.arithmetic is ir.Arithmetic.SINGLE else "64"
    rest = "; the last digit of the answer may differ"
    if forests.is_exact(forest):
        rest = ", and so is all that follows from it"
    elif forest.labels:
        rest = ", and so is the label; the last digit of a probability may differ"
    return (
        f"The trees are added in their order, in {bits} bits: `margin` is exactly that"
        f" of the model{rest}."
    )


# ---------------------------------------------------------------- code


class ForestCode:
    """Writes the sums and the trees."""

    def __init__(self, forest: ir.Forest, taken: frozenset[str] | set[str]) -> None:
        self.forest = forest
        reserved = {
            *taken,
            *RESERVED,
            *dir(runtime),
            *self.sum_names(forest),
            "found",
            "nan",
        }
        self.variables = identifiers(forest, reserved, VARIABLE_WIDTH, lower=True)
        self.sets: dict[tuple[str, ...], str] = {}
        self.codes = [
            TreeCode(member, number, self.variables, self.sets)
            for number, member in enumerate(forest.members, start=1)
        ]
        self.made = [code.functions() for code in self.codes]

    @staticmethod
    def sum_names(forest: ir.Forest) -> list[str]:
        return [f"m{place}" for place in range(len(forest.start))]

    def sums(self) -> list[str]:
        """Return the body of `sums`."""
        forest = self.forest
        names = self.sum_names(forest)
        lines = self.checks()
        is_single = forest.arithmetic is ir.Arithmetic.SINGLE
        lines += [
            f"    {name} = {start!r}"
            for name, start in zip(names, forest.start, strict=True)
        ]
        for made, code, member in zip(
            self.made, self.codes, forest.members, strict=True
        ):
            lines += code.addition(
                made[0], [names[k] for k in member.outputs], is_single
            )
        for place, name in enumerate(names):
            for operator, number in self.last_operations(place):
                text = f"{name} {operator} {number!r}"
                lines.append(f"    {name} = {f'single({text})' if is_single else text}")
        # Adding 0.0 makes -0.0 positive.
        total = ", ".join(f"{name} + 0.0" for name in names)
        end = "," * (len(names) == 1)
        return [*lines, *collection("    return (", [total + end], ")", 4)]

    def last_operations(self, place: int) -> Iterator[tuple[str, float]]:
        forest = self.forest
        if forest.divisor != 1:
            yield "/", forest.divisor
        if forest.scale != 1:
            yield "*", forest.scale
        if forest.offset:
            yield "+", forest.offset[place]

    def checks(self) -> list[str]:
        """Convert every required value unless it has a plain type."""
        lines = []
        large = set().union(*(code.large for code in self.codes))
        for index, variable in self.variables.items():
            feature = self.forest.features[index]
            lines += DecisionCode.check(feature, variable, index in large)
            if index in self.forest.zero_is_missing:
                lines += [
                    f"    if -{forests.ZERO!r} <= {variable} <= {forests.ZERO!r}:",
                    f"        {variable} = nan",
                ]
        return lines

    def trees(self) -> Iterator[FunctionText]:
        for made, code in zip(self.made, self.codes, strict=True):
            made[0].head = code.head(made[0])
            yield from made


class TreeCode(DecisionCode):
    """Writes one tree as functions that return what its leaves add."""

    def __init__(
        self,
        member: ir.Member,
        number: int,
        variables: Mapping[int, str],
        sets: dict[tuple[str, ...], str],
    ) -> None:
        self.values = member.values
        self.first = f"_tree_{number}"
        self.following = f"_tree_{number}_"
        arms = list(lower_tree(member.tree))
        GuardClauses.__init__(self, member.tree, variables, arms, {}, sets)
        self.large = self.large_features()

    def returned(self, rule: ir.Rule, margin: str) -> list[str]:
        assert isinstance(rule.value, int)
        added = self.values[rule.value]
        if len(added) == 1:
            return [f"{margin}return {added[0]!r}"]
        return collection(f"{margin}return (", map(repr, added), ")", len(margin))

    def arguments(self, function: FunctionText) -> list[str]:
        return [self.variables[index] for index in sorted(function.uses)]

    def head(self, function: FunctionText) -> list[str]:
        arguments = [f"{name}: Any" for name in self.arguments(function)]
        one = "float" if len(self.values[0]) == 1 else "tuple[float, ...]"
        return call(f"def {function.name}(", arguments, f") -> {one}:")

    def finish(self, function: FunctionText) -> None:
        GuardClauses.finish(self, function)

    def addition(
        self, function: FunctionText, sums: Sequence[str], is_single: bool
    ) -> list[str]:
        """Return the lines that add the tree to its sums."""
        arguments = self.arguments(function)
        if len(sums) == 1:
            start, end = f"    {sums[0]} += {function.name}(", ")"
            if is_single:
                start, end = (
                    f"    {sums[0]} = single({sums[0]} + {function.name}(",
                    "))",
                )
            return call(start, arguments, end, 4)
        lines = call(f"    added = {function.name}(", arguments, ")", 4)
        for place, name in enumerate(sums):
            text = f"{name} + added[{place}]"
            lines.append(f"    {name} = {f'single({text})' if is_single else text}")
        return lines
