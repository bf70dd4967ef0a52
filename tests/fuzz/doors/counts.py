"""How many rows a table has, counted without our readers."""

from __future__ import annotations

import csv
import io
import json
import sys
import zlib
from pathlib import Path

import pyarrow.parquet as pq

from tests.fuzz.oracle import require
from treecompile.tables.lines import inner_suffix

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def count_rows(path: Path) -> int | None:
    """None where another program would have to count."""
    suffix = inner_suffix(str(path))
    if suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    data = unpacked(path)
    if data is None or suffix not in (".csv", ".tsv", ".jsonl", ".json"):
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None  # UTF-16
    lines = io.StringIO(data.decode("utf-8-sig"), newline="")
    if suffix == ".json" and lines.read().lstrip().startswith("["):
        return len(json.loads(lines.getvalue()))
    lines.seek(0)
    if suffix in (".jsonl", ".json"):
        return sum(not line.isspace() for line in lines)
    records = csv.reader(lines, delimiter="\t" if suffix == ".tsv" else ",")
    header = next(records)
    return sum(bool(record) for record in records) if len(header) > 1 else None


def unpacked(path: Path) -> bytes | None:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gunzipped(data)
    return zstd.decompress(data) if path.suffix == ".zst" else data


def gunzipped(data: bytes) -> bytes | None:
    """All members; None for a header that zlib refuses and others read."""
    made = b""
    while data:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            made += member.decompress(data)
        except zlib.error:
            return None
        require(member.eof, "a file that is cut off is read")
        data = member.unused_data.lstrip(b"\0")
    return made
