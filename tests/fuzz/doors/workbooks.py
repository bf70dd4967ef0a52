"""Excel workbooks, written by hand so that every part of one can be wrong."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from functools import partial
from random import Random
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tests.fuzz.doors.base import Door
from tests.fuzz.doors.formats import Table, as_text
from tests.fuzz.doors.packed import BOMB
from tests.fuzz.doors.tables import check_learned, make_case
from tests.fuzz.mutate import (
    TEXTS,
    break_bytes,
    break_tokens,
    hostile_text,
    number_text,
    several,
)

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
KINDS = ("b", "n", "s", "str", "inlineStr", "e", "d", "x", "")
DAY = 1  # the style of dates
BOMBS = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">'
    + "".join(
        f'<!ENTITY {new} "{f"&{old};" * 10}">'
        for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]>\n",
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n',
    '<!DOCTYPE x SYSTEM "http://localhost:1/x.dtd">\n',
)
WORDS = (
    *("&a;", "&j;", "&#0;", "&#55296;", "<!--", "]]>", "<v>", "</row>", "<c/>"),
    *("A1048577", "XFD1", "ZZZZ9", "A0", "$A$1", "a1", "1", "", "s", "e", "inlineStr"),
    *("../pwned.xml", "/xl/worksheets/sheet1.xml", "http://localhost:1/x", "#N/A"),
    *("veryHidden", "_x0000_", "_xD800_", "99999999999", "-1", "1e999", "2958466"),
)


# ---------------------------------------------------------------- the parts


def place(row: int, column: int) -> str:
    return f"{'ABCDEFGHIJ'[column]}{row}"


def cell(random: Random, where: str, value: Any, shared: list[str]) -> str:
    if random.random() < 0.003:
        return odd_cell(random, where)
    if value is None:
        return random.choice(("", f'<c r="{where}"/>', f'<c r="{where}" t="s"/>'))
    if isinstance(value, bool):
        return f'<c r="{where}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        style = f' s="{DAY}"' if random.random() < 0.003 else ""
        return f'<c r="{where}"{style}><v>{value!r}</v></c>'
    text = xml_text(value)
    match random.randrange(3):
        case 0:
            shared.append(text)
            return f'<c r="{where}" t="s"><v>{len(shared) - 1}</v></c>'
        case 1:
            return f'<c r="{where}" t="str"><f>A1</f><v>{text}</v></c>'
    return f'<c r="{where}" t="inlineStr"><is><t>{text}</t></is></c>'


def xml_text(value: str) -> str:
    """Mostly what XML can hold; the rest as Excel escapes it."""
    parts = (
        f"_x{ord(c):04X}_" if ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 else c
        for c in value
    )
    return escape("".join(parts))


def odd_cell(random: Random, where: str) -> str:
    """A type that does not fit the value, a place elsewhere, a date beyond all."""
    where = random.choice((where, where, *WORDS[9:15]))
    kind, style = random.choice(KINDS), random.choice(("", "0", "1", "2", "99", "x"))
    values = ("#N/A", "#REF!", "0", "2", "-1", "1e400", "60", "2958466", "2026-01-01")
    value = random.choice(
        (*values, number_text(random), xml_text(hostile_text(random)))
    )
    formula = random.choice(("", "<f/>", "<f>1/0</f>", '<f t="shared" si="9"/>'))
    inner = f"{formula}<v>{value}</v>"
    return f'<c r={quoteattr(where)} t="{kind}" s="{style}">{inner}</c>'


def sheet(random: Random, table: Table, shared: list[str]) -> str:
    lines = []
    for number, values in enumerate((table.names, *table.rows), start=1):
        number += 10**6 * (random.random() < 0.001)
        cells = (
            cell(random, place(number, i), v, shared) for i, v in enumerate(values)
        )
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    claimed = random.choice(("A1:C9", "A1:XFD1048576", "A1", "", "x"))
    dimension = f'<dimension ref="{claimed}"/>' * (random.random() < 0.3)
    more = '<mergeCells><mergeCell ref="A1:B2"/></mergeCells>'
    data = "".join(lines)
    return (
        f'{HEAD}<worksheet xmlns="{MAIN}">{dimension}<sheetData>{data}</sheetData>'
        f"{more * (random.random() < 0.1)}</worksheet>"
    )


def parts(random: Random, table: Table) -> dict[str, str]:
    """The members of a workbook of one or two sheets."""
    shared: list[str] = []
    count = 1 if random.random() < 0.8 else 2
    sheets = {
        f"xl/worksheets/sheet{n}.xml": sheet(random, table, shared)
        for n in range(1, count + 1)
    }
    state = 'state="hidden"' if random.random() < 0.05 else ""
    title = "Sheet" if random.random() < 0.7 else as_text(hostile_text(random))
    named = "".join(
        f'<sheet name={quoteattr(xml_text(title)[:31] + str(n))} sheetId="{n}" {state}'
        f' r:id="rId{n}"/>'
        for n in range(1, count + 1)
    )
    dated = '<workbookPr date1904="1"/>' * (random.random() < 0.1)
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{LINKS}/worksheet"'
        f' Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, count + 1)
    )
    links += (
        f'<Relationship Id="rId8" Type="{LINKS}/styles" Target="styles.xml"/>'
        f'<Relationship Id="rId9" Type="{LINKS}/sharedStrings"'
        ' Target="sharedStrings.xml"/>'
    )
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPE}.worksheet+xml"/>'
        for name in sheets
    )
    return {
        "[Content_Types].xml": (
            f'{HEAD}<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels"'
            ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            '<Override PartName="/xl/workbook.xml"'
            f' ContentType="{TYPE}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/>'
            '<Override PartName="/xl/sharedStrings.xml"'
            f' ContentType="{TYPE}.sharedStrings+xml"/>{types}</Types>'
        ),
        "_rels/.rels": (
            f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships"><Relationship'
            f' Id="rId1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>"
        ),
        "xl/workbook.xml": (
            f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">{dated}'
            f"<sheets>{named}</sheets></workbook>"
        ),
        "xl/_rels/workbook.xml.rels": (
            f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{links}'
            "</Relationships>"
        ),
        "xl/styles.xml": (
            f'{HEAD}<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
            '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
        ),
        "xl/sharedStrings.xml": (
            f'{HEAD}<sst xmlns="{MAIN}">'
            f'{"".join(f"<si><t>{text}</t></si>" for text in shared)}</sst>'
        ),
        **sheets,
    }


# ---------------------------------------------------------------- the archive


def spoil(random: Random, members: dict[str, str]) -> dict[str, str]:
    """Change what is in some members, or which there are."""
    for _ in range(several(random)):
        name = random.choice([*members])
        match random.randrange(8):
            case 0:
                del members[name]
            case 1:
                members[name] = random.choice((*members.values(), "", HEAD, "<a/>"))
            case 2:
                new = random.choice(
                    ("../pwned", "/pwned", name.upper(), name + "/", "")
                )
                members[new] = members.pop(name)
            case 3:
                members[name] = HEAD + random.choice(BOMBS) + members[name][len(HEAD) :]
                words = ("&a;", "&j;")
                members[name] = break_tokens(random, members[name], words, most=2)
            case 4 if random.random() < 0.1:
                filler = random.choice((" ", "<row/>", "<c><v>1</v></c>", "<!---->"))
                padding = filler * (BOMB // len(filler))
                members[name] = members[name].replace("</", f"{padding}</", 1)
            case _:
                members[name] = break_tokens(random, members[name], (*TEXTS, *WORDS))
        if not members:
            break
    return members


def archived(random: Random, members: dict[str, str]) -> bytes:
    file = io.BytesIO()
    method = random.choice((0, 8, 8, 8, 12, 14))  # stored, deflated, bzip2, lzma
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that is there twice
        for name, text in members.items():
            archive.writestr(
                zipfile.ZipInfo(name), text.encode(errors="replace"), method
            )
            if random.random() < 0.005:
                archive.writestr(zipfile.ZipInfo(name), b"<a/>")
        archive.comment = b"x" * random.choice((0, 0, 0, 9))
    return file.getvalue()


def mislabelled(random: Random, data: bytes) -> bytes:
    """Another value in a field of a head or of the directory: flags, sizes, sums."""
    signature, width = random.choice(
        ((b"PK\1\2", 46), (b"PK\3\4", 30), (b"PK\5\6", 22))
    )
    starts = [n for n in range(len(data)) if data.startswith(signature, n)]
    if not starts:
        return data
    where = random.choice(starts) + random.randrange(4, width, 2)
    value = random.choice((0, 1, 8, 99, 0xFFFF, random.randrange(2**16)))
    return data[:where] + struct.pack("<H", value) + data[where + 2 :]


def excel(table: Table, random: Random) -> bytes:
    members = parts(random, table)
    draw = random.random()
    if draw < 0.3:
        members = spoil(random, members)
    data = archived(random, members)
    if 0.3 < draw < 0.36:
        return mislabelled(random, data)
    return break_bytes(random, data) if 0.36 < draw < 0.42 else data


DOORS = (
    Door("excel", partial(make_case, "excel", ".xlsx", excel), check_learned, 150),
)
