"""Values of options on the command line, and the small files that options name."""

from __future__ import annotations

from itertools import pairwise
from os.path import normpath
from random import Random

from tests.fuzz.case import Case, Database
from tests.fuzz.doors.base import Door, flags_of
from tests.fuzz.mutate import (
    NUMBER_TEXTS,
    TEXTS,
    argument,
    break_bytes,
    break_tokens,
)
from tests.support.samples import ROOT, TENNIS
from treecompile.cli import main

DATA = b"x,colour,y\n1,red,no\n2,red,no\n3,blue,yes\n4,blue,yes\n5,,yes\n,red,no\n"
GLOSSARY = b"name,description,unit\nx,how large,cm\ncolour,its colour,\n"
COSTS = b"x,1\ncolour,2.5\n"
DATABASE = Database(
    "shop.db",
    "sqlite",
    "rows",
    [("x", "REAL"), ("colour", "TEXT"), ("y", "TEXT")],
    [[1.0, "red", "no"], [2.0, "blue", "yes"], [None, "red", "no"]],
)
# Commands that succeed, to which an option is added.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("learn", "data.csv", "--target", "y", "-o", "out.json"),
    ("learn", "--from", "sqlite://shop.db", "--table", "rows", "--target", "y"),
    ("build", "data.csv", "--target", "y", "--out", "out", "--no-verify"),
    ("evaluate", "data.csv", "--target", "y", "--cv", "2"),
    ("evaluate", "model.json", "tennis.csv"),
    ("predict", "model.json", "tennis.csv", "-o", "out.csv"),
    ("emit", "model.json", "--to", "sql"),
    ("emit", "model.json", "--to", "sql", "--as", "select", "--table", "t"),
    ("emit", "model.json", "--to", "markdown"),
    ("emit", "model.json", "--to", "rules"),
    ("verify", "model.json", "tennis.sql", "--budget", "200"),
    ("rules", "model.json", "-o", "out.json"),
    ("show", "model.json"),
    ("draw", "model.json"),
    ("check", "model.json"),
    ("diff", "model.json", "model.json"),
    (
        "score",
        "model.json",
        "--from",
        "sqlite://shop.db",
        "--table",
        "rows",
        "--into",
        "n",
    ),
)
SMALL = (
    "0",
    "1",
    "2",
    "-1",
    "3",
    "0.5",
    "x",
    "y",
    "colour",
    "label",
    "rule",
    "gini",
    "a,b",
)
PATHS = (
    *(
        "model.json",
        "data.csv",
        "nosuch",
        ".",
        "",
        "/dev/null",
        "/dev/full",
        "-",
    ),
    *(
        "nosuch/x.json",
        "data.csv/x",
        "link",
        "glossary.csv",
        "costs.csv",
        "t.parquet",
        "*",
    ),
    *("*.parquet", "[", "~", "a" * 300, "x\ny.json", "empty", "shop.db", "data.csv/"),
)
# Engines and addresses that would wait for a server or start a Java machine.
BARRED = ("spark", "clickhouse", "mariadb", "postgres", "mysql")
FILES = {
    "data.csv": DATA,
    "tennis.csv": TENNIS.read_bytes(),
    "model.json": (ROOT / "examples/tennis/out/model.json").read_bytes(),
    "tennis.sql": (ROOT / "examples/tennis/out/predict.sql").read_bytes(),
    "glossary.csv": GLOSSARY,
    "costs.csv": COSTS,
    "empty": b"",
}


def a_value(random: Random) -> str:
    pool = random.choice((SMALL, SMALL, NUMBER_TEXTS, TEXTS, PATHS, PATHS))
    value = random.choice(pool)
    if random.random() < 0.15:
        value = f"{random.choice(pool)}{random.choice('=,=:/')}{value}"
    is_device = value in ("/dev/null", "/dev/full")
    return value if is_device else inside(argument(value))


def inside(value: str) -> str:
    """Without what leads out of the folder of the case: it might be an output."""
    return value.lstrip("/").replace("../", "./")


def make_options(random: Random) -> Case:
    """A command that works, with options added, replaced or lost."""
    command = list(random.choice(COMMANDS))
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        match random.randrange(8):
            case 0:
                del command[random.randrange(len(command))]
            case 1:
                command[random.randrange(1, len(command) or 2)] = a_value(random)
            case _:
                command += an_option(random, command[0])
        if len(command) < 2:
            break
    if any(word in part.lower() for part in command for word in BARRED):
        command = ["--help"]
    return Case(
        "options",
        (tuple(command),),
        FILES,
        (DATABASE,) if "shop.db" in " ".join(command) else (),
        writes=allowed(command),
        changes=("shop.db",) if "score" in command else (),
    )


def an_option(random: Random, command: str) -> list[str]:
    if command not in main.commands:
        return [a_value(random)]
    flag, takes_value = random.choice(flags_of(command))
    if flag == "--help":
        return []
    return [flag, a_value(random)] if takes_value else [flag]


def allowed(command: list[str]) -> tuple[str, ...]:
    """What a command may write: its default, and the values of options that name it.

    Not one of its inputs: those are in the command elsewhere.
    """
    named = ["out", "out.json", "out.csv", "model.json", "rules.json"]
    flags = ("-o", "--out", "--into")
    for flag, value in pairwise(command):
        if flag in flags:
            named += [value, value.rstrip("/"), value.rpartition(".")[0] + ".yml"]
    for part in command:
        for flag in flags:
            if part.startswith(flag):
                named.append(part.removeprefix(flag).lstrip("="))
    inputs = (*FILES, DATABASE.file)
    text = " ".join(command)
    once = (
        n
        for n in map(normpath, filter(None, named))
        if n not in inputs or text.count(n) < 2
    )
    return tuple(dict.fromkeys(name for name in once if name != "."))


# ---------------------------------------------------------------- small files


def make_sidecar(random: Random) -> Case:
    """A glossary or a table of costs, broken."""
    name, data = random.choice((("glossary.csv", GLOSSARY), ("costs.csv", COSTS)))
    if random.random() < 0.7:
        words = (*NUMBER_TEXTS, *TEXTS, ",", "\n", '"', "x", "colour", "unit")
        text = break_tokens(random, data.decode(), words)
        data = text.encode(errors="surrogatepass")
    else:
        data = break_bytes(random, data)
    command = ["learn", "data.csv", "--target", "y", "--costs", name, "-o", "out.json"]
    if name == "glossary.csv":
        command = ["emit", "model.json", "--to", "markdown", "--glossary", name]
        command += ["-o", "out.md"]
    files = {**FILES, name: data}
    return Case("sidecar", ((*command, "-q"),), files, writes=("out.json", "out.md"))


DOORS = (
    Door("options", make_options, usual=400),
    Door("sidecar", make_sidecar, usual=200),
)
