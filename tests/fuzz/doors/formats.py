"""Random tables, and how each format writes them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from tests.fuzz.mutate import hostile_text, number_text

PLAIN = ("x", "size", "colour", "grade", "n", "flag", "code", "temp", "id", "when")
WORDS = ("red", "green", "blue", "low", "mid", "high", "yes", "no")


@dataclass(frozen=True)
class Table:
    names: list[str]
    rows: list[list[Any]]  # None, texts, numbers and booleans

    @property
    def target(self) -> str:
        return self.names[-1]


# ---------------------------------------------------------------- a table


def random_table(random: Random) -> Table:
    """Mostly sensible, so that something is learned; the last column is the target."""
    width, height = random.randint(1, 5), random.choice((1, 5, 8, 12, 20, 30))
    height = 0 if random.random() < 0.02 else height
    names = random_names(random, width)
    columns = [random_column(random, height) for _ in names]
    target = random_name(random) if random.random() < 0.2 else "y"
    if target not in names:
        names.append(target)
        columns.append(random_target(random, columns, height))
    return Table(names, [list(row) for row in zip(*columns, strict=True)])


def random_names(random: Random, width: int) -> list[str]:
    names = list(dict.fromkeys(random_name(random) for _ in range(width)))
    if random.random() < 0.03:
        names.append(names[0])
    return names


def random_name(random: Random) -> str:
    return hostile_text(random) if random.random() < 0.25 else random.choice(PLAIN)


def random_column(random: Random, height: int) -> list[Any]:
    makers: tuple[Callable[[], Any], ...] = (
        lambda: random.randint(-3, 9),
        lambda: round(random.uniform(-5, 5), 2),
        lambda: random.choice(WORDS[:4]),
        lambda: random.choice((True, False)),
        lambda: number_text(random),
        lambda: hostile_text(random),
        lambda: random.choice((2**53 + random.randint(0, 3), 1e300, -1e300, 5e-324)),
        lambda: f"2026-01-{random.randint(1, 28):02}",
    )
    make = random.choice(makers if random.random() < 0.3 else makers[:4])
    holes = random.choice((0, 0, 0.1, 0.5, 1 if random.random() < 0.1 else 0))
    column = [None if random.random() < holes else make() for _ in range(height)]
    if height and random.random() < 0.1:
        column[random.randrange(height)] = random.choice(makers)()
    return column


def random_target(random: Random, columns: list[list[Any]], height: int) -> list[Any]:
    """Often a function of another column, which a tree can find."""
    column = random.choice(columns)
    if random.random() < 0.3:
        return random_column(random, height)
    if random.random() < 0.3:
        return [hash_of(value) / 8 for value in column]
    return [WORDS[4 + hash_of(value) % 4] for value in column]


def hash_of(value: Any) -> int:
    return sum(map(ord, str(value))) % 97


# ---------------------------------------------------------------- formats


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def delimited(table: Table, random: Random, delimiter: str) -> bytes:
    lines = io.StringIO()
    quoting: Literal[0, 1] = 0 if random.random() < 0.5 else 1  # minimal or all
    ending = random.choice(("\n", "\n", "\r\n"))
    writer = csv.writer(
        lines, delimiter=delimiter, lineterminator=ending, quoting=quoting
    )
    writer.writerow(table.names)
    writer.writerows([*map(as_text, row)] for row in table.rows)
    data = encoded(random, lines.getvalue())
    return b"\xef\xbb\xbf" + data if random.random() < 0.1 else data


def encoded(random: Random, text: str) -> bytes:
    """UTF-8; rarely with halves of surrogate pairs, which are not."""
    is_rare = random.random() < 0.05
    return text.encode(errors="surrogatepass" if is_rare else "replace")


def csv_bytes(table: Table, random: Random) -> bytes:
    return delimited(table, random, ",")


def tsv_bytes(table: Table, random: Random) -> bytes:
    return delimited(table, random, "\t")


def json_lines(table: Table, random: Random) -> bytes:
    records = (dict(zip(table.names, row, strict=True)) for row in table.rows)
    ascii_only = random.random() < 0.5
    text = "".join(f"{json.dumps(r, ensure_ascii=ascii_only)}\n" for r in records)
    return encoded(random, text)


def json_array(table: Table, random: Random) -> bytes:
    records = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    indent = random.choice((None, 0, 2))
    ascii_only = random.random() < 0.5
    return encoded(random, json.dumps(records, indent=indent, ensure_ascii=ascii_only))


def parquet(table: Table, random: Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays, names = [], []
    for place, name in enumerate(table.names):
        values = [row[place] for row in table.rows]
        arrays.append(_array(pa, random, values))
        names.append(name.encode(errors="replace").decode())
    made = pa.Table.from_arrays(arrays, names=names)
    file = io.BytesIO()
    pq.write_table(made, file, compression="none", store_schema=random.random() < 0.5)
    return file.getvalue()


def _array(pa: Any, random: Random, values: list[Any]) -> Any:
    """A column of a type that holds the values, now and then of an unusual one."""
    unusual: tuple[Callable[[], Any], ...] = (
        lambda: pa.array([None for _ in values]),
        lambda: pa.array([[value] for value in values]),
        lambda: pa.array([b"\xff" for _ in values]),
        lambda: pa.array([n * 10**15 for n in range(len(values))], pa.timestamp("us")),
        lambda: pa.array(range(len(values)), pa.uint64()),
        lambda: pa.array([n / 7 for n in range(len(values))], pa.float32()),
        lambda: pa.array([f"{n}" for n in range(len(values))]).dictionary_encode(),
        lambda: pa.array([{"a": 1} for _ in values]),
        lambda: pa.array([str(v) for v in range(len(values))]).cast(
            pa.decimal128(20, 3)
        ),
    )
    try:
        return random.choice(unusual)() if random.random() < 0.15 else pa.array(values)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        texts = [None if v is None else as_text(v) for v in values]
        clean = (t and t.encode(errors="replace").decode() for t in texts)
        return pa.array(list(clean))
