"""Writes what the model is for, at the top, and who signs it, at the end."""

from __future__ import annotations

from treecompile.emit.about import About, Reviewer
from treecompile.emit.markdown import md

HEADS = {
    "purpose": "Purpose",
    "intended_use": "Intended use",
    "limits": "Limits",
    "owner": "Owner",
    "version": "Version",
}
ROOM = "…" * 14  # a line to sign on
UNNAMED = (Reviewer(""), Reviewer(""))


def title(about: About, target: str, what: str = "Rules") -> str:
    return md.prose(about.title) or f"{what} for predicting {target}"


def opening(about: About) -> list[str]:
    """Return a line for each thing that was said: "**Owner:** Field team"."""
    said = ((head, getattr(about, key)) for key, head in HEADS.items())
    return [f"**{head}:** {md.prose(text)}" for head, text in said if text]


RULES_ACCEPTED = "the rules of the model {model} as they stand here"
MODEL_ACCEPTED = "the model {model} as it is described here"


def where_to_sign(sha256: str, accepted: str = RULES_ACCEPTED) -> str:
    what = accepted.format(model=f"`{sha256[:16]}...`")
    return (
        "Sign a printed copy or a PDF of this document. A signature accepts"
        f" {what}, and no other version:"
        " code that was generated from this model carries the same SHA-256."
    )


def signatures(about: About) -> str:
    """Return the table to sign: a row for each reviewer, or two empty ones."""
    rows = [
        [md.prose(each.name) or ROOM, md.prose(each.role), "", ROOM]
        for each in about.reviewers or UNNAMED
    ]
    return md.table(["Name", "Role", "Date", "Signature"], rows)
