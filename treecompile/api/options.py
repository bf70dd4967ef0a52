"""The options of learning as Python has them: keywords, mappings, one name or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from treecompile.data import DataOptions
from treecompile.errors import OptionError
from treecompile.ir import Label
from treecompile.learn_options import LearnOptions
from treecompile.learners.weighting import BALANCED

FORMS = ("one_hot", "class_weight", "prior")


def sort_options(
    function: str, target: str, options: Mapping[str, Any]
) -> tuple[DataOptions, LearnOptions]:
    """The options of `learn`, by name, put where they belong."""
    rest = dict(options)
    columns = DataOptions(
        target=target,
        task=rest.pop("task", None),
        labels=tuple(rest.pop("labels", ())),
        na_values=several(rest.pop("na_value", ())),
        categorical=several(rest.pop("categorical", ())),
        numeric=several(rest.pop("numeric", ())),
        ordinal=tuple((n, tuple(o)) for n, o in rest.pop("ordinal", {}).items()),
        ignore=several(rest.pop("ignore", ())),
        weights=rest.pop("weights", ""),
    )
    forms = {name: rest.pop(name) for name in FORMS if name in rest}
    rest |= counting(**forms)
    if "costs" in rest:
        rest["costs"] = tuple((rest["costs"] or {}).items())
    known = {field.name for field in fields(LearnOptions)}
    for name in rest:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return columns, LearnOptions(**rest)


def counting(
    one_hot: bool | str | Sequence[str] = (),
    class_weight: Mapping[Label, float] | str | None = None,
    prior: Mapping[Label, float] | None = None,
) -> dict[str, Any]:
    """What may be given in several forms, as LearnOptions has it."""
    balanced = class_weight == BALANCED
    if isinstance(class_weight, str) and not balanced:
        raise OptionError(
            f"class_weight {class_weight!r}: expected a mapping or {BALANCED!r}"
        )
    weights = class_weight if isinstance(class_weight, Mapping) else {}
    return {
        "one_hot": () if isinstance(one_hot, bool) else several(one_hot),
        "one_hot_all": one_hot is True,
        "class_weight": tuple(weights.items()),
        "balanced": balanced,
        "prior": tuple((prior or {}).items()),
    }


def several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
