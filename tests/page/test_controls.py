"""Every control of the review page, with the mouse and with the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys

import treecompile
from tests.support.browser import Browser
from treecompile.model.evidence import Evidence, by_id
from treecompile.model.ir import ClassQuality

ROOT = Path(__file__).resolve().parents[2]
PENGUINS = ROOT / "examples" / "penguins" / "penguins.csv"


@cache
def penguins() -> treecompile.Model:
    return treecompile.learn(PENGUINS, target="species", na_value="NA")


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    browser.show(penguins(), tmp_path)
    return browser


def ids(page: Browser) -> list[str]:
    return page.texts("#list .rule .id")


def rules_where(meets: Callable[[Evidence], object]) -> set[str]:
    return {name for name, known in by_id(penguins().program).items() if meets(known)}


# ---------------------------------------------------------------- the whole page


def test_the_page_opens_without_a_complaint(page: Browser) -> None:
    assert page.complaints() == []
    assert page.driver.title == "Rules for predicting species"
    assert page.texts("h1") == ["Rules for predicting species"]
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert len(page.all(f"body > {landmark}")) == 1


def test_everything_that_can_be_used_has_a_name(page: Browser) -> None:
    nodes = page.cdp("Accessibility.getFullAXTree")["nodes"]
    used = {"button", "textbox", "combobox", "searchbox", "spinbutton", "radio"}
    used |= {"link", "treeitem", "tree", "Date", "region", "img", "form", "search"}
    found = 0
    for node in nodes:
        if node.get("role", {}).get("value") in used and not node["ignored"]:
            assert node.get("name", {}).get("value", "").strip(), node
            found += 1
    assert found > 40


def test_every_control_is_reached_by_the_tab_key(page: Browser) -> None:
    script = (
        "return [...document.querySelectorAll('a, button, input, select, textarea')]"
        ".filter((node) => node.checkVisibility()).length"
    )
    wanted = page.run(script)
    page.run("window.visited = new Set(); document.body.focus()")
    watch = "addEventListener('focusin', (event) => visited.add(event.target))"
    page.run(watch)
    for _ in range(wanted + 20):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        inside = page.run("return document.activeElement.outerHTML.slice(0, 300)")
        outlined = page.run(
            "const node = document.activeElement;"
            "return getComputedStyle(node).outlineStyle !== 'none'"
            " || node === document.body"
            " || node.closest('svg, .file, [type=date]') !== null"  # mark another node
        )
        assert outlined, inside
    missed = page.run(
        "return [...document.querySelectorAll('a, button, input, select, textarea')]"
        ".filter((node) => node.checkVisibility() && !visited.has(node))"
        ".filter((node) => node.type !== 'radio')"  # arrow keys go from one to another
        ".map((node) => node.outerHTML)"
    )
    assert missed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(page: Browser, scheme: str) -> None:
    """At least 4.5 to 1, as WCAG AA asks of text of every size."""
    page.media(scheme=scheme)
    page.click("#rule-R1 [data-action=accepted]")
    page.click("#rule-R2 [data-action=rejected]")
    assert page.run(CONTRAST) == []


CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_no_width_makes_the_page_scroll_sideways(page: Browser, width: int) -> None:
    page.width(width)
    assert page.run("return document.documentElement.scrollWidth") <= width


# ---------------------------------------------------------------- the rules


def test_the_filters_show_the_rules_that_they_name(page: Browser) -> None:
    everything = set(by_id(penguins().program))
    assert set(ids(page)) == everything
    page.choose("#by-label", "Chinstrap")
    said = set(page.texts("#list h3"))
    assert said
    assert all(text.endswith("species = Chinstrap") for text in said)
    page.click("#reset")
    page.until("return document.querySelectorAll('#list .rule').length > 2")
    page.fill("#by-confidence", "99")
    sure = rules_where(lambda known: known.rows and known.right / known.rows >= 0.99)
    assert set(ids(page)) == sure < everything
    page.click("#reset")
    page.fill("#by-support", "60")
    assert set(ids(page)) == rules_where(lambda known: known.rows >= 60) < everything
    page.click("#reset")
    page.choose("#by-feature", "sex")
    shown = page.texts("#list .tests")
    assert shown
    assert all("sex" in tests for tests in shown)
    page.click("#reset")
    page.fill("#find", "ISLAND gentoo")
    assert ids(page)
    assert all("island" in tests for tests in page.texts("#list .tests"))
    assert all("Gentoo" in head for head in page.texts("#list h3"))
    page.fill("#find", "nothing has these words")
    assert ids(page) == []
    assert page.text("#shown").startswith("0 of ")


def test_the_rules_can_be_sorted(page: Browser) -> None:
    known = by_id(penguins().program)
    before = ids(page)
    page.choose("#sort", "rows, most first")
    assert ids(page) == sorted(before, key=lambda name: -known[name].rows)
    page.choose("#sort", "confidence, lowest first")
    shares = [known[name].right / known[name].rows for name in ids(page)]
    assert shares == sorted(shares)
    page.choose("#sort", "the order of the model")
    assert ids(page) == before


# ---------------------------------------------------------------- the tree


def items(page: Browser) -> int:
    return len(page.all("#tree-view [role=treeitem]"))


def press(page: Browser, *keys: str) -> None:
    ActionChains(page.driver).send_keys(*keys).perform()


def position(page: Browser) -> str:
    return str(page.run("return document.activeElement.dataset.position"))


def test_the_tree_is_walked_with_the_arrow_keys(page: Browser) -> None:
    nodes = penguins().n_nodes
    assert items(page) == nodes
    page.run("document.querySelector('#tree-view [data-position=\"0\"]').focus()")
    press(page, Keys.ARROW_LEFT)  # closes the root
    assert items(page) == 1
    root = page.find("#tree-view [data-position='0']")
    assert root.get_attribute("aria-expanded") == "false"
    press(page, Keys.ARROW_RIGHT)  # opens it again
    press(page, Keys.ARROW_RIGHT)  # goes to its first child
    child = position(page)
    assert page.run("return document.activeElement.getAttribute('aria-level')") == "2"
    press(page, Keys.END)
    press(page, Keys.HOME)
    assert position(page) == "0"
    press(page, Keys.ARROW_DOWN)
    assert position(page) == child
    press(page, Keys.ARROW_UP)
    assert position(page) == "0"
    press(page, Keys.END)
    press(page, Keys.ENTER)  # the last leaf is the last rule
    assert page.focused() == f"rule-{ids(page)[-1]}"


def test_the_tree_is_zoomed_opened_and_closed(page: Browser) -> None:
    def width() -> float:
        return float(page.find("#tree-view svg").get_attribute("width") or 0)

    page.click("#tree-fit")
    fitted = width()
    assert fitted <= page.run("return document.querySelector('#tree-view').clientWidth")
    page.click("#tree-in")
    assert width() == pytest.approx(1.25 * fitted)
    page.click("#tree-out")
    assert width() == pytest.approx(fitted)
    page.click("#tree-collapse")
    assert items(page) == 1
    page.click("#tree-expand")
    assert items(page) == penguins().n_nodes
    page.click("#tree-view [data-position='0'] .head")
    assert items(page) == 1


def test_every_node_says_its_rows_and_answers(page: Browser) -> None:
    for label in page.run(
        "return [...document.querySelectorAll('[role=treeitem]')]"
        ".map((node) => node.getAttribute('aria-label'))"
    ):
        assert "row" in label
        assert any(f"{name}: " in label for name in penguins().program.body.labels)


def test_a_rule_leads_to_its_leaf(page: Browser) -> None:
    page.click("#tree-collapse")
    page.click("#rule-R3 [data-action=tree]")
    label = page.run("return document.activeElement.getAttribute('aria-label')")
    assert "R3 · " in label


# ---------------------------------------------------------------- the review


def accepted(page: Browser) -> list[str]:
    return page.texts("#list .rule.accepted .id")


def test_a_review_is_kept_and_saved_as_text(page: Browser) -> None:
    page.click("#rule-R1 [data-action=accepted]")
    page.click("#rule-R2 [data-action=rejected]")
    page.click("#rule-R2 [data-action=comment]")
    page.find("#rule-R2 textarea").send_keys('too "strict", ünïcödé </script>')
    page.click("#rule-R3 [data-action=accepted]")
    page.click("#rule-R3 [data-action=accepted]")  # again: open
    rules = len(ids(page))
    told = f"1 of {rules} rules accepted, 1 rejected, {rules - 2} open"
    assert page.text("#progress") == told
    page.reload()
    assert accepted(page) == ["R1"]
    page.click("#save")
    saved = page.downloaded("review.txt").decode()
    assert told in saved
    assert penguins().sha256 in saved
    lines = saved.splitlines()
    assert [line for line in lines if line.startswith("- R1: accepted. species = ")]
    (second,) = [n for n, line in enumerate(lines) if line.startswith("- R2: rejected")]
    assert lines[second + 1] == '  too "strict", ünïcödé </script>'
    page.click("#forget")
    assert accepted(page) == []
    assert page.complaints() == []


def test_a_browser_without_storage_is_enough(browser: Browser, tmp_path: Path) -> None:
    refuse = (
        "Object.defineProperty(globalThis, 'localStorage',"
        " { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    path = browser.show(penguins(), tmp_path)
    added = browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=refuse)
    try:
        browser.open(path, keep=True)
        browser.click("#rule-R1 [data-action=accepted]")
        browser.click("#save")
        assert b"- R1: accepted" in browser.downloaded("review.txt")
        assert browser.complaints() == []
    finally:
        browser.cdp("Page.removeScriptToEvaluateOnNewDocument", **added)


def test_the_rules_shown_are_accepted_at_once(page: Browser) -> None:
    page.choose("#by-label", "Chinstrap")
    shown = ids(page)
    page.click("#accept-shown")
    page.click("#reset")
    page.until("return document.querySelectorAll('#list .rule').length > 2")
    assert accepted(page) == shown
    page.choose("#by-state", "accepted")
    assert ids(page) == shown


# ---------------------------------------------------------------- reports


def test_the_quality_is_that_of_the_model(page: Browser) -> None:
    training = penguins().program.training
    assert training is not None
    assert isinstance(training.quality, ClassQuality)
    confusion = training.quality.confusion
    script = (
        "return [...document.querySelectorAll('#quality tbody tr')]"
        ".map((row) => [...row.querySelectorAll('td')].slice(0, -1))"
        ".map((cells) => cells.map((cell) => Number(cell.textContent)))"
    )
    assert [*map(tuple, page.run(script))][-len(confusion) :] == [*confusion]
