"""The tests that may be skipped even where every engine must run."""

from __future__ import annotations

from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "may_skip.txt"


def may_skip() -> list[tuple[str, str]]:
    """Test and reason of each line."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    entries = (line.partition(": ") for line in lines if not line.startswith("#"))
    return [(test, reason) for test, _, reason in entries]
