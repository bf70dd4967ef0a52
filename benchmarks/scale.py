"""Learning in DuckDB, over Parquet files, beside scikit-learn's fit on the same rows.

    python benchmarks/scale.py [ROWS ...]

Ten numeric features, two labels, depth 8. Each measurement is a process of its own, so
that its peak of memory is its own. The time of scikit-learn is that of `fit`, ours
has the reading of the files in it. Up to a million rows these are shown beside: the
same without a temporary table, the node of each row worked out by CASE in each query;
C4.5; and PostgreSQL and Spark on this machine, without the loading of the one and the
start of the other.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (100_000, 1_000_000, 10_000_000)
DEPTH = 8
PART = 1_000_000  # rows of a file
MOST_OTHERWISE = 1_000_000  # rows for all but CART in DuckDB

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
OURS = """
import time
from treecompile.data import DataOptions
from treecompile.in_database.learn import learn
from treecompile.in_database.places import open_files
from treecompile.learn_options import (LearnOptions)
start = time.perf_counter()
with open_files(folder, "800MB") as there:
    options = LearnOptions(algorithm, max_depth=depth)
    tree = learn(
        there.store,
        there.relation,
        DataOptions("y"),
        options,
        temporary_tables=is_table,
    ).program.body
"""
POSTGRES = """
import time
import numpy as np, psycopg, pyarrow.parquet as pq
from tests.engines.databases import postgres_url
from treecompile.data import DataOptions
from treecompile.in_database.learn import learn
from treecompile.in_database.places import open_table
from treecompile.learn_options import (LearnOptions)
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
with open_table(postgres_url(), "rows") as there:
    options = LearnOptions("cart", max_depth=depth)
    tree = learn(there.store, there.relation, DataOptions("y"), options).program.body
"""
SPARK = """
import time
from treecompile.data import DataOptions
from treecompile.in_database.learn import learn
from treecompile.in_database.places import open_table
from treecompile.learn_options import (LearnOptions)
with open_table("spark:", f'parquet."{folder}"') as there:
    there.store.arrays(f"SELECT count(*) FROM {there.relation}")
    start = time.perf_counter()
    options = LearnOptions("cart", max_depth=depth)
    tree = learn(there.store, there.relation, DataOptions("y"), options).program.body
"""
THEIRS = """
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
TOLD = """
import json, resource
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(json.dumps({"seconds": seconds, "peak": peak, "nodes": nodes}))
"""


CART = {"algorithm": "cart", "is_table": True}
OTHERWISE: dict[str, tuple[str, dict[str, object]]] = {
    "no table": (OURS, {**CART, "is_table": False}),
    "C4.5": (OURS, {**CART, "algorithm": "c45"}),
    "PostgreSQL": (POSTGRES, {}),
    "Spark": (SPARK, {}),
}


def run(script: str, **given: object) -> dict[str, float]:
    """What a process of its own prints."""
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
    sizes = [int(float(text)) for text in sys.argv[1:]] or SIZES
    learned = "seconds, nodes = time.perf_counter() - start, len(tree.nodes)\n"
    fitted = "seconds, nodes = time.perf_counter() - start, nodes.node_count\n"
    head = ("rows", "DuckDB", "peak", "nodes", "sklearn", "peak", "nodes", "faster")
    shape = "{:>12}" + "{:>9}" * 7 + "{:>12}" * len(OTHERWISE)
    print(shape.format(*head, *OTHERWISE))
    for rows in sizes:
        with tempfile.TemporaryDirectory(prefix="treecompile-scale-") as folder:
            run(MAKE, rows=rows, part=PART, folder=folder)
            assert list(Path(folder).iterdir())
            here = run(OURS + learned + TOLD, folder=folder, depth=DEPTH, **CART)
            there = run(THEIRS + fitted + TOLD, folder=folder, depth=DEPTH)
            print(
                f"{rows:>12,}"
                f"{here['seconds']:>7.1f} s{here['peak']:>6.2f} GB{here['nodes']:>9.0f}"
                f"{there['seconds']:>7.1f} s{there['peak']:>6.2f} GB"
                f"{there['nodes']:>9.0f}{there['seconds'] / here['seconds']:>8.1f}x",
                end="",
                flush=True,
            )
            for script, given in OTHERWISE.values() if rows <= MOST_OTHERWISE else ():
                text = script + learned + TOLD
                try:
                    other = run(text, folder=folder, depth=DEPTH, **given)
                except subprocess.CalledProcessError as error:
                    why = error.stderr.strip().splitlines()[-1]
                    print(f"  left out: {why}", end="")
                    continue
                is_other_tree = given.get("algorithm", "cart") != "cart"
                assert is_other_tree or other["nodes"] == here["nodes"]
                print(f"{other['seconds']:>10.1f} s", end="", flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
