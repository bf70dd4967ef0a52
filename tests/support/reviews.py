"""Reviews as the review page saves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from treecompile.model.file.write import sha256
from treecompile.model.ir import Program
from treecompile.rules.seals import seals


def review_of(program: Program, **states: str) -> dict[str, Any]:
    """A review of a program in which some rules have a state."""
    found = seals(program)
    return {
        "format": "treecompile review 1",
        "model": sha256(program),
        "target": program.target,
        "reviewer": "Ada Example",
        "date": "2026-11-17",
        "decision": {"state": "accepted", "comment": "fine as a whole"},
        "rules": {
            name: {
                "seal": found[name],
                "state": state,
                "comment": f"about {name}",
                "by": "Ada Example",
                "date": "2026-11-16",
            }
            for name, state in states.items()
        },
    }


def accepting(program: Program) -> dict[str, Any]:
    """A review that accepts everything."""
    return review_of(program, **dict.fromkeys(seals(program), "accepted"))


def save(review: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(review), "utf-8")
    return path
