"""ClickHouse, in this process and in memory, through chdb; it only runs artefacts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecompile.engines.base import ArrowConnection, Connection, arrow_table, driver
from treecompile.model.ir import Row

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS = (
    # A user needs these, too, for a text as long as that of a large tree.
    *("max_query_size = 1000000000", "max_ast_elements = 100000000"),
    *("max_expanded_ast_elements = 100000000", "max_parser_backtracks = 1000000000"),
    # Rows are inserted by position, not by name.
    "use_structure_from_insertion_table_in_table_functions = 0",
)


class ClickHouse(ArrowConnection):
    create = "CREATE TABLE {} ({}) ENGINE = Memory"
    schema = "CREATE DATABASE IF NOT EXISTS {}"

    def arrow(self, query: str) -> pa.Table:
        import pyarrow as pa

        found = self.connection.query(query, "ArrowStream").bytes()
        return pa.ipc.open_stream(found).read_all() if found else pa.table({})

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        settings = (
            "readonly = 1",
            f"max_result_rows = {most}",
            f"max_execution_time = {self.seconds}",
        )
        return super().fetch(f"{query}\nSETTINGS {', '.join(settings)}", most)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        import pyarrow as pa

        columns = arrow_table(rows)
        with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
            path = Path(folder) / "rows"
            with (
                pa.OSFile(str(path), "wb") as file,
                pa.ipc.new_stream(file, columns.schema) as stream,
            ):
                stream.write_table(columns)
            source = f"file('{path}', 'ArrowStream')"
            self.execute(f"INSERT INTO {table} SELECT * FROM {source}")


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    chdb = driver("chdb")
    # One connection per run: after an error, the rest of its output would come before
    # the next answer.
    with closing(chdb.connect(":memory:")) as connection:
        session = ClickHouse(connection, RuntimeError, ValueError)
        session.execute(f"SET {', '.join(SETTINGS)}")
        yield session
