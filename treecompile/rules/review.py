"""Reads review.json: who accepted or rejected which rule, and if that still holds.

The review page writes the file, and people may write it, too. A verdict is bound to its
rule by the rule's seal. So it survives renumbering, but a rule that has been edited
since has to be reviewed again. The verdict on the whole is bound to the SHA-256 of the
model. The format is published as `docs/review.schema.json`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from treecompile.model.errors import ModelFileError, ReviewError
from treecompile.model.file import checks
from treecompile.model.file.write import sha256
from treecompile.model.files import read_bytes
from treecompile.model.ir import Program, Tree
from treecompile.model.paths import DEFAULT_ID
from treecompile.rules.seals import DIGITS, matches, seals

FORMAT = "treecompile review 1"
MOST_BYTES = 1 << 26
MODEL = re.compile("[0-9a-f]{64}")
SEAL = re.compile(f"[0-9a-f]{{{DIGITS}}}")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class State(StrEnum):
    """What a reviewer said about a rule or the whole."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Verdict:
    seal: str  # the seal of the rule; for the whole, the SHA-256 of the model
    state: State
    comment: str
    by: str  # may be "" while it is open
    date: str  # 2026-11-17, as the reviewer said; may be "" while it is open


@dataclass(frozen=True, slots=True)
class Review:
    target: str
    whole: Verdict
    rules: Mapping[str, Verdict]  # by the id that the rule had in the review


# ---------------------------------------------------------------- reading


def read_review(path: str | Path) -> Review:
    """Read and check a review file."""
    data = read_bytes(path, ReviewError, most=MOST_BYTES)
    try:
        return loads(data)
    except ReviewError as error:
        raise ReviewError(f"{path}: {error}") from None


def loads(data: bytes | str) -> Review:
    try:
        return _review(checks.parsed(data, "a review"))
    except ModelFileError as error:  # raised by readers that model files share
        raise ReviewError(str(error)) from None


def _review(record: Any) -> Review:
    checks.as_object(record, "the file")
    if record.get("format") != FORMAT:
        raise ReviewError(
            f'not a review: "format" is not "{FORMAT}": save it again from review.html'
        )
    readers: dict[str, checks.PartReader] = {
        "format": checks.text,
        "model": _model,
        "target": checks.text,
        "reviewer": checks.text,
        "date": _date,
        "decision": _decision,
        "rules": checks.as_object,
    }
    checks.keys(record, readers, "the file")
    parts: list[Any] = [read(record[key], key) for key, read in readers.items()]
    _, model, target, reviewer, day, (state, comment), rules = parts
    whole = Verdict(model, state, comment, reviewer, day)
    _check_signed(whole, "decision", "reviewer", "date")
    return Review(target, whole, {name: _verdict(rules, name) for name in rules})


def _decision(item: Any, where: str) -> list[Any]:
    return checks.fields(item, where, {"state": _state, "comment": checks.text})


def _verdict(rules: Mapping[str, Any], name: str) -> Verdict:
    where = f"rules.{checks.text(name, 'rules')}"
    readers: dict[str, checks.PartReader] = {
        "seal": _seal,
        "state": _state,
        "comment": checks.text,
        "by": checks.text,
        "date": _date,
    }
    verdict = Verdict(*checks.fields(rules[name], where, readers))
    _check_signed(verdict, where, f"{where}.by", f"{where}.date")
    return verdict


def _check_signed(verdict: Verdict, where: str, by: str, day: str) -> None:
    """Nobody accepts or rejects without a name and a date."""
    if verdict.state is State.OPEN:
        return
    for place, said in ((by, verdict.by.strip()), (day, verdict.date)):
        if not said:
            raise ReviewError(
                f"{where} is {verdict.state}, and {place} is empty: say who and when"
            )


def _state(item: Any, where: str) -> State:
    expected = ", ".join(State)
    return checks.member(item, State, f"{where}: expected one of {expected}")


def _model(item: Any, where: str) -> str:
    if not MODEL.fullmatch(checks.text(item, where)):
        raise ReviewError(f"{where}: expected the SHA-256 of a model, 64 digits")
    return str(item)


def _seal(item: Any, where: str) -> str:
    if not SEAL.fullmatch(checks.text(item, where)):
        raise ReviewError(f"{where}: expected {DIGITS} digits from 0 to f")
    return str(item)


def _date(item: Any, where: str) -> str:
    said = checks.text(item, where)
    try:
        if said:
            date.fromisoformat(said if DAY.fullmatch(said) else "")
    except ValueError:
        raise ReviewError(
            f"{where}: {said!r} is not a date: write it as 2026-11-17"
        ) from None
    return said


# ---------------------------------------------------------------- what still holds


class Standing(StrEnum):
    """What a verdict is worth today."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CHANGED = "changed"  # accepted or rejected, but edited since
    OPEN = "open"
    STRUCK = "struck"  # accepted or rejected, but no longer there


@dataclass(frozen=True, slots=True)
class Reviewed:
    rule: str  # its id today, or its last; "" for the whole
    standing: Standing
    verdict: Verdict | None = None  # None: nobody has looked at it


def standings(
    review: Review, program: Program, models: Collection[str] = ()
) -> list[Reviewed]:
    """Return what a review is worth today: for each rule, struck ones, and the whole.

    `models` are further hashes by which the reviewer may know the same rules: a
    document that was not edited is the model that it was made from.
    """
    if review.target != program.target:
        raise ReviewError(
            f"the review is of a model that predicts {review.target!r}, and this one"
            f" predicts {program.target!r}: choose the review of this model"
        )
    now = seals(program)
    if isinstance(program.body, Tree):
        del now[DEFAULT_ID]  # no row comes to it
    taken = matches(now, {name: each.seal for name, each in review.rules.items()})
    entries = [
        _entry(rule, seal, review.rules.get(taken.get(rule, "")))
        for rule, seal in now.items()
    ]
    rest = (name for name in review.rules if name not in set(taken.values()))
    struck = [
        Reviewed(name, Standing.STRUCK, review.rules[name])
        for name in rest
        if review.rules[name].state is not State.OPEN
    ]
    return [*entries, *struck, _whole(review.whole, {sha256(program), *models})]


def _entry(rule: str, seal: str, verdict: Verdict | None) -> Reviewed:
    if verdict is None or verdict.state is State.OPEN:
        return Reviewed(rule, Standing.OPEN, verdict)
    if verdict.seal != seal:
        return Reviewed(rule, Standing.CHANGED, verdict)
    return Reviewed(rule, Standing(verdict.state.value), verdict)


def _whole(verdict: Verdict, models: Collection[str]) -> Reviewed:
    if verdict.state is not State.OPEN and verdict.seal not in models:
        return Reviewed("", Standing.CHANGED, verdict)
    return Reviewed("", Standing(verdict.state.value), verdict)


def still_open(entries: Iterable[Reviewed]) -> Iterator[Reviewed]:
    """Return what is not accepted yet; a struck rule needs no verdict."""
    done = (Standing.ACCEPTED, Standing.STRUCK)
    return (entry for entry in entries if entry.standing not in done)


def refused(entries: Iterable[Reviewed]) -> Iterator[Reviewed]:
    """Yield what keeps a model from being built: rejected, or edited after a verdict.

    A verdict on the whole that was given about another model is merely out of date.
    """
    for entry in entries:
        is_stale = entry.standing is Standing.CHANGED and entry.rule
        if entry.standing is Standing.REJECTED or is_stale:
            yield entry
