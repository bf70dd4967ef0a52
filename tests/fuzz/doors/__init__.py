"""Every door, in a table: how its cases are made and judged."""

from __future__ import annotations

from random import Random

from tests.fuzz.case import Case
from tests.fuzz.doors import (
    artefacts,
    databases,
    imports,
    javascript,
    models,
    options,
    packed,
    rows,
    rules,
    tables,
    targets,
    workbooks,
)
from tests.fuzz.doors.base import Door

DOORS: dict[str, Door] = {
    door.name: door
    for door in (
        *tables.DOORS,
        *packed.DOORS,
        *workbooks.DOORS,
        *models.DOORS,
        *imports.DOORS,
        *rules.DOORS,
        *targets.DOORS,
        *artefacts.DOORS,
        *rows.DOORS,
        *javascript.DOORS,
        *databases.DOORS,
        *options.DOORS,
    )
}


def make(door: str, seed: int) -> Case:
    """The case of a door and a seed: the same on every machine."""
    return DOORS[door].make(Random(f"{door} {seed}"))
