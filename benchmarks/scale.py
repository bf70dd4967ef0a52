"""Learning in DuckDB from Parquet files, compared with scikit-learn's fit.

    python benchmarks/scale.py [--quick] [ROWS ...]

Ten numeric features, two labels, depth 8. Each measurement runs in its own process, so
that peak memory is its own. Our times, in DuckDB and in memory, include reading the
files; that of scikit-learn is only `fit`. Up to a million rows, two more are shown:
PostgreSQL and Spark on this machine, without loading the one and starting the other.
10**8 rows are 8 GB on disk; they are learned from in DuckDB only, with a limit of 4 GB
instead of 800 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (100_000, 1_000_000, 10_000_000)
QUICK = (20_000,)
CONTESTANTS = ("DuckDB", "in memory", "scikit-learn")
HEAD = ["rows", *(cell for name in CONTESTANTS for cell in (name, "peak", "nodes"))]
DEPTH = 8
PART = 1_000_000  # rows per file
MOST_ROWS = 1_000_000  # for variants,
MOST_IN_MEMORY = 10_000_000  # and in memory

MAKE = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng = np.random.default_rng(rows)
for start in range(0, rows, part):
    size = min(part, rows - start)
    x = {f"x{i}": rng.normal(size=size) for i in range(10)}
    signal = x["x0"] + x["x1"] * x["x2"] + np.abs(x["x3"]) + rng.normal(size=size)
    x["y"] = (signal > 0.8).astype(np.int8)
    pq.write_table(pa.table(x), f"{folder}/{start:09}.parquet")
print("{}")
"""
LEARN = """
import time
from treecompile.tables.options import DataOptions
from treecompile.database.learn import learn
from treecompile.database.locations import open_files
from treecompile.learning.options import LearnOptions
start = time.perf_counter()
with open_files(folder, memory) as opened:
    options = LearnOptions("cart", max_depth=depth, prune="none")
    tree = learn(opened.store, opened.relation, DataOptions("y"), options).program.body
"""
IN_MEMORY = """
import time
import pyarrow.parquet as pq
import treecompile
start = time.perf_counter()
frame = pq.read_table(folder).to_pandas()
options = {"algorithm": "cart", "max_depth": depth, "prune": "none"}
tree = treecompile.learn(frame, target="y", **options).program.body
"""
POSTGRES = """
import time
import numpy as np, psycopg, pyarrow.parquet as pq
from tests.support.databases import postgres_url
from treecompile.tables.options import DataOptions
from treecompile.database.learn import learn
from treecompile.database.locations import open_table
from treecompile.learning.options import LearnOptions
table = pq.read_table(folder)
fields = [("fields", ">i2")]
for name in table.column_names:
    fields += [(name + " size", ">i4"), (name, ">i2" if name == "y" else ">f8")]
rows = np.zeros(len(table), np.dtype(fields))
rows["fields"] = len(table.column_names)
for name in table.column_names:
    rows[name + " size"] = rows.dtype[name].itemsize
    rows[name] = table.column(name).to_numpy()
del table
with psycopg.connect(postgres_url(), autocommit=True) as connection:
    columns = ", ".join(f"x{i} double precision" for i in range(10))
    connection.execute(f"CREATE TABLE rows ({columns}, y smallint)")
    with connection.cursor().copy("COPY rows FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\\n\\xff\\r\\n\\0" + bytes(8))
        for start in range(0, len(rows), 100_000):
            copy.write(rows[start : start + 100_000].tobytes())
        copy.write(b"\\xff\\xff")
    connection.execute("ANALYZE rows")
del rows
start = time.perf_counter()
with open_table(postgres_url(), "rows") as opened:
    options = LearnOptions("cart", max_depth=depth, prune="none")
    tree = learn(opened.store, opened.relation, DataOptions("y"), options).program.body
"""
SPARK = """
import time
from treecompile.tables.options import DataOptions
from treecompile.database.learn import learn
from treecompile.database.locations import open_table
from treecompile.learning.options import LearnOptions
with open_table("spark:", f'parquet."{folder}"') as opened:
    opened.store.arrays(f"SELECT count(*) FROM {opened.relation}")
    start = time.perf_counter()
    options = LearnOptions("cart", max_depth=depth, prune="none")
    tree = learn(opened.store, opened.relation, DataOptions("y"), options).program.body
"""
FIT = """
import time
import numpy as np, pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier
table = pq.read_table(folder)
y = table.column("y").to_numpy()
x = np.empty((len(y), 10), np.float32)
for i in range(10):
    x[:, i] = table.column(f"x{i}").to_numpy()
del table
start = time.perf_counter()
nodes = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(x, y).tree_
"""
RESULT = """
import json, resource
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(json.dumps({"seconds": seconds, "peak": peak, "nodes": nodes}))
"""


CART = {"memory": "800MB"}
MORE = {"memory": "4GB"}  # which more than 10**7 rows need
VARIANTS = {"PostgreSQL": POSTGRES, "Spark": SPARK}


def run(script: str, **given: object) -> dict[str, float]:
    """Run a script in its own process; it prints its results as JSON."""
    lines = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    done = subprocess.run(
        [sys.executable, "-c", lines + script],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 rows only")
    parser.add_argument("rows", nargs="*", type=float, help="by default up to 1e7")
    options = parser.parse_args()
    sizes = [int(rows) for rows in options.rows] or (QUICK if options.quick else SIZES)
    learned = "seconds, nodes = time.perf_counter() - start, len(tree.nodes)\n"
    fitted = "seconds, nodes = time.perf_counter() - start, nodes.node_count\n"
    head = [*HEAD, *VARIANTS]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="treecompile-scale-") as folder:
            run(MAKE, rows=rows, part=PART, folder=folder)
            assert list(Path(folder).iterdir())
            texts = [LEARN + learned, IN_MEMORY + learned, FIT + fitted]
            cells, ours = [f"{rows:,}"], {}
            for text, given in zip(texts, (CART, {}, {}), strict=True):
                if given is not CART and rows > MOST_IN_MEMORY:
                    cells += ["-"] * 3
                    continue
                more = MORE if rows > MOST_IN_MEMORY else {}
                found = run(text + RESULT, folder=folder, depth=DEPTH, **given | more)
                ours = ours or found
                cells += shown(found)
            for script in VARIANTS.values() if rows <= MOST_ROWS else ():
                text = script + learned + RESULT
                try:
                    other = run(text, folder=folder, depth=DEPTH)
                except subprocess.CalledProcessError as error:
                    cells.append(f"left out: {error.stderr.strip().splitlines()[-1]}")
                    continue
                assert other["nodes"] == ours["nodes"]
                cells.append(f"{other['seconds']:.2f} s")
        print(f"| {' | '.join(cells)} |", flush=True)


def shown(found: dict[str, float]) -> tuple[str, str, str]:
    seconds, peak, nodes = found["seconds"], found["peak"], found["nodes"]
    return f"{seconds:.2f} s", f"{peak:.2f} GB", f"{nodes:.0f}"


if __name__ == "__main__":
    main()
