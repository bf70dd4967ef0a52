"""Sign-off on the page: what is saved, kept, loaded and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import treecompile
from tests.support.browser import Browser
from treecompile.rules.review import Standing, loads, standings
from treecompile.rules.seals import seals

ROOT = Path(__file__).resolve().parents[2]
TENNIS = ROOT / "examples" / "tennis" / "tennis.csv"
Json = dict[str, Any]


@cache
def tennis() -> treecompile.Model:
    return treecompile.learn(TENNIS, target="play")


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    browser.show(tennis(), tmp_path)
    return browser


def sign(page: Browser, name: str = "Ada Example", day: str = "2026-11-17") -> None:
    page.fill("#reviewer", name)
    page.run(
        "const date = document.getElementById('date'); date.value = arguments[0];"
        "date.dispatchEvent(new Event('input', { bubbles: true }))",
        day,
    )


def saved(page: Browser) -> bytes:
    page.click("#save")
    return page.downloaded("review.json")


def load(page: Browser, folder: Path, content: str) -> str:
    path = folder / "given.json"
    path.write_text(content, encoding="utf-8")
    page.run("document.getElementById('message').textContent = ''")
    page.find("#load").send_keys(str(path))
    page.until("return document.getElementById('message').textContent !== ''")
    return page.text("#message")


def states(page: Browser) -> Json:
    script = (
        "return [...document.querySelectorAll('.rule')].map((rule) => [rule.dataset.id,"
        " ['accepted', 'rejected'].find((name) => rule.classList.contains(name))"
        " ?? 'open'])"
    )
    return dict(page.run(script))


def review(**changed: Any) -> Json:
    """A review of the whole model by hand."""
    own = seals(tennis().program)
    verdict = {"state": "accepted", "comment": "", "by": "Bob", "date": "2026-11-16"}
    return {
        "format": "treecompile review 1",
        "model": tennis().sha256,
        "target": "play",
        "reviewer": "Bob",
        "date": "2026-11-16",
        "decision": {"state": "accepted", "comment": "fine"},
        "rules": {name: {"seal": own[name], **verdict} for name in ("R1", "R2")},
        **changed,
    }


def test_decisions_are_saved_as_the_product_reads_them(page: Browser) -> None:
    sign(page)
    page.click("#rule-R1 [data-action=accepted]")
    page.click("#rule-R2 [data-action=rejected]")
    page.click("#rule-R2 [data-action=comment]")
    page.find("#rule-R2 textarea").send_keys('too "strict", ünïcödé </script>')
    page.click("#rule-R3 [data-action=accepted]")
    page.click("#rule-R3 [data-action=accepted]")  # again: open
    page.click("#rule-R4 [data-action=comment]")
    page.find("#rule-R4 textarea").send_keys("why?")
    page.click("input[value=rejected]")
    page.find("#comment").send_keys("see R2")
    assert page.text("#progress") == "1 of 5 rules accepted, 1 rejected, 3 open"
    made = loads(saved(page))
    found = {each.rule: each for each in standings(made, tennis().program)}
    assert {name: each.standing for name, each in found.items()} == {
        "R1": Standing.ACCEPTED,
        "R2": Standing.REJECTED,
        "R3": Standing.OPEN,
        "R4": Standing.OPEN,
        "R5": Standing.OPEN,
        "": Standing.REJECTED,
    }
    second = found["R2"].verdict
    assert second is not None
    assert second.comment == 'too "strict", ünïcödé </script>'
    assert (second.by, second.date) == ("Ada Example", "2026-11-17")
    assert made.rules["R4"].comment == "why?"
    assert made.whole.comment == "see R2"
    assert set(made.rules) == {"R1", "R2", "R4"}
    assert page.complaints() == []


def test_nothing_is_saved_without_a_name(page: Browser) -> None:
    page.click("#rule-R1 [data-action=accepted]")
    page.click("#save")
    assert "name of the reviewer" in page.text("#message")
    assert page.focused() == "reviewer"
    sign(page)
    assert loads(saved(page)).rules["R1"].by == "Ada Example"


def test_the_rules_shown_are_accepted_at_once(page: Browser) -> None:
    sign(page)
    page.choose("#by-label", "no")
    page.click("#accept-shown")
    page.click("#reset")
    page.until("return document.querySelectorAll('#list .rule').length === 5")
    assert states(page) == {
        **dict.fromkeys(("R1", "R3", "R5"), "open"),
        **dict.fromkeys(("R2", "R4"), "accepted"),
    }
    page.choose("#by-state", "accepted")
    assert page.texts("#list .id") == ["R2", "R4"]


def test_a_review_survives_a_reload(page: Browser) -> None:
    sign(page)
    page.click("#rule-R1 [data-action=accepted]")
    page.find("#comment").send_keys("so far")
    page.reload()
    assert states(page)["R1"] == "accepted"
    assert page.find("#reviewer").get_attribute("value") == "Ada Example"
    assert page.find("#comment").get_attribute("value") == "so far"
    page.click("#forget")
    assert set(states(page).values()) == {"open"}


def test_a_browser_without_storage_is_enough(browser: Browser, tmp_path: Path) -> None:
    refuse = (
        "Object.defineProperty(globalThis, 'localStorage',"
        " { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    path = tmp_path / "review.html"
    path.write_text(tennis().emit("html"), encoding="utf-8", newline="")
    added = browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    try:
        browser.open(path, keep=True)
        sign(browser)
        browser.click("#rule-R1 [data-action=accepted]")
        assert loads(saved(browser)).rules["R1"].state == "accepted"
        assert browser.complaints() == []
    finally:
        browser.cdp("Page.removeScriptToEvaluateOnNewDocument", **added)


def test_a_saved_review_is_loaded_again(page: Browser, tmp_path: Path) -> None:
    message = load(page, tmp_path, json.dumps(review()))
    assert message.startswith("Loaded given.json.")
    assert states(page) == {
        **dict.fromkeys(("R3", "R4", "R5"), "open"),
        **dict.fromkeys(("R1", "R2"), "accepted"),
    }
    assert json.loads(saved(page)) == review()


def test_rules_that_changed_are_open_again(page: Browser, tmp_path: Path) -> None:
    given = review()
    given["rules"]["R2"]["seal"] = "0" * 16
    assert "1 rule changed since" in load(page, tmp_path, json.dumps(given))
    assert states(page)["R2"] == "open"
    assert "changed since it was reviewed" in page.text("#rule-R2 .signed")
    assert "R2" not in json.loads(saved(page))["rules"]


def test_an_earlier_version_keeps_what_did_not_change(
    page: Browser, tmp_path: Path
) -> None:
    """By the seals, whatever the ids are: as `standings` says it."""
    given = review(model="a" * 64)
    given["rules"] = {"R7": given["rules"]["R2"], "R1": given["rules"]["R1"]}
    message = load(page, tmp_path, json.dumps(given))
    assert "earlier version" in message
    found = standings(loads(json.dumps(given)), tennis().program)
    wanted = {each.rule: each.standing.value for each in found if each.rule}
    assert states(page) == wanted
    assert wanted["R2"] == "accepted"
    assert json.loads(saved(page))["decision"]["state"] == "open"


def broken(change: Callable[[Json], object]) -> str:
    given = review()
    change(given)
    return json.dumps(given)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "not a review"),
        (broken(lambda r: r.update(format="treecompile review 2")), "not a review"),
        (broken(lambda r: r.update(more=1)), "unknown key “more”"),
        (broken(lambda r: r.update(target="other")), "predicts “other”"),
        (broken(lambda r: r.pop("date")), "“date”"),
        (broken(lambda r: r.update(date="2026-02-30")), "“date”"),
        (broken(lambda r: r["decision"].update(state="maybe")), "“state”"),
        (broken(lambda r: r["rules"]["R1"].update(seal="xyz")), "“seal”"),
        (broken(lambda r: r["rules"]["R1"].update(by="")), "who and when"),
        (broken(lambda r: r["rules"].update(R1=[])), "not an object"),
        (
            broken(lambda r: (r.update(model="b" * 64), r["rules"].clear())),
            "another model",
        ),
    ],
)
def test_other_files_are_refused_with_words(
    page: Browser, tmp_path: Path, content: str, words: str
) -> None:
    page.click("#rule-R5 [data-action=accepted]")
    message = load(page, tmp_path, content)
    assert message.startswith("given.json was not loaded: ")
    assert words in message
    assert states(page)["R5"] == "accepted"  # as before
    assert page.complaints() == []


def test_the_review_of_another_model_is_refused(page: Browser, tmp_path: Path) -> None:
    program = tennis().program
    other = replace(program, target="play tomorrow")
    given = review(
        model=treecompile.Model(other).sha256,
        rules={
            name: {**review()["rules"]["R1"], "seal": seal}
            for name, seal in seals(other).items()
        },
    )
    assert "another model" in load(page, tmp_path, json.dumps(given))
