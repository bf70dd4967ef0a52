"""IR -> the strings of a Python module.

The text comes out as black would print it, without running black: every condition is
one short comparison, because missing values are NaN or None here and both make a
comparison say what the law wants. `not x > 5` holds for a NaN and `x > 5` does not;
None is a member of a set like any other value.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from treecompile import values, words
from treecompile.extract import extract, outcomes
from treecompile.ir import (
    Body,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Rule,
    RuleSet,
    Tree,
    ValueType,
)
from treecompile.literals import python_literal, python_string
from treecompile.lower import Context, EmitOptions, Source
from treecompile.membership import membership
from treecompile.passes import apply_rule_passes
from treecompile.semantics import (
    asks_presence,
    conditions,
    predict,
    probabilities,
    required_features,
    threshold,
)
from treecompile.shape import rule_steps, tree_steps
from treecompile.witness import example

WIDTH = 88
NAME_WIDTH = 24  # of a local variable
INLINE_WIDTH = 24  # of a label or a set of categories within a line
# A condition is at most 62 columns wide, so this many levels fit into a line.
LEVELS = 5

CONVERTERS = {
    ValueType.FLOAT: "as_number",
    ValueType.STR: "as_text",
    ValueType.INT: "as_integer",
    ValueType.BOOL: "as_boolean",
}
PARSERS = {
    ValueType.FLOAT: "parse_number",
    ValueType.STR: "parse_text",
    ValueType.INT: "parse_integer",
    ValueType.BOOL: "parse_boolean",
}
PLAIN_NAMES = {
    ValueType.FLOAT: "number",
    ValueType.STR: "str",
    ValueType.INT: "int",
    ValueType.BOOL: "bool",
}


def lower(source: Source, options: EmitOptions) -> Context:
    """Everything that the template of the module places."""
    program = source.program
    body = program.body
    used = [body.features[position] for position in required_features(body)]
    is_classifier = bool(body.labels)
    answer_type = type(body.labels[0]).__name__ if is_classifier else "float"
    helpers = Helpers()
    helpers.need(*(CONVERTERS[f.type] for f in used))
    helpers.need(*(PARSERS[f.type] for f in used))
    code = _Code(body, answer_type, helpers.names())
    decided = outcomes(body)
    functions = code.functions(decided)
    rules = apply_rule_passes(extract(body) if isinstance(body, Tree) else body)
    explanations = {
        rule.id: words.sentence(rule, rules, program.target)
        for rule in (*rules.rules, rules.default)
    }
    reached = {rule.id for rule in decided.values()} & explanations.keys()
    return {
        "docstring": _docstring(source, rules),
        "imports": helpers.imports(),
        "model": _mapping("MODEL", _identity(source)),
        "features": _mapping(
            "FEATURES", {f.name: python_string(PLAIN_NAMES[f.type]) for f in used}
        ),
        "classes": collection(
            "CLASSES = (", [python_literal(label) for label in body.labels], ")"
        ),
        "is_classifier": is_classifier,
        "answer_type": answer_type,
        "target": _in_docstring(words.name(program.target)),
        "probabilities": [
            entry
            for rule in decided.values()
            if isinstance(rule.stats, ClassCounts)
            for entry in collection(
                f'    "{rule.id}": (', map(repr, probabilities(rule.stats)), "),", 4
            )
        ],
        "rules": [
            f'    "{identity}": {python_string(text)},'
            for identity, text in explanations.items()
            if identity in reached
        ],
        "constants": code.constants(),
        "functions": functions,
        "parsers": _mapping(
            "PARSERS", {f.name: PARSERS[f.type] for f in used}, indent=0
        ),
        "helpers": helpers.sources(),
        "blanks": collection(
            "BLANKS = (", map(python_string, ("", *program.na_values)), ")"
        ),
        "shown": "str(answer).lower()" if answer_type == "bool" else "answer",
    }


def _identity(source: Source) -> dict[str, str]:
    program = source.program
    known: dict[str, object] = {
        "name": program.target,
        "algorithm": program.algorithm,
        "version": source.version,
        "sha256": source.sha256,
        "rules": len(outcomes(program.body)),
    }
    if program.training is not None:
        known["rows"] = program.training.rows
    return {key: python_literal(value) for key, value in known.items()}


def _docstring(source: Source, rules: RuleSet) -> list[str]:
    """The head of the module, with one call that can be tried."""
    program = source.program
    target = words.name(program.target)
    count = len(outcomes(program.body))
    plural = "rule" if count == 1 else "rules"
    columns = program.training.columns if program.training else ()
    row = example(rules, columns)
    items = [
        f"{python_string(rules.features[p].name)}: {python_literal(row[p])}"
        for p in required_features(program.body)
    ]
    one_line = f">>> predict({{{', '.join(items)}}})"
    call = [one_line]
    if len(one_line) > WIDTH - 4:
        call = [">>> predict(", "...     {"]
        call += [f"...         {item}," for item in items]
        call += ["...     }", "... )"]
    lines = [
        f"Predict {target}: {count} {plural} learned by {program.algorithm}.",
        "",
        *(f"    {line}" for line in call),
        f"    {predict(program.body, row)!r}",
        "",
        f"Compiled by treecompile {source.version} from the model with SHA-256",
        f"{source.sha256}.",
        "Standard library only, Python 3.9 or later. As a script it reads a CSV file",
        "and writes it with a column of predictions: python predict.py input.csv",
    ]
    return [_in_docstring(line).rstrip() for line in lines]


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


# ---------------------------------------------------------------- layout


def collection(
    start: str, items: Iterable[str], end: str, indent: int = 0
) -> list[str]:
    """A bracketed list as black lays it out: on one line, or one item on each."""
    parts = list(items)
    comma = "," if len(parts) == 1 and start.endswith((" = (", ": (")) else ""
    line = f"{start}{', '.join(parts)}{comma}{end}"
    if len(line) <= WIDTH or not parts:
        return [line]
    inner = " " * (indent + 4)
    return [start, *(f"{inner}{part}," for part in parts), " " * indent + end]


def _mapping(name: str, items: dict[str, str], indent: int = 0) -> list[str]:
    parts = [f"{python_string(key)}: {value}" for key, value in items.items()]
    return collection(f"{name} = {{", parts, "}", indent)


# ---------------------------------------------------------------- code


@dataclass(slots=True)
class Function:
    """One function of the module, filled while its block is walked."""

    name: str
    base: int  # depth of its outermost steps
    lines: list[str] = field(default_factory=list)
    uses: set[int] = field(default_factory=set)
    caller: Function | None = None
    call_at: int = 0  # where in the caller's lines the call belongs


class _Code:
    """Writes the decision as functions of guard clauses."""

    def __init__(self, body: Body, answer_type: str, taken: Iterable[str]) -> None:
        self.body = body
        self.answer_type = answer_type
        self.variables = local_names(
            body.features, {*taken, *RESERVED}, required_features(body)
        )
        self.sets: dict[tuple[Category | None, ...], str] = {}

    def functions(self, decided: Mapping[int, Rule]) -> list[Context]:
        body = self.body
        steps = tree_steps(body) if isinstance(body, Tree) else rule_steps(body)
        root = Function("_decide", 0)
        finished = [root]
        current = root
        for step in steps:
            while step.depth < current.base:
                assert current.caller is not None
                current.caller.uses |= current.uses
                current = current.caller
            margin = " " * (4 * (step.depth - current.base) + 4)
            if step.tests:
                current.uses.update(test.feature for test in step.tests)
                current.lines += self.guard(step.tests, margin)
                margin += "    "
            if step.outcome is not None:
                rule = decided[step.outcome]
                said = words.evidence(rule.stats, rule.weight, rule.value, body.labels)
                answer = f"{margin}return {self.answer(rule.value)}, "
                current.lines += with_comment(f'{answer}"{rule.id}"', said)
            elif step.depth - current.base + 1 >= LEVELS:
                inner = Function(f"_decide_{len(finished)}", step.depth + 1)
                inner.caller, inner.call_at = current, len(current.lines)
                current.lines.append(margin)
                finished.append(inner)
                current = inner
        while current.caller is not None:
            current.caller.uses |= current.uses
            current = current.caller
        return [self.finish(function) for function in finished]

    def finish(self, function: Function) -> Context:
        names = [self.variables[p] for p in sorted(function.uses)]
        arguments = ["row: Mapping[str, Any]"]
        head: list[str] = self.reading()
        if function.caller is not None:
            margin = function.caller.lines[function.call_at]
            call = collection(
                f"{margin}return {function.name}(", names, ")", len(margin)
            )
            function.caller.lines[function.call_at] = "\n".join(call)
            arguments = [f"{name}: Any" for name in names]
            head = []
        return {
            "head": collection(
                f"def {function.name}(",
                arguments,
                f") -> tuple[{self.answer_type}, str]:",
            ),
            "lines": head + function.lines,
        }

    def reading(self) -> list[str]:
        """Fetch every required value and convert those that are not plain already."""
        lines = []
        for position, variable in self.variables.items():
            feature = self.body.features[position]
            plain = " and ".join(
                f"type({variable}) is not {kind}" for kind in self.plain_types(position)
            )
            key = python_string(feature.name)
            convert = CONVERTERS[feature.type]
            lines += [
                f"    {variable} = row[{key}]",
                f"    if {plain}:",
                f"        {variable} = {convert}({key}, {variable})",
            ]
        return lines

    def plain_types(self, position: int) -> tuple[str, ...]:
        """The types that compare by the law as they are.

        An int compares exactly with a float, the law with the int rounded to a double:
        the same below 2^53.
        """
        value_type = self.body.features[position].type
        if value_type is not ValueType.FLOAT:
            return (value_type.value,)
        small = all(
            abs(threshold(c)) < 2.0**53 or c.value == inf
            for c in conditions(self.body)
            if c.feature == position
        )
        return ("float", "int") if small else ("float",)

    def guard(self, tests: Sequence[Condition], margin: str) -> list[str]:
        texts = [self.test(test) for test in tests]
        line = f"{margin}if {' and '.join(texts)}:"
        if len(line) <= WIDTH:
            return [line]
        first, *others = texts
        inner = margin + "    "
        more = [f"{inner}and {text}" for text in others]
        return [f"{margin}if (", f"{inner}{first}", *more, f"{margin}):"]

    def test(self, test: Condition) -> str:
        feature = self.body.features[test.feature]
        variable = self.variables[test.feature]
        if feature.kind is Kind.NUMERIC:
            return number_test(variable, test)
        inside, categories, missing = membership(test, feature)
        # Missing is None, a member of the set like any other.
        chosen = (*((None,) if missing == inside else ()), *categories)
        if not chosen:
            return "False" if inside else "True"
        if len(chosen) == 1:
            only = chosen[0]
            if only is None:
                return f"{variable} is None" if inside else f"{variable} is not None"
            return f"{variable} {'==' if inside else '!='} {self.category(only, test)}"
        return f"{variable} {'in' if inside else 'not in'} {self.set(chosen, test)}"

    def category(self, category: Category, test: Condition) -> str:
        text = python_literal(category)
        return (
            text if len(text) <= INLINE_WIDTH else f"{self.named((category,), test)}[0]"
        )

    def set(self, chosen: tuple[Category | None, ...], test: Condition) -> str:
        text = f"({', '.join(map(python_literal, chosen))})"
        return text if len(text) <= INLINE_WIDTH else self.named(chosen, test)

    def named(self, chosen: tuple[Category | None, ...], test: Condition) -> str:
        if chosen not in self.sets:
            stem = self.variables[test.feature].upper().strip("_")[: NAME_WIDTH - 4]
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

    def answer(self, label: Label) -> str:
        text = python_literal(label)
        if len(text) <= INLINE_WIDTH or not self.body.labels:
            return text
        return f"CLASSES[{self.body.labels.index(label)}]"


def frozen_set(name: str, items: Sequence[str]) -> list[str]:
    line = f"{name} = frozenset({{{', '.join(items)}}})"
    if len(line) <= WIDTH:
        return [line]
    inner = f"    {{{', '.join(items)}}}"
    if len(inner) <= WIDTH:
        return [f"{name} = frozenset(", inner, ")"]
    lines = [f"        {item}," for item in items]
    return [f"{name} = frozenset(", "    {", *lines, "    }", ")"]


def with_comment(line: str, comment: str) -> list[str]:
    """A comment behind the line, or above it where the two together are too wide."""
    whole = f"{line}  # {comment}"
    if len(whole) <= WIDTH:
        return [whole]
    margin = line[: len(line) - len(line.lstrip())]
    return [f"{margin}# {comment}", line]


def number_test(variable: str, test: Condition) -> str:
    if asks_presence(test):
        return f"{variable} {'!=' if test.missing else '=='} {variable}"
    if test.value == inf:  # satisfied by every number or by none, whatever is missing
        return "True" if test.op is Op.LE else "False"
    text = repr(threshold(test))
    if test.missing:
        return f"not {variable} {'>' if test.op is Op.LE else '<='} {text}"
    return f"{variable} {test.op} {text}"


# ---------------------------------------------------------------- names

RESERVED = {
    *keyword.kwlist,
    *dir(builtins),
    *("CLASSES", "FEATURES", "MODEL", "PARSERS", "Any", "Iterable", "Mapping"),
    *(
        "csv",
        "sys",
        "row",
        "predict",
        "predict_proba",
        "predict_many",
        "explain",
        "main",
    ),
}


def local_names(
    features: Sequence[Feature], taken: set[str], positions: Iterable[int]
) -> dict[int, str]:
    """A readable variable for each feature, all different."""
    names: dict[int, str] = {}
    for position in positions:
        stem = re.sub(r"[^0-9A-Za-z]+", "_", features[position].name).strip("_").lower()
        stem = stem[: NAME_WIDTH - 4].strip("_") or "feature"
        if stem[0].isdigit():
            stem = f"x_{stem}"
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names[position] = name
    return names


# ---------------------------------------------------------------- helpers


class Helpers:
    """The functions of `values` that a module needs, with all they rest on."""

    def __init__(self) -> None:
        source = inspect.getsource(values)
        self.definitions: dict[str, tuple[str, set[str]]] = {}
        self.origins: dict[str, str] = {}
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    self.origins[alias.name] = statement.module
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    self.origins[alias.name] = ""
            elif isinstance(statement, ast.FunctionDef):
                self.define(statement.name, statement, source)
            elif isinstance(statement, ast.Assign):
                target = statement.targets[0]
                assert isinstance(target, ast.Name)
                self.define(target.id, statement, source)
        self.needed: set[str] = set()

    def define(self, name: str, statement: ast.stmt, source: str) -> None:
        text = ast.get_source_segment(source, statement)
        assert text is not None
        used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
        self.definitions[name] = text, used

    def need(self, *names: str) -> None:
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in self.needed:
                continue
            self.needed.add(name)
            if name in self.definitions:
                waiting.extend(self.definitions[name][1])

    def names(self) -> set[str]:
        return self.needed & (self.definitions.keys() | self.origins.keys())

    def sources(self) -> list[str]:
        """The functions, each behind two blank lines, constants before their user."""
        return [
            text for name, (text, _) in self.definitions.items() if name in self.needed
        ]

    def imports(self) -> list[str]:
        wanted: dict[str, set[str]] = {
            "collections.abc": {"Iterable", "Mapping"},
            "typing": {"Any"},
        }
        plain = {"csv", "sys"}
        for name in self.needed & self.origins.keys():
            module = self.origins[name]
            if module:
                wanted.setdefault(module, set()).add(name)
            else:
                plain.add(name)
        lines = [f"import {name}" for name in sorted(plain)]
        for module, names in sorted(wanted.items()):
            ordered = sorted(names, key=str.swapcase)
            lines.append(f"from {module} import {', '.join(ordered)}")
        return lines
