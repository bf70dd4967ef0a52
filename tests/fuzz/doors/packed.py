"""Compressed tables: several members, odd headers, damage, and bombs."""

from __future__ import annotations

import gzip
import struct
import sys
import zlib
from collections.abc import Callable
from functools import partial
from random import Random

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.formats import Table, csv_bytes, json_lines, tsv_bytes
from tests.fuzz.doors.tables import broken, check_learned, make_case
from tests.fuzz.mutate import break_bytes, hostile_text

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

UNPACKED = 4_000_000  # bytes that a worker unpacks at most
BOMB = 5_000_000
INSIDE = {
    ".csv": csv_bytes,
    ".tsv": tsv_bytes,
    ".jsonl": json_lines,
}
PIECES = (b"\n", b" ", b"a", b"1,2\n", b'{"x": 1, "y": 2}\n', b'"', b"\0", b"\xff")
Pack = Callable[[Random, bytes], bytes]


def damaged(random: Random, pack: Pack, data: bytes) -> bytes:
    """Compressed data; more often than not, it is sound."""
    match random.randrange(16):
        case 0:
            return data  # not compressed, whatever its name says
        case 1:
            return pack(random, pack(random, data))
        case 2:
            return break_bytes(random, pack(random, data))
        case 3:  # the end is lost
            whole = pack(random, data)
            return whole[: random.randint(0, len(whole))]
        case 4:  # something follows
            more = (b"\0" * 9, b"\0x", b"x", data[:20], pack(random, data)[:9])
            return pack(random, data) + random.choice(more)
        case 5:  # the check at the end is wrong
            whole = pack(random, data)
            place = len(whole) - random.randint(1, 8)
            return whole[:place] + random.randbytes(1) + whole[place + 1 :]
        case 6 | 7 | 8:  # parts, each compressed by itself
            cut = random.randint(0, len(data))
            return pack(random, data[:cut]) + pack(random, data[cut:])
        case 9 if random.random() < 0.3:
            piece = random.choice(PIECES)
            return pack(random, data + piece * (BOMB // len(piece)))
    return pack(random, data)


def gzipped(random: Random, data: bytes) -> bytes:
    """A member, mostly as gzip writes it, or with all that a header can have."""
    level = random.choice((0, 1, 6, 9))
    if random.random() < 0.5:
        return gzip.compress(data, level, mtime=0)
    flags, more = 0, b""
    extra = random.randbytes(random.choice((0, 5, 300)))
    text = hostile_text(random).encode(errors="replace").replace(b"\0", b"")
    for flag, field in (
        (4, struct.pack("<H", len(extra)) + extra),
        (8, text + b"\0"),
        (16, text + b"\0"),
    ):
        if random.random() < 0.5:
            flags, more = flags | flag, more + field
    method = 8 if random.random() < 0.95 else random.randrange(256)
    flags |= random.choice((0, 0, 0, 1, 2, 32, 224))
    head = b"\x1f\x8b" + bytes((method, flags, 1, 2, 3, 4, 0, 255)) + more
    if flags & 2:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    size = len(data) if random.random() < 0.9 else random.randrange(2**32)
    end = struct.pack("<II", zlib.crc32(data), size & 0xFFFFFFFF)
    return head + deflate.compress(data) + deflate.flush() + end


def zstandard(random: Random, data: bytes) -> bytes:
    """A frame, perhaps behind one to skip, or with an odd head."""
    known = zstd.CompressionParameter
    options = {
        known.compression_level: random.choice((1, 3, -5)),
        known.checksum_flag: random.randrange(2),
        known.content_size_flag: random.randrange(2),
    }
    if random.random() < 0.05:
        options[known.window_log] = random.choice((10, 27, 30))
    made = zstd.compress(data, options=options)  # type: ignore[arg-type]
    match random.randrange(20):
        case 0 | 1:  # for other programs
            magic = struct.pack("<I", 0x184D2A50 + random.randrange(16))
            skipped = random.randbytes(random.choice((0, 3, 500)))
            size = len(skipped) if random.random() < 0.7 else random.randrange(2**32)
            return magic + struct.pack("<I", size) + skipped + made
        case 2:  # the flags, the window, a dictionary: what a head announces
            head = bytes(random.randrange(256) for _ in range(random.randint(1, 6)))
            return made[:4] + head + made[4 + len(head) :]
    return made


def make(name: str, suffix: str, pack: Pack, random: Random) -> Case:
    inner = random.choice((".csv", *INSIDE))

    def write(table: Table, random: Random) -> bytes:
        data = INSIDE[inner](table, random)
        if random.random() < 0.2:
            data = broken(random, data, inner)
        return damaged(random, pack, data)

    return make_case(name, inner + suffix, write, random)


DOORS = (
    Door("gzip", partial(make, "gzip", ".gz", gzipped), check_learned, 250),
    Door(
        "zstandard", partial(make, "zstandard", ".zst", zstandard), check_learned, 250
    ),
)
