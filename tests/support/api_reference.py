"""The reference of the Python API in docs/python.md, from signatures and docstrings.

It stands between `<!-- reference -->` and `<!-- end -->`. `python -m tests.record_docs`
writes it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

import treecompile
from tests.support.option_tables import table
from tests.support.samples import ROOT
from treecompile.api.building import Built
from treecompile.api.explanation import Explanation
from treecompile.inspect.check import Check, Finding
from treecompile.inspect.diff import Diff, Difference
from treecompile.learning.cross_validation import CrossValidation, Fold
from treecompile.learning.pruning import PruningStep
from treecompile.measure.quality import Evaluation, RuleQuality
from treecompile.model.ir import ClassQuality, RuleTally, ValueQuality
from treecompile.verify.verification import Mismatch, Report

PAGE = ROOT / "docs" / "python.md"
MARKED = re.compile(r"(?s)<!-- reference -->\n.*?<!-- end -->")
FUNCTIONS = (
    *("learn", "build", "load", "import_model", "from_lightgbm", "from_xgboost"),
    *("from_sklearn", "cross_validate", "diff"),
)
RESULTS = [  # what functions and methods return
    *(Built, Report, Mismatch, Evaluation, ClassQuality, ValueQuality),
    *(RuleQuality, RuleTally, Check, Finding, Diff, Difference),
    *(CrossValidation, Fold, PruningStep, Explanation),
]
HIDDEN = ("self", "feedback")  # parameters
FIELD = re.compile(r"(?m)^    (\w+): ([^=#\n]+?)(?: = [^#\n]+)?(?:  # (.*))?$")
WIDTH = 88


def reference() -> str:
    return "\n".join(_parts()).strip() + "\n"


def _parts() -> Iterator[str]:
    yield "## Functions\n"
    for name in FUNCTIONS:
        yield from _function(f"treecompile.{name}", getattr(treecompile, name))
    yield "## Model\n"
    yield _markdown(treecompile.Model)
    for name, member in vars(treecompile.Model).items():
        if not name.startswith("_"):
            yield from _member(name, member)
    yield "## Table\n"
    yield _markdown(treecompile.Table)
    yield "## Results\n"
    for kind in RESULTS:
        yield f"### {kind.__name__}\n"
        yield _markdown(kind)
        yield _fields(kind)
    yield "## Errors\n"
    yield _errors()


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    yield f"### {name.rpartition('.')[2]}\n"
    yield f"<!-- generated -->\n```python\n{_signature(name, function)}\n```\n"
    yield _markdown(function)


def _member(name: str, member: object) -> Iterator[str]:
    if isinstance(member, property | cached_property):
        yield f"### {name}\n"
        yield _markdown(member)
    elif isinstance(member, FunctionType):
        yield from _function(f"model.{name}", member)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """As it is written in the source, without the keywords that `help` shows."""
    function = inspect.unwrap(function)
    assert isinstance(function, FunctionType)
    plain = FunctionType(function.__code__, {}, name, function.__defaults__)
    plain.__kwdefaults__ = function.__kwdefaults__
    plain.__annotations__ = function.__annotations__
    given = inspect.signature(plain).parameters.values()
    shown, is_keyword_only = [], False
    for each in given:
        if each.name in HIDDEN:
            continue
        if each.kind is each.KEYWORD_ONLY and not is_keyword_only:
            shown.append("*")
        is_keyword_only |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        shown.append(_parameter(each))
    result = str(function.__annotations__["return"])
    line = f"{name}({', '.join(shown)}) -> {result}"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"    {each},\n" for each in shown)
    return f"{name}(\n{inner}) -> {result}"


def _parameter(each: inspect.Parameter) -> str:
    if each.kind is each.VAR_KEYWORD:
        return "**options"
    stars = "*" if each.kind is each.VAR_POSITIONAL else ""
    text = f"{stars}{each.name}: {each.annotation}"
    return text if each.default is each.empty else f"{text} = {each.default!r}"


def _markdown(documented: object) -> str:
    """The docstring, with its examples as code blocks."""
    text = inspect.cleandoc(getattr(documented, "__doc__", None) or "") + "\n"
    assert not re.match(r"\w+\(", text), f"{documented} has no docstring"
    return re.sub(r"(?m)^>>> (?:.+\n)+", r"```python\n\g<0>```\n", text)


def _fields(kind: type) -> str:
    source = inspect.getsource(kind).partition("\n    def ")[0]
    rows = [
        [f"`{name}`", f"`{_escaped(type_)}`", _escaped(comment)]
        for name, type_, comment in FIELD.findall(source)
    ]
    for name, member in vars(kind).items():
        if isinstance(member, property) and not name.startswith("_"):
            returned = inspect.signature(member.fget).return_annotation  # type: ignore[arg-type]
            text = " ".join((member.__doc__ or "").split())
            rows.append([f"`{name}`", f"`{_escaped(returned)}`", _escaped(text)])
    return table(["field", "type", "meaning"], rows)


def _escaped(text: str) -> str:
    return text.replace("ir.", "").replace("|", "\\|")


def _errors() -> str:
    names = [name for name in treecompile.__all__ if name.endswith("Error")]
    rows = [
        [f"`{n}`", inspect.cleandoc(getattr(treecompile, n).__doc__)] for n in names
    ]
    return table(["error", "meaning"], rows)


def written(page: str) -> str:
    """The page with the reference as it must be."""
    assert len(MARKED.findall(page)) == 1
    made = f"<!-- reference -->\n{reference()}<!-- end -->"
    return MARKED.sub(lambda _: made, page)
