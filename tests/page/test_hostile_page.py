"""Names, categories and labels never become markup or script on the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import treecompile
from tests.support.browser import Browser

HOSTILE = (
    "</script><script>errors.push('script')</script>",
    "<img src=x onerror=\"errors.push('image')\">",
    "<svg onload=errors.push('svg')>",
    "--></style><style>* { display: none }",
    "<!--<script>",
    "'; errors.push('quote'); '",
    '"); errors.push("double"); ("',
    "`${errors.push('template')}`",
    "\\u003cb\\u003e\\",
    "javascript:errors.push('address')",
    "__proto__",
    "constructor",
    "toString",
    "&lt;b&gt;&amp;",
    "line\nend\r\n\u2028\u2029",
    "\u202eright to left\u202c\u200f",
    "שלום",
    "🐧",
)


@pytest.fixture(scope="module")
def model() -> treecompile.Model:
    """Hostile texts are names of columns, categories and labels at once."""
    rows = [*range(len(HOSTILE))] * 6
    frame = pd.DataFrame(
        {f"{text}": [f"{text}{i % 3}" for i in rows] for text in HOSTILE[:9]}
    )
    frame["__proto__"] = [HOSTILE[i] for i in rows]
    frame["</title><b>"] = [HOSTILE[i] for i in rows]
    return treecompile.learn(frame, target="</title><b>", algorithm="id3", prune="none")


def test_no_text_becomes_markup_or_script(
    browser: Browser, tmp_path: Path, model: treecompile.Model
) -> None:
    browser.show(model, tmp_path)
    assert len(browser.texts("#list .rule")) == len(HOSTILE)
    browser.fill("#find", "errors.push('image')")
    assert len(browser.texts("#list .rule")) == 1
    browser.fill("#find", "")
    browser.click("#rule-R1 [data-action=accepted]")
    browser.click("#rule-R1 [data-action=comment]")
    browser.find("#rule-R1 textarea").send_keys(HOSTILE[1])
    assert browser.run("return document.querySelectorAll('img, b, iframe').length") == 0
    assert browser.run("return document.scripts.length") == 3
    assert browser.run("return document.styleSheets.length") == 1
    assert browser.run("return Object.keys(Object.prototype).length") == 0
    assert browser.complaints() == []


def test_hostile_rows_are_answered_right(
    browser: Browser, tmp_path: Path, model: treecompile.Model
) -> None:
    browser.show(model, tmp_path)
    tried = model.edge_rows(budget=2000)
    assert browser.answers(row for row, _ in tried) == [answer for _, answer in tried]
    assert browser.complaints() == []


def test_the_policy_stops_what_is_not_part_of_the_page(
    browser: Browser, tmp_path: Path, model: treecompile.Model
) -> None:
    browser.show(model, tmp_path)
    browser.run(
        "const script = document.createElement('script');"
        "script.textContent = 'errors.push(\"ran\")'; document.body.append(script);"
        "const image = document.createElement('img');"
        "image.src = 'https://treecompile.invalid/x.png'; document.body.append(image);"
        "const note = document.createElement('p');"
        "note.setAttribute('style', 'color: red'); document.body.append(note);"
        "fetch('https://treecompile.invalid/').catch(() => {});"
    )
    browser.until("return stopped.length >= 4")
    assert browser.run("return errors") == []
    kinds = {each.partition("-src")[0] for each in browser.run("return stopped")}
    assert {"script", "img", "style", "connect"} <= kinds
