"""What learning in Spark costs, measured and predicted by the cost model.

    python benchmarks/spark.py [ROWS ...]

Ten numeric features, two labels, depth 6, on this machine. Spark itself counts the
bytes that its stages read and shuffle. The last lines predict a run over a billion
rows. The cost model is explained in docs/learning-on-spark.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treecompile.database.learn import learn
from treecompile.database.locations import open_table
from treecompile.engines.spark import Spark
from treecompile.learning.options import LearnOptions
from treecompile.tables.options import DataOptions

SIZES = (10_000, 100_000, 1_000_000)
FEATURES, LABELS, DEPTH = 10, 2, 6
PART = 250_000  # rows per file

# RECORD, LOOKS, the passes over the table and the share of rows fetched were fitted to
# runs of up to 400,000 rows.
BINS = 241
RECORD = 15  # bytes of a key and its counts in a shuffle, roughly
LOOKS = 2.0  # queries per level that look into bins, roughly; more for a billion rows
FETCHED = 300_000  # lines that a look returns, at most
ASKED_BEFORE = 4  # queries on the table, plus two for every 40 features


@dataclass(frozen=True, slots=True)
class Cost:
    queries: float = 0
    source: float = 0  # bytes read from the table
    rows: float = 0  # bytes read from the working table
    shuffled: float = 0  # bytes


@dataclass(frozen=True, slots=True)
class Run:
    """The input of a prediction."""

    rows: int
    features: int
    labels: int
    depth: int
    tasks: int  # that read the table
    feature_bytes: float  # per value, in the files
    label_bytes: float
    looks: float = LOOKS

    def row_bytes(self) -> int:
        """A row of the working table: 8 bytes per column, and Java's overhead."""
        return 8 * (2 + 2 * self.features) + 68

    def predicted(self) -> Cost:
        size, per_level = self.row_bytes(), 2 + self.looks
        passes = 4 * self.features * self.feature_bytes + 5 * self.label_bytes
        keys = self.features * BINS * self.labels
        shuffled = 0.0
        for level in range(self.depth):
            at_most = min(keys * 2**level, self.rows / self.tasks * self.features)
            shuffled += self.tasks * at_most * RECORD
        fetched = min(self.rows / 5, FETCHED)
        shuffled += self.looks * self.depth * fetched * RECORD
        before = ASKED_BEFORE + 2 * ceil(self.features / 40)
        return Cost(
            before + per_level * self.depth,
            self.rows * passes,
            self.rows * size * per_level * self.depth,
            shuffled,
        )


class Measured(Spark):
    """Counts the queries and adds up Spark's own figures of their stages."""

    kinds: Counter[str]
    source = rows = shuffled = 0.0
    seen: set[int]

    def arrays(self, query: str) -> list[np.ndarray]:
        found = super().arrays(query)
        self._measure(query)
        return found

    def make(self, name: str, query: str) -> None:
        super().make(name, query)
        self._measure(query)

    def _measure(self, query: str) -> None:
        kind = _kind(query)
        self.kinds[kind] += 1
        context = self.session.sparkContext
        context._jsc.sc().listenerBus().waitUntilEmpty()
        none = context._gateway.new_array(context._jvm.double, 0)
        empty = context._jvm.java.util.ArrayList()
        stages = (
            context._jsc.sc().statusStore().stageList(None, False, False, none, empty)
        )
        for place in range(stages.size()):
            stage = stages.apply(place)
            if stage.stageId() in self.seen:
                continue
            self.seen.add(stage.stageId())
            self.shuffled += stage.shuffleWriteBytes()
            if kind in ("count", "refine", "route"):
                self.rows += stage.inputBytes()
            else:
                self.source += stage.inputBytes()


def _kind(query: str) -> str:
    if "treecompile_rows" not in query:
        return "on the table"
    if " a.low" in query:
        return "refine"
    return "count" if " GROUP BY " in query else "route"


def write(folder: Path, rows: int) -> tuple[float, float]:
    """Write the table; return the bytes per value of a feature and of the target."""
    rng = np.random.default_rng(rows)
    sizes = np.zeros(2)
    for start in range(0, rows, PART):
        size = min(PART, rows - start)
        x = {f"x{i}": rng.normal(size=size) for i in range(FEATURES)}
        signal = x["x0"] + x["x1"] * x["x2"] + np.abs(x["x3"]) + rng.normal(size=size)
        x["y"] = (signal > 0.8).astype(np.int8)
        path = folder / f"{start:09}.parquet"
        pq.write_table(pa.table(x), path)
        group = pq.read_metadata(path)
        for place in range(group.num_row_groups):
            for column in range(FEATURES + 1):
                chunk = group.row_group(place).column(column)
                sizes[int(column == FEATURES)] += chunk.total_compressed_size
    return float(sizes[0] / rows / FEATURES), float(sizes[1] / rows)


@contextmanager
def measured(table: str) -> Iterator[Measured]:
    with open_table("spark:", table) as opened:
        assert isinstance(opened.store, Spark)
        store = Measured(opened.store.session, *opened.store.errors)
        store.kinds, store.seen = Counter(), set()
        store._measure("")  # skip earlier stages
        store.kinds, store.source, store.rows, store.shuffled = Counter(), 0, 0, 0
        try:
            yield store
        finally:
            store.close()


def run(rows: int) -> None:
    with tempfile.TemporaryDirectory(prefix="treecompile-spark-") as folder:
        value, label = write(Path(folder), rows)
        with measured(f'parquet."{folder}"') as store:
            options = LearnOptions("cart", max_depth=DEPTH, prune="none")
            relation = f"parquet.`{folder}`"
            start = time.perf_counter()
            learn(store, relation, DataOptions("y"), options)
            seconds = time.perf_counter() - start
            tasks = store.session.sql(
                f"SELECT * FROM {relation}"
            ).rdd.getNumPartitions()
    model = Run(rows, FEATURES, LABELS, DEPTH, tasks, value, label).predicted()
    asked = sum(store.kinds.values())
    parts = ", ".join(f"{count} {kind}" for kind, count in store.kinds.items())
    print(f"{rows:>13,} rows in {tasks} tasks: {seconds:.0f} s ({parts})")
    for name, found, said in (
        ("queries", asked, model.queries),
        ("table read, MB", store.source / 1e6, model.source / 1e6),
        ("working table read, MB", store.rows / 1e6, model.rows / 1e6),
        ("shuffled, MB", store.shuffled / 1e6, model.shuffled / 1e6),
    ):
        print(f"{name:>28} {found:>12,.1f}  model {said:>12,.1f}", flush=True)


def main() -> None:
    for rows in [int(float(text)) for text in sys.argv[1:]] or SIZES:
        run(rows)
    large = Run(10**9, FEATURES, LABELS, 8, 800, 8.0, 0.2, looks=4)
    cost = large.predicted()
    print(f"predicted for {large.rows:,} rows, depth 8, in {large.tasks} tasks:")
    print(
        f"  {cost.queries:.0f} queries, {cost.source / 1e9:,.0f} GB of the table read,"
    )
    print(f"  {large.rows * large.row_bytes() / 1e9:,.0f} GB of memory for its rows,")
    print(f"  {cost.rows / 1e12:,.1f} TB read from the working table,")
    print(f"  {cost.shuffled / 1e9:,.0f} GB shuffled")


if __name__ == "__main__":
    main()
