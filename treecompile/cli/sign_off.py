"""What is still open before the rules can be signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treecompile.cli import streams
from treecompile.cli.command import command
from treecompile.cli.options import argument, json_option

if TYPE_CHECKING:
    from treecompile.rules.review import Reviewed


@command(
    "sign-off",
    "List what a review has not accepted yet.",
    "treecompile sign-off model.json review.json\n"
    "treecompile sign-off RULES.md review.json --json",
    "No file. The list goes to standard output.",
)
@argument("model")
@argument("review")
@json_option
def sign_off(model: str, review: str, as_json: bool) -> None:
    """List the rules of MODEL that REVIEW has not accepted yet.

    REVIEW is a review.json. MODEL may also be a document or a file of rules. A rule
    that was edited since it was reviewed is open again.

    The exit code is 0 if every rule and the model as a whole are accepted, and 1 if
    something is open or rejected.
    """
    from treecompile.api.revising import standing_of
    from treecompile.cli import json_reports
    from treecompile.rules.language.document import read_whole
    from treecompile.rules.review import read_review, still_open

    found = standing_of(read_review(review), read_whole(model))
    left = [*still_open(found)]
    if as_json:
        json_reports.write(json_reports.signed(found))
    else:
        streams.show("\n".join(lines(found, left)))
    raise SystemExit(1 if left else 0)


def lines(found: list[Reviewed], left: list[Reviewed]) -> list[str]:
    rules = [entry for entry in found if entry.rule and entry.standing != "struck"]
    accepted = sum(entry.standing == "accepted" for entry in rules)
    count = f"{accepted} of {len(rules)} rule{'s' * (len(rules) != 1)} accepted"
    return [count, *(f"  {_line(entry)}" for entry in left)]


SAID = {
    "open": "open",
    "rejected": "rejected",
    "changed": "edited since it was {}",
}


def _line(entry: Reviewed) -> str:
    from treecompile.model.words import quoted

    what = entry.rule or "the model as a whole"
    verdict = entry.verdict
    if verdict is None:
        return f"{what}: open"
    said = SAID[entry.standing].format(verdict.state.value)
    if entry.standing == "changed" and not entry.rule:
        said = f"open: another model was {verdict.state.value}"
    if verdict.state != "open":
        said += f" by {verdict.by} on {verdict.date}"
    comment = verdict.comment.strip()
    return f"{what}: {said}{f', {quoted(comment)}' if comment else ''}"
