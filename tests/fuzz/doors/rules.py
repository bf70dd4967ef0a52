"""Rules as text, and documents that contain rules, broken by tokens and lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

from tests.fuzz.answers import program_in
from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.models import WRITES, a_command, a_program, check_made
from tests.fuzz.mutate import (
    TEXTS,
    break_bytes,
    break_lines,
    break_structure,
    break_tokens,
)
from tests.fuzz.oracle import Outcome, require
from tests.support.reviews import accepting
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import Tree
from treecompile.model.paths import DEFAULT_ID
from treecompile.rules.language.printer import print_rules
from treecompile.rules.seals import seals

KEYWORDS = (
    *("TARGET", "FEATURE", "NUMERIC", "TEXT", "INTEGER", "BOOLEAN", "ORDER", "IF"),
    *("AND", "THEN", "ALWAYS", "OTHERWISE", "IN", "IS", "NOT", "OR", "ANY", "OTHER"),
    *("MISSING", "KNOWN", "PRESENT", "true", "false", "{", "}", "(", ")", "[", "]"),
    *(",", ":", ";", "<=", "<", ">", ">=", "=", "!=", "≠", "≤", "@0", "@ffffffff", "#"),
    *("R1", "size", "colour", "is new", "red", "yes", "no", "1e999", "-0", '"', "\\"),
    *('"\\ud800"', '"\\u0000"', '"\\x"', '""', '"\\n"', "cases: 3", "reached: 2"),
)
LINES = (
    *("```rules", "```", "~~~", "~~~rules", "````rules", "   ```rules", "    ```rules"),
    *(
        "OTHERWISE yes",
        "IF size > 1 THEN no",
        "# note",
        "TARGET y IN {a}",
        "> ```rules",
    ),
    *("FEATURE size NUMERIC", "<!--", "-->", "\ufeff", "\x00", "``` rules", "```Rules"),
)
WORDS = (*KEYWORDS, *KEYWORDS, *KEYWORDS, *TEXTS)


def with_another_string(random: Random, text: str) -> str:
    """A name or category that becomes another one, in quotes, wherever it occurs."""
    strings = re.findall(r'"(?:[^"\\\n]|\\.)*"|\b[a-z]+\b', text)
    if not strings:
        return text
    return text.replace(random.choice(strings), json.dumps(random.choice(TEXTS)))


def broken_rules(random: Random, text: str) -> bytes:
    draw = random.random()
    if draw < 0.3:
        return with_another_string(random, text).encode(errors="surrogatepass")
    if draw < 0.7:
        text = break_tokens(random, text, WORDS)
    data = text.encode(errors="surrogatepass")
    return break_bytes(random, data) if draw > 0.93 else data


def broken_document(random: Random, text: str) -> bytes:
    draw = random.random()
    if random.random() < 0.4:  # elsewhere, every edit is refused
        head, fence, block = text.partition("```rules\n")
        rules, end, rest = block.partition("\n```\n")
        made = broken_rules(random, rules).decode(errors="surrogateescape")
        text = f"{head}{fence}{made}{end}{rest}"
        return text.encode(errors="surrogateescape")
    if draw < 0.4:
        text = break_lines(random, text, LINES)
    elif draw < 0.8:
        text = break_tokens(random, text, (*WORDS, *LINES))
    data = text.encode(errors="surrogatepass")
    return break_bytes(random, data) if draw > 0.93 else data


def case_of(random: Random, door: str, name: str, data: bytes) -> Case:
    command = a_command(random, name)
    if random.random() < 0.1:
        more = ("--data", "rows.csv") if random.random() < 0.5 else ()
        command = ("build", name, *more, "--out", "out", "--no-verify", "-q")
    seed = random.randrange(10**6)
    files = {
        name: data,
        "rows.csv": b"size,colour,grade,is new,play\n1,red,low,true,no\n",
    }
    return Case(door, (command,), files, writes=WRITES, seed=seed)


def make_rules(random: Random) -> Case:
    data = broken_rules(random, print_rules(a_program(random)))
    return case_of(random, "rules", "m.rules", data)


def make_document(random: Random) -> Case:
    program = a_program(random)
    text = emit(program, "markdown", EmitOptions()).text
    return case_of(random, "document", "m.md", broken_document(random, text))


def make_review(random: Random) -> Case:
    """A review of a model, broken, or of another one."""
    program = a_program(random)
    of = program if random.random() < 0.9 else a_program(random)
    review = accepting(of)
    for verdict in review["rules"].values():
        verdict["state"] = random.choice(("accepted", "accepted", "open", "rejected"))
    if random.random() < 0.7:
        review = break_structure(random, review)
    data = json.dumps(review).encode()
    data = break_bytes(random, data) if random.random() < 0.1 else data
    text = emit(program, "markdown", EmitOptions()).text
    command: tuple[str, ...] = ("sign-off", "m.md", "review.json")
    if random.random() < 0.3:
        out = ("--out", "out", "--no-verify", "-q")
        command = ("build", "m.md", "--review", "review.json", *out)
    files = {"m.md": text.encode(), "review.json": data}
    return Case("review", (command,), files, writes=WRITES)


def check_review(case: Case, folder: Path, outcomes: list[Outcome]) -> None:
    """All is accepted only if the review accepts every rule."""
    if outcomes[0].command == "sign-off" and outcomes[0].code == 0:
        review = json.loads((folder / "review.json").read_bytes())
        verdicts = review["rules"].values()
        accepted = {each["seal"] for each in verdicts if each["state"] == "accepted"}
        program = program_in(folder / "m.md")
        rules = seals(program)
        if isinstance(program.body, Tree):
            del rules[DEFAULT_ID]  # no row comes to it
        require(accepted >= {*rules.values()}, "not every rule was accepted")
        require(review["decision"]["state"] == "accepted", "nor was the whole")


DOORS = (
    Door("review", make_review, check_review, usual=100),
    Door("rules", make_rules, check_made, usual=400),
    Door("document", make_document, check_made, usual=200),
)
