"""review.json: read strictly, and held against what the rules say today."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import treecompile
from tests.support.reviews import accepting, review_of
from treecompile.model.errors import ReviewError, TreecompileError
from treecompile.model.file.write import sha256
from treecompile.model.ir import NotedProgram, Program, RuleSet
from treecompile.rules.language import document
from treecompile.rules.review import (
    Standing,
    loads,
    read_review,
    refused,
    standings,
    still_open,
)
from treecompile.rules.seals import matches, seals

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "review.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

RULES = """
TARGET play IN {no, yes}
FEATURE heat NUMERIC
FEATURE wind IN {calm, storm}

R1: IF wind = storm THEN no
R2: IF heat > 20 THEN yes
R3: IF heat > 10 AND wind = calm THEN yes
OTHERWISE no
"""


def rules(text: str = RULES) -> Program:
    found: NotedProgram = document.loads(text)
    return found.program


def held(review: dict[str, Any], program: Program) -> dict[str, Standing]:
    found = standings(loads(json.dumps(review)), program)
    return {entry.rule: entry.standing for entry in found}


# ---------------------------------------------------------------- reading


def test_a_review_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "review.json"
    written = review_of(rules(), R2="rejected")
    VALIDATOR.validate(written)
    path.write_text(json.dumps(written), "utf-8-sig")
    found = read_review(path)
    assert found.target == "play"
    assert (found.whole.by, found.whole.date) == ("Ada Example", "2026-11-17")
    assert found.whole.comment == "fine as a whole"
    assert found.rules["R2"].comment == "about R2"
    assert found.rules["R2"].state == "rejected"
    assert list(found.rules) == ["R2"]


def test_a_name_and_a_date_may_be_absent_while_it_is_open() -> None:
    written = review_of(rules(), R1="open")
    written |= {
        "reviewer": "",
        "date": "",
        "decision": {"state": "open", "comment": ""},
    }
    written["rules"]["R1"] |= {"by": "", "date": ""}
    VALIDATOR.validate(written)
    assert held(written, rules())["R1"] is Standing.OPEN


DAMAGES: dict[str, tuple[tuple[str, ...], Any, str]] = {
    "format": (("format",), "treecompile review 2", "not a review"),
    "model": (("model",), "abc", "model: expected the SHA-256"),
    "upper": (("model",), "A" * 64, "model: expected the SHA-256"),
    "line": (("model",), "a" * 64 + "\n", "model: expected the SHA-256"),
    "target": (("target",), 7, "target: expected str"),
    "reviewer": (("reviewer",), None, "reviewer: expected str"),
    "nobody": (("reviewer",), "  ", "decision is accepted, and reviewer is empty"),
    "date": (("date",), "17.11.2026", "date: '17.11.2026' is not a date"),
    "day": (("date",), "2026-02-30", "date: '2026-02-30' is not a date"),
    "time": (("date",), "2026-11-17T10:00", "is not a date"),
    "digits": (("date",), "٢٠٢٦-11-17", "is not a date"),
    "no date": (("date",), "", "decision is accepted, and date is empty"),
    "decision": (("decision",), "accepted", "decision: expected an object"),
    "state": (("decision", "state"), "ok", "decision.state: expected one of accepted"),
    "list": (("decision", "state"), [], "decision.state: expected one of accepted"),
    "rules": (("rules",), [], "rules: expected an object"),
    "rule": (("rules", "R1"), None, "rules.R1: expected an object"),
    "seal": (("rules", "R1", "seal"), "0" * 15, "rules.R1.seal: expected 16 digits"),
    "comment": (("rules", "R1", "comment"), 1, "rules.R1.comment: expected str"),
    "half": (("rules", "R1", "comment"), "\ud800", "rules.R1.comment: '\\ud800'"),
    "by": (("rules", "R1", "by"), "", "rules.R1 is accepted, and rules.R1.by is empty"),
    "more": (("extra",), 1, "the key 'extra' is unknown"),
    "more of a rule": (("rules", "R1", "id"), 1, "rules.R1: the key 'id' is unknown"),
    "more of all": (("decision", "by"), "x", "decision: the key 'by' is unknown"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_review_is_one_line_of_error(damage: str) -> None:
    (*way, last), value, said = DAMAGES[damage]
    written = review_of(rules(), R1="accepted")
    place: Any = written
    for key in way:
        place = place[key]
    place[last] = value
    with pytest.raises(ReviewError) as caught:
        loads(json.dumps(written))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", review_of(rules()))
def test_every_key_is_needed(key: str) -> None:
    written = review_of(rules())
    del written[key]
    with pytest.raises(ReviewError, match=f'"{key}"'):
        loads(json.dumps(written))
    assert not VALIDATOR.is_valid(written)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "not a review"),
        (b"[]", "the file: expected an object"),
        (b"null", "the file: expected an object"),
        (b"{", "not a review"),
        (b'{"a": 1, "a": 2}', "an object has a key twice"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 10_000, "an integer of thousands of digits"),
        (b'{"format": "\xff"}', "not a review"),
    ],
)
def test_a_file_of_anything_is_one_line_of_error(
    text: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(text)
    with pytest.raises(ReviewError) as caught:
        read_review(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_is_no_review(tmp_path: Path) -> None:
    path = ROOT / "examples" / "tennis" / "out" / "model.json"
    with pytest.raises(ReviewError, match='"format" is not "treecompile review 1"'):
        read_review(path)
    with pytest.raises(ReviewError, match="cannot read"):
        read_review(tmp_path / "none.json")


def test_every_error_of_a_review_has_the_common_root() -> None:
    assert issubclass(ReviewError, TreecompileError)
    assert treecompile.TreecompileError is TreecompileError


# ---------------------------------------------------------------- what still holds


def test_all_is_accepted() -> None:
    program = rules()
    entries = standings(loads(json.dumps(accepting(program))), program)
    assert {entry.standing for entry in entries} == {Standing.ACCEPTED}
    assert [entry.rule for entry in entries] == ["R1", "R2", "R3", "default", ""]
    assert not [*still_open(entries), *refused(entries)]


def test_rules_that_nobody_looked_at_are_open() -> None:
    program = rules()
    review = loads(json.dumps(review_of(program, R1="accepted", R2="open")))
    entries = standings(review, program)
    assert [entry.rule for entry in still_open(entries)] == ["R2", "R3", "default"]
    assert not [*refused(entries)]


def test_a_rejected_rule_refuses_until_it_is_struck() -> None:
    program = rules()
    review = loads(json.dumps(review_of(program, R1="accepted", R2="rejected")))
    (entry,) = refused(standings(review, program))
    assert (entry.rule, entry.standing) == ("R2", Standing.REJECTED)
    assert entry.verdict is not None
    assert entry.verdict.comment == "about R2"
    shorter = rules(RULES.replace("R2: IF heat > 20 THEN yes\n", ""))
    entries = standings(review, shorter)
    assert not [*refused(entries)]
    assert [e.rule for e in entries if e.standing is Standing.STRUCK] == ["R2"]


@pytest.mark.parametrize("state", ["accepted", "rejected"])
def test_an_edited_rule_refuses_until_it_is_seen_again(state: str) -> None:
    review = review_of(rules(), R2=state)
    edited = rules(RULES.replace("heat > 20", "heat > 21"))
    assert held(review, edited)["R2"] is Standing.CHANGED
    (entry,) = refused(standings(loads(json.dumps(review)), edited))
    assert entry.rule == "R2"
    seen = copy.deepcopy(review)
    seen["rules"]["R2"] |= {"seal": seals(edited)["R2"], "state": "accepted"}
    assert held(seen, edited)["R2"] is Standing.ACCEPTED


def test_a_comment_without_a_verdict_does_not_refuse() -> None:
    review = review_of(rules(), R2="open")
    edited = rules(RULES.replace("heat > 20", "heat > 21"))
    assert held(review, edited)["R2"] is Standing.OPEN
    assert not [*refused(standings(loads(json.dumps(review)), edited))]


def test_an_accepted_rule_is_known_again_under_another_number() -> None:
    review = review_of(rules(), R1="rejected", R2="accepted", R3="accepted")
    text = RULES.replace("R1: IF wind = storm THEN no\n", "")
    renumbered = rules(text.replace("R2:", "R1:").replace("R3:", "R2:"))
    entries = standings(loads(json.dumps(review)), renumbered)
    assert [(entry.rule, entry.standing) for entry in entries[:-1]] == [
        ("R1", Standing.ACCEPTED),
        ("R2", Standing.ACCEPTED),
        ("default", Standing.OPEN),
        ("R1", Standing.STRUCK),
    ]


def test_the_verdict_on_the_whole_is_about_one_model() -> None:
    program = rules()
    review = accepting(program)
    body = program.body
    assert isinstance(body, RuleSet)
    turned = replace(program, body=replace(body, rules=body.rules[::-1]))
    entries = standings(loads(json.dumps(review)), turned)
    assert [e.rule for e in still_open(entries)] == [""]
    assert not [*refused(entries)]  # each rule says what was accepted
    known = standings(loads(json.dumps(review)), turned, [sha256(program)])
    assert not [*still_open(known)]


def test_a_whole_that_is_rejected_refuses() -> None:
    review = accepting(rules())
    review["decision"]["state"] = "rejected"
    entries = standings(loads(json.dumps(review)), rules())
    assert [entry.rule for entry in refused(entries)] == [""]


def test_a_review_of_another_target_is_refused() -> None:
    other = rules(RULES.replace("TARGET play", "TARGET sail"))
    with pytest.raises(ReviewError, match="predicts 'play', and this one predicts"):
        held(accepting(rules()), other)


def test_the_default_of_a_tree_needs_no_verdict() -> None:
    table = ROOT / "examples" / "tennis" / "tennis.csv"
    program = treecompile.learn(table, target="play").program
    assert "default" not in held(review_of(program), program)


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        ({"R1": "a"}, {"R1": "a"}, {"R1": "R1"}),
        ({"R1": "b"}, {"R1": "a"}, {"R1": "R1"}),  # edited
        ({"R1": "b", "R2": "a"}, {"R1": "a"}, {"R2": "R1"}),  # another one is new
        ({"R1": "b", "R2": "a"}, {"R1": "a", "R2": "b"}, {"R1": "R2", "R2": "R1"}),
        ({"R1": "a", "R2": "a"}, {"R1": "a"}, {"R1": "R1"}),  # the second is a copy
        ({"R1": "a", "R2": "a"}, {"R2": "a"}, {"R2": "R2"}),
        ({"R1": "a", "R2": "a"}, {"R8": "a", "R9": "a"}, {"R1": "R8", "R2": "R9"}),
        ({}, {"R1": "a"}, {}),
    ],
)
def test_rules_are_matched_by_seal_then_by_id(
    now: dict[str, str], then: dict[str, str], expected: dict[str, str]
) -> None:
    assert matches(now, then) == expected
