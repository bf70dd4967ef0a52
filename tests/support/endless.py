"""The command `treecompile`, with a query in DuckDB that does not end.

`python -m tests.support.endless learn ...` learns as usual until it has made its
temporary table. Then it runs a query that only a signal can end, and prints a
line as soon as DuckDB is at work on it: a test that waits for this line cannot send
its signal too early or too late.
"""

from __future__ import annotations

import signal
from queue import SimpleQueue
from threading import Thread

import numpy as np

from treecompile.__main__ import run
from treecompile.engines.duckdb import DuckDB

REACHED = "in the query"
ENDLESS = (
    "SELECT sum(i) FROM range(1000000000000000000) AS r(i)"
    " WHERE i > 9 OR began(i, true, 0)"  # which is called for the first rows only
)

arrays = DuckDB.arrays
rows: SimpleQueue[int] = SimpleQueue()


def endless_arrays(self: DuckDB, query: str) -> list[np.ndarray]:
    if not self.made:
        return arrays(self, query)
    # DuckDB does not notice a signal while all the work is on another thread.
    self.connection.execute("SET threads = 1")
    # A builtin method: no Python code runs in which the signal could arrive.
    types = ["BIGINT", "BOOLEAN", "INTEGER"]  # of row, block, timeout
    self.connection.create_function(
        "began", rows.put, types, "BOOLEAN", null_handling="special"
    )
    Thread(target=tell, daemon=True).start()
    return arrays(self, ENDLESS)


def tell() -> None:
    rows.get()
    print(REACHED, flush=True)


if __name__ == "__main__":
    # A process inherits ignored signals, for example from nohup.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    DuckDB.arrays = endless_arrays  # type: ignore[method-assign]
    run()
