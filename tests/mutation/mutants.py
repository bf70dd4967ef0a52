"""Source code -> its mutants: copies with one small fault in the body of a function.

Not mutated: tables of a module, defaults and decorators (they run at import),
assertions (`strict` of zip is one), annotations, and the words of error messages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

Functions = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[ast.AST, str, int | None]  # owner, field, and position in a list

OTHER_OPERATOR: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_PAIRS = [
    ("min", "max"),
    ("any", "all"),
    ("lower", "upper"),
    ("lstrip", "rstrip"),
    ("startswith", "endswith"),
    ("partition", "rpartition"),
]
OTHER_NAME = dict(_PAIRS) | {b: a for a, b in _PAIRS}

# Of all nodes; `exc` is what a `raise` says.
NOT_MUTATED = ("annotation", "returns", "decorator_list", "format_spec", "exc")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: where it is, what it changes, and the code with it."""

    name: str  # such as: Interval.meet: low < high -> low <= high
    function: str  # the outermost function, as `co_qualname` gives it
    lines: range  # of the statement; tests that run none of them cannot notice
    place: Place
    new: ast.AST
    source: Source

    def code(self) -> CodeType:
        """The code of the outermost function, with the fault in it."""
        old = _put(self.place, self.new)
        try:
            return self.source.code_of(self.function)
        finally:
            _put(self.place, old)


class Source:
    """A file, and all its mutants in the order of the text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(text)
        self.lines = len(text.splitlines())

    def code_of(self, function: str) -> CodeType:
        return self._codes(self.tree)[function]

    def marked(self, name: str) -> dict[str, CodeType]:
        """The code of all functions, with a call of `name` before each statement.

        Its arguments are the line of the statement and 1.
        """
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        for node in list(ast.walk(tree)):
            for field, value in ast.iter_fields(node):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    calls = (ast.parse(f"{name}({s.lineno}, 1)").body[0] for s in value)
                    pairs = zip(calls, value, strict=True)
                    setattr(node, field, [each for pair in pairs for each in pair])
        tree.body = [s for s in tree.body if isinstance(s, Functions | ast.ClassDef)]
        return self._codes(tree)

    def _codes(self, tree: ast.Module) -> dict[str, CodeType]:
        """All code of a module, by qualified name."""
        tree = ast.fix_missing_locations(tree)
        waiting = [compile(tree, str(self.path), "exec")]
        for code in waiting:  # grows during the loop
            waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
        return {code.co_qualname: code for code in reversed(waiting)}

    def mutants(self) -> list[Mutant]:
        found: list[Mutant] = []
        times: dict[str, int] = {}
        for function, body in _functions(self.tree, ""):
            for place, lines in _places(body):
                for new, shown in _faults(place):
                    name = f"{function}: {_change(place, new, shown)}"
                    times[name] = times.get(name, 0) + 1
                    name += f" #{times[name]}" if times[name] > 1 else ""
                    found.append(Mutant(name, function, lines, place, new, self))
        return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Functions]]:
    """The outermost functions of a module, methods included, with their names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Functions):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _places(function: Functions) -> Iterator[tuple[Place, range]]:
    """Every place in a body where a fault may be put, with the lines around it."""
    waiting: list[tuple[Place, range]] = [
        ((function, "body", i), range(0)) for i in reversed(range(len(function.body)))
    ]
    while waiting:
        place, lines = waiting.pop()
        node = _get(place)
        if isinstance(node, ast.Assert) or _is_strict(node):
            continue
        if isinstance(node, ast.stmt):
            lines = _lines(node)
        yield place, lines
        inner: list[tuple[Place, range]] = []
        for field, value in ast.iter_fields(node):
            if field in NOT_MUTATED:
                continue
            if isinstance(value, ast.AST):
                inner.append(((node, field, None), lines))
            elif isinstance(value, list):
                for i, each in enumerate(value):
                    if isinstance(each, ast.AST):
                        inner.append(((node, field, i), lines))
        waiting += reversed(inner)


def _is_strict(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _lines(statement: ast.stmt) -> range:
    """The lines of a simple statement, or of the head of a compound one."""
    end = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if body and not isinstance(statement, ast.Match):
        end = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, end + 1)


def _faults(place: Place) -> Iterator[tuple[ast.AST, bool]]:
    """What may stand at a place instead; and whether to show it with its owner."""
    owner, field, _ = place
    node = _get(place)
    if type(node) in OTHER_OPERATOR:
        yield OTHER_OPERATOR[type(node)](), False
    match node:
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand, True
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth), False
        case ast.Constant(value=int() | float() as number):
            more = number + 1
            yield ast.Constant(more if more != number else 2 * number), False
        case ast.Constant(value=str() as text):
            if not isinstance(owner, ast.JoinedStr | ast.Expr):
                yield ast.Constant(f"XX{text}"), False
        case ast.Name(id=name) if name in OTHER_NAME:
            yield ast.Name(OTHER_NAME[name], ast.Load()), False
        case ast.Attribute(attr=name) if name in OTHER_NAME:
            yield ast.Attribute(node.value, OTHER_NAME[name], node.ctx), True
        case ast.Break():
            yield ast.Continue(), True
        case ast.Continue():
            yield ast.Break(), True
        case ast.Raise():
            yield ast.Pass(), True
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            if "super()" not in ast.unparse(value):  # or it has other free variables
                yield ast.Pass(), True
        case ast.match_case() if len(owner.cases) > 1:  # type: ignore[attr-defined]
            yield ast.match_case(node.pattern, ast.Constant(False), node.body), True
        case ast.Call(keywords=keywords):
            for i in range(len(keywords)):
                if _is_strict(keywords[i]):
                    continue
                fewer = keywords[:i] + keywords[i + 1 :]
                yield ast.Call(node.func, node.args, fewer), True
    is_bare = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    if is_bare and field in ("test", "ifs"):
        yield ast.UnaryOp(ast.Not(), node), True  # type: ignore[arg-type]


def _get(place: Place) -> ast.AST:
    owner, field, position = place
    value: Any = getattr(owner, field)
    found: ast.AST = value if position is None else value[position]
    return found


def _put(place: Place, new: ast.AST) -> ast.AST:
    """Put a node at a place, and give back what was there."""
    owner, field, position = place
    old = _get(place)
    if position is None:
        setattr(owner, field, new)
    else:
        getattr(owner, field)[position] = new
    return old


def _change(place: Place, new: ast.AST, is_whole: bool) -> str:
    """The text before and after; of operators and constants, with what is around."""
    shown = _get(place) if is_whole else place[0]
    before = _short(shown)
    old = _put(place, new)
    after = _short(new if is_whole else place[0])
    _put(place, old)
    return f"{before} -> {after}"


def _short(node: ast.AST) -> str:
    if isinstance(node, ast.match_case):
        return ast.unparse(node).splitlines()[0].strip()
    return ast.unparse(ast.fix_missing_locations(node)).replace("\n", " ").strip()
