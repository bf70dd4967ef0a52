"""Learn a tree from a table in a database."""

from __future__ import annotations

import numpy as np

from treecompile.in_database.bounds import BOUNDS
from treecompile.in_database.schema import Schema
from treecompile.in_database.source import EngineSource
from treecompile.in_database.work import WorkTable
from treecompile.ir import Tree
from treecompile.learners.criteria import MEASURES
from treecompile.learners.drafts import finish
from treecompile.learners.growth import grow
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Labels
from treecompile.stores.base import Store


def learn_cart(
    store: Store, schema: Schema, limits: Limits, progress: Progress, criterion: str
) -> Tree:
    work = WorkTable(store, schema)
    work.create()
    source = EngineSource(work, MEASURES[criterion], BOUNDS[criterion], limits)
    drafts = grow(source, limits, progress)
    labels = Labels(np.zeros(0), schema.labels)
    return finish(schema.features, schema.labels, drafts, labels)
