"""Ways to break bytes, texts and structures, each by a random generator."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from tests.support.random_models import HOSTILE, random_double

INJECTIONS = (
    "__import__('os').system('touch pwned')",
    '"""\n__import__("os").system("touch pwned")\n"""',
    "{{ cycler.__init__.__globals__.os.system('touch pwned') }}",
    "{% include 'x' %}",
    "$(touch pwned)",
    "'; DROP TABLE t; --",
    "\\'; ATTACH 'pwned' AS pwned; --",
    "x' UNION SELECT 1 --",
    "```\n# heading",
    "%(name)s {0} {name!r} {}",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
)
BROKEN = ("\ud800", "\udcff x", "a\udfff", "\x00", "a\x00b", "\ufeff", "\u2028", "\x85")
LONG = ("y" * 3000, "z," * 700, "(" * 500, "9" * 5000)
LEGAL = tuple(t for t in (*HOSTILE, *INJECTIONS) if t.strip() and "\0" not in t)
TEXTS: tuple[str, ...] = (
    *HOSTILE,
    *INJECTIONS,
    *BROKEN,
    *LONG,
    "../pwned",
    "prediction",
)
NUMBER_TEXTS = (
    *("0", "-0", "1", "-1", "0.5", "1e308", "1e309", "-1e400", "5e-324", "1e-400"),
    *(
        "inf",
        "-inf",
        "nan",
        "NaN",
        "Infinity",
        "0x10",
        "1_0",
        "00",
        "+1",
        " 1 ",
        "1.",
    ),
    *(".5", "1e", "٣", "9223372036854775807", "9223372036854775808", "-" + "9" * 400),
    *("true", "True", "FALSE", "null", "NA", "?", "9" * 5000, "1,5", "1e99999999"),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400),
    *(0.0, -0.0, 0.5, 1e308, 1.7976931348623157e308, 5e-324, 1e-300, True, False),
)
BYTES = (
    *(b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\r"),
    *(
        b"\n",
        b"\r\n",
        b'"',
        b"'",
        b",",
        b"\t",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b"%",
        b"?",
    ),
)
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\w.]+|\s+|.', re.DOTALL)


def hostile_text(random: Random) -> str:
    """Mostly a text that is legal, so that what uses it goes on."""
    return random.choice(TEXTS if random.random() < 0.3 else LEGAL)


def number_text(random: Random) -> str:
    if random.random() < 0.4:
        return repr(random_double(random))
    return random.choice(NUMBER_TEXTS)


def several(random: Random, most: int = 4) -> int:
    """Mostly one, sometimes more."""
    return min(most, 1 + int(random.expovariate(1.0)))


def argument(text: str) -> str:
    """A text as the system can pass it to a program: without NUL, as surrogates."""
    return text.replace("\0", "")


# ---------------------------------------------------------------- bytes


def break_bytes(random: Random, data: bytes) -> bytes:
    for _ in range(several(random)):
        data = _break_bytes_once(random, data)
    return data


def _break_bytes_once(random: Random, data: bytes) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 2, 8, 64)))
    match random.randrange(6):
        case 0:  # a part is lost
            return data[:start] + data[end:]
        case 1:  # the end is lost
            return data[:start]
        case 2:  # a part is doubled
            return data[:end] + data[start:]
        case 3:
            return data[:start] + random.choice(BYTES) + data[start:]
        case 4:
            return data[:start] + random.choice(BYTES) + data[end:]
    return data[:start] + random.randbytes(end - start) + data[end:]


# ---------------------------------------------------------------- text


def break_tokens(
    random: Random,
    text: str,
    words: Sequence[str] = TEXTS,
    token: re.Pattern[str] = TOKEN,
    most: int = 4,
) -> str:
    """Delete, double, exchange or replace tokens; `words` are what to put in."""
    tokens = token.findall(text)
    for _ in range(several(random, most)):
        _break_tokens_once(random, tokens, words)
    return "".join(tokens)


def _break_tokens_once(random: Random, tokens: list[str], words: Sequence[str]) -> None:
    if not tokens:
        tokens.append(random.choice(words))
        return
    here, there = random.randrange(len(tokens)), random.randrange(len(tokens))
    match random.randrange(9):
        case 7 | 8:  # everywhere, so that it fits
            old, new = tokens[here], random.choice(words)
            tokens[:] = [new if each == old else each for each in tokens]
        case 0:
            del tokens[here]
        case 1:
            tokens.insert(here, tokens[there])
        case 2:
            tokens[here], tokens[there] = tokens[there], tokens[here]
        case 3 | 4:
            tokens[here] = random.choice(words)
        case 5:
            tokens[here] = number_text(random)
        case 6:
            low, high = min(here, there), max(here, there)
            part = tokens[low : min(high, low + 12)]
            tokens[low:low] = part * random.choice((1, 1, 3))


def break_lines(random: Random, text: str, words: Sequence[str]) -> str:
    """The same for whole lines."""
    line = re.compile(r"[^\n]*\n|[^\n]+")
    return break_tokens(random, text, [f"{word}\n" for word in words], line)


# ---------------------------------------------------------------- structures

Path = tuple[str | int, ...]


def paths_of(value: Any) -> list[Path]:
    """Every place in a structure of dicts and lists."""
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, part = waiting.pop()
        found.append(path)
        if isinstance(part, dict):
            waiting += [((*path, key), item) for key, item in part.items()]
        elif isinstance(part, list):
            waiting += [((*path, place), item) for place, item in enumerate(part)]
    return found


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def break_structure(random: Random, value: Any, most: int = 4) -> Any:
    """A copy with some changes; most keep the types of the places."""
    value = deepcopy(value)
    for _ in range(several(random, most)):
        if random.random() < 0.4:
            value = _replaced_everywhere(random, value)
            continue
        paths = paths_of(value)[1:]
        if not paths:
            return value
        *above, last = random.choice(paths)
        _change(random, at(value, tuple(above)), last, value)
    return value


# Texts in model files and TOML that are one of a few: another is refused at once.
CHOICES = frozenset(
    (
        *("<=", ">", "in", "not in", "numeric", "categorical", "ordinal", "float"),
        *("str", "int", "bool", "branch", "fractional", "treecompile model", "code"),
    )
)


def _replaced_everywhere(random: Random, value: Any) -> Any:
    """A text or a number that becomes another wherever it occurs, so that it fits."""
    leaves = [at(value, path) for path in paths_of(value)]
    found = [each for each in leaves if isinstance(each, (str, int, float))]
    found = [each for each in found if each not in CHOICES]
    if not found:
        return value
    old = random.choice([leaf for leaf in found if isinstance(leaf, str)] or found)
    if random.random() < 0.3:
        old = random.choice(found)
    new = random.choice(TEXTS) if isinstance(old, str) else like(random, old)

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: replaced(item) for key, item in part.items()}
        if isinstance(part, list):
            return [replaced(item) for item in part]
        return new if type(part) is type(old) and part == old else part

    try:
        return replaced(value)
    except RecursionError:  # an earlier change has nested it too deeply
        return value


def _change(random: Random, parent: Any, key: Any, whole: Any) -> None:
    changes: tuple[Callable[[], Any], ...] = (
        lambda: parent.__setitem__(key, like(random, parent[key])),
        lambda: parent.__setitem__(key, like(random, parent[key])),
        lambda: parent.__setitem__(key, like(random, parent[key])),
        lambda: parent.__setitem__(key, scalar(random)),
        lambda: parent.__setitem__(key, nested(random, parent[key])),
        lambda: parent.__setitem__(
            key, deepcopy(at(whole, random.choice(paths_of(whole))))
        ),
        lambda: parent.__delitem__(key),
        lambda: _resize(random, parent[key]),
        lambda: _resize(random, parent),
    )
    random.choice(changes)()


def _resize(random: Random, part: Any) -> None:
    """Double, exchange or add items; rename or add keys."""
    if isinstance(part, list) and part:
        here, there = random.randrange(len(part)), random.randrange(len(part))
        if random.random() < 0.5:
            part[here], part[there] = part[there], part[here]
        else:
            part.insert(here, deepcopy(part[there]))
    elif isinstance(part, dict) and part:
        key = random.choice([*part])
        part[hostile_text(random)] = part[key]
        if random.random() < 0.5:
            del part[key]


def like(random: Random, value: Any) -> Any:
    """Another value of the same type, so that it may pass."""
    match value:
        case bool():
            return not value
        case int():
            return random.choice((value + 1, value - 1, *NUMBERS[:11]))
        case float():
            return random.choice((random_double(random), -value, value * 2, 1e308))
        case str():
            return random.choice((hostile_text(random), value + " ", value.swapcase()))
        case list():
            return random.sample(value, random.randint(0, len(value)))
        case dict() if value:
            kept = random.sample([*value], random.randint(0, len(value)))
            return {name: value[name] for name in kept}
    return scalar(random)


def scalar(random: Random) -> Any:
    choices: tuple[Any, ...] = (
        None,
        [],
        {},
        random.choice(NUMBERS),
        hostile_text(random),
        [None],
        "inf",
    )
    return random.choice(choices)


def nested(random: Random, value: Any) -> Any:
    for _ in range(random.choice((1, 1, 2, 300))):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value
