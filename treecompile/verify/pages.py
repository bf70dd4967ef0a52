"""Extracts the decision of a review page, as a module that Node.js runs.

Besides its decision, a page has only data and the script that treecompile writes. A
page with any other script is refused, because that script could answer in place of the
decision.
"""

from __future__ import annotations

import re

from treecompile.emit.html.lower import page_script
from treecompile.verify.statements import RefusedError

START = "<!doctype html>"
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script", re.DOTALL | re.IGNORECASE)
DATA, DECISION, PAGE = (' type="application/json" id="data"', ' id="decision"', "")
# The functions and labels that the decision declares; a regression has no labels.
EXPORTS = """
export default {
  CLASSES: typeof CLASSES === "undefined" ? undefined : CLASSES,
  predictProba: typeof predictProba === "undefined" ? undefined : predictProba,
  predict, predictMany, decide, explain,
};
"""


def is_page(text: str) -> bool:
    return text[: len(START)].lower() == START


def decision_in(text: str) -> str:
    """Return the decision of a page as an ES module; refuse a changed page."""
    found = SCRIPT.findall(text)
    if [kind for kind, _ in found] != [DATA, DECISION, PAGE]:
        raise RefusedError("it is not a review page of treecompile: emit it again")
    _, (_, decision), (_, script) = found
    if script != page_script():
        raise RefusedError(
            "its script is not the one that this treecompile writes: emit it again"
        )
    return f"{decision}{EXPORTS}"
