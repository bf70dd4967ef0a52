"""Reads what people say about a model in `--about FILE`: title, owner, reviewers.

The rule document and the review page show it. For example:

    title = "Which penguin is it?"
    owner = "Field team"
    reviewers = ["Ada Example", {name = "Grace Example", role = "risk officer"}]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from treecompile.model.errors import OptionError
from treecompile.model.files import read_text

MOST_BYTES = 1 << 20
LONGEST = 4_000  # characters of a text
MOST_REVIEWERS = 100


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody who is to sign."""

    name: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class About:
    title: str = ""
    purpose: str = ""
    owner: str = ""
    version: str = ""
    intended_use: str = ""
    limits: str = ""
    reviewers: tuple[Reviewer, ...] = ()


NOT_SAID = About()
TEXTS = tuple(each.name for each in fields(About) if each.name != "reviewers")


def read_about(path: str | Path) -> About:
    """Read and check the file; an error names the key."""
    where = f"--about: {path}"
    text = read_text(path, OptionError, option="--about: ", most=MOST_BYTES)
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(f"{where} is not TOML: {error}") from None
    _check_keys(found, (*TEXTS, "reviewers"), where)
    said: dict[str, Any] = {
        key: _text(value, f"{where}: {key}")
        for key, value in found.items()
        if key in TEXTS
    }
    if "reviewers" in found:
        said["reviewers"] = _reviewers(found["reviewers"], f"{where}: reviewers")
    return About(**said)


def _check_keys(found: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in found:
        if key not in known:
            near = get_close_matches(key, known, 1)
            meant = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
            raise OptionError(f"{where}: there is no key {key!r}: {meant}")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{where}: expected a text in quotes")
    if len(value) > LONGEST:
        raise OptionError(f"{where}: expected at most {LONGEST:,} characters")
    return value


def _reviewers(value: Any, where: str) -> tuple[Reviewer, ...]:
    if not isinstance(value, list) or len(value) > MOST_REVIEWERS:
        raise OptionError(f"{where}: expected a list of at most {MOST_REVIEWERS} names")
    found = tuple(_reviewer(each, f"{where}[{n}]") for n, each in enumerate(value))
    names = [reviewer.name for reviewer in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise OptionError(f"{where}: {twice[0]!r} is there twice: keep one")
    return found


def _reviewer(value: Any, where: str) -> Reviewer:
    if isinstance(value, str):
        return Reviewer(_text(value, where))
    if not isinstance(value, dict) or "name" not in value:
        raise OptionError(
            f'{where}: expected a name, or {{name = "...", role = "..."}}'
        )
    _check_keys(value, ("name", "role"), where)
    said = {key: _text(each, f"{where}.{key}") for key, each in value.items()}
    return Reviewer(**said)
