"""Model files of other libraries, made smaller and broken within their formats."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

from tests.fuzz.mutate import (
    TEXTS,
    break_lines,
    break_structure,
    break_tokens,
    number_text,
    several,
)
from tests.support.samples import ROOT

DATA = ROOT / "tests" / "oracles" / "data"
LIGHTGBM_WORDS = (
    *("0", "1", "-1", "2", "-2", "10", "nan", "inf", "1e308", "1e-35", "none", "="),
    *("binary sigmoid:1", "regression sqrt", "poisson", "lambdarank", "num_class:9"),
    *("multiclassova num_class:3 sigmoid:2", "cross_entropy", "huber", "tweedie"),
    *("4294967295", "4294967296", "2147483648", " ", "\n", "", ":", "[0:1]", "-1:2"),
)
LIGHTGBM_LINES = (
    *("average_output", "end of trees", "tree", "num_cat=0", "is_linear=1", "Tree=0"),
    *("leaf_value=1", "num_leaves=1", "cat_threshold=", "shrinkage=1", "version=v3"),
)
XGBOOST_TEXTS = (
    *("binary:logistic", "reg:squarederror", "multi:softmax", "count:poisson", "nan"),
    *("reg:gamma", "binary:hinge", "rank:ndcg", "dart", "gblinear", "gbtree", "0", "3"),
    *("5E-1", "[5E-1]", "[1E-1,2E-1,3E-1]", "1E39", "-1", "inf", "", "float", "i", "q"),
)
TOKEN = re.compile(r"[^\s=]+|\s|=")
# The sizes are of all trees, and most parameters are not read.
OF_NO_USE = re.compile(r"(?m)^(tree_sizes=|\[(?!boosting|objective|linear)).*\n")


@cache
def stored(name: str) -> bytes:
    return (DATA / name).read_bytes()


# ---------------------------------------------------------------- text and JSON


def lightgbm(random: Random) -> bytes:
    whole = stored("lightgbm.txt").decode()
    trees, mark, end = whole.partition("end of trees\n")
    head, *parts = re.split(r"(?m)^(?=Tree=)", trees)
    count = random.choice((3, 3, 3, 6))
    text = "".join((head, *parts[:count], mark, end))
    text = OF_NO_USE.sub("", text)
    if random.random() < 0.3:  # one sum
        text = re.sub(r"num_class=3|num_tree_per_iteration=3", _one, text)
        kinds = ("binary sigmoid:1", "regression", "poisson", "regression sqrt")
        text = text.replace("multiclass num_class:3", random.choice(kinds))
    draw = random.random()
    if draw < 0.15:
        return text.encode()
    if draw < 0.3:
        return break_lines(random, text, LIGHTGBM_LINES).encode(errors="replace")
    words = (*LIGHTGBM_WORDS, *TEXTS, number_text(random))
    if draw < 0.9:
        words = (*LIGHTGBM_WORDS, number_text(random))
    return break_tokens(random, text, words, TOKEN).encode(errors="replace")


def _one(found: re.Match[str]) -> str:
    return found[0][:-1] + "1"


def xgboost_record(random: Random) -> Any:
    """The structure of a file, mostly broken in some places."""
    record = json.loads(stored("xgboost-model.json"))
    booster = record["learner"]["gradient_booster"]["model"]
    count = random.choice((1, 3, 3, 6))
    for name in ("trees", "tree_info"):
        booster[name] = booster[name][:count]
    booster["iteration_indptr"] = [*range(0, count + 1, 3)]
    booster["gbtree_model_param"]["num_trees"] = str(count)
    return _broken(random, record, XGBOOST_TEXTS)


def _broken(random: Random, record: Any, texts: tuple[str, ...] = ()) -> Any:
    draw = random.random()
    if draw < 0.15:
        return record
    if draw < 0.4 and texts:  # some of the texts are numbers, or one of a few
        spelled = json.dumps(record)
        words = [json.dumps(text) for text in texts]
        spelled = break_tokens(random, spelled, words, re.compile(r'"[^"]*"|[^"]+'))
        try:
            return json.loads(spelled)
        except ValueError:
            return record
    return break_structure(random, record)


def xgboost(random: Random) -> bytes:
    return json.dumps(xgboost_record(random)).encode()


def catboost(random: Random) -> bytes:
    name = random.choice(("catboost.json", "catboost-categories.json"))
    record = json.loads(stored(name))
    record["oblivious_trees"] = record["oblivious_trees"][: random.choice((1, 2, 4))]
    return json.dumps(_broken(random, record)).encode()


# ---------------------------------------------------------------- UBJSON


def ubjson(random: Random) -> bytes:
    return encoded(xgboost_record(random))


def encoded(value: Any) -> bytes:
    """A structure in UBJSON, as XGBoost writes it, or near enough."""
    match value:
        case None:
            return b"Z"
        case bool():
            return b"T" if value else b"F"
        case int():
            return b"L" + struct.pack(">q", max(-(2**63), min(2**63 - 1, value)))
        case float():
            return b"D" + struct.pack(">d", value)
        case str():
            return b"S" + _text(value)
        case list():
            if value and all(type(each) is float for each in value):
                numbers = struct.pack(f">{len(value)}d", *value)
                return b"[$D#L" + struct.pack(">q", len(value)) + numbers
            return b"[" + b"".join(map(encoded, value)) + b"]"
    assert isinstance(value, dict)
    pairs = (_text(key) + encoded(item) for key, item in value.items())
    return b"{" + b"".join(pairs) + b"}"


def _text(value: str) -> bytes:
    data = value.encode(errors="replace")
    return b"L" + struct.pack(">q", len(data)) + data


# ---------------------------------------------------------------- protocol buffers

# A message is a list of fields: number, wire type, value. These fields of the messages
# of ONNX have messages in them: the graph, its nodes, their attributes, types.
INSIDE = {(): (7, 8), (7,): (1, 11, 12), (7, 1): (5,), (7, 11): (2,), (7, 12): (2,)}
Field = list[Any]


def onnx(random: Random) -> bytes:
    data = stored("forest.onnx")
    if random.random() < 0.15:
        return data
    fields = decoded(data)
    for _ in range(several(random)):
        _break_fields(random, fields)
    return message(fields)


def decoded(data: bytes, path: tuple[int, ...] = ()) -> list[Field]:
    fields: list[Field] = []
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == 0:
            value, place = _varint(data, place)
        elif kind == 2:
            size, place = _varint(data, place)
            value, place = data[place : place + size], place + size
            if number in INSIDE.get(path, ()):
                value = decoded(value, (*path, number))
        else:
            size = {1: 8, 5: 4}[kind]
            value, place = data[place : place + size], place + size
        fields.append([number, kind, value])
    return fields


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while data[place] & 128:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | data[place] << shift, place + 1


def _written(value: int) -> bytes:
    value &= 2**64 - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes((*made, value))


def message(fields: list[Field]) -> bytes:
    parts = []
    for number, kind, value in fields:
        data: Any = message(value) if isinstance(value, list) else value
        parts.append(_written(number << 3 | kind))
        if kind == 0:
            parts.append(_written(data))
            continue
        parts += [_written(len(data))] if kind == 2 else []
        parts.append(data)
    return b"".join(parts)


def _break_fields(random: Random, fields: list[Field]) -> None:
    """One change in a message or in those within it: every field is as likely."""
    places = list(_places(fields))
    fields, place = random.choice(places)
    number, kind, value = fields[place]
    other = random.choice(fields)
    match random.randrange(8):
        case 0:
            del fields[place]
        case 1:
            fields.insert(place, list(other))
        case 2:
            fields[place][0] = random.choice((number + 1, other[0], 1, 999))
        case 3:
            fields[place] = list(other)
        case _ if kind == 0:
            numbers = (0, 1, 2, 7, value + 1, value - 1, 2**31, 2**63, -1)
            fields[place][2] = random.choice(numbers)
        case _ if isinstance(value, bytes):
            fields[place][2] = _other_bytes(random, value, kind)


def _places(fields: list[Field]) -> Iterator[tuple[list[Field], int]]:
    for place, (_, _, value) in enumerate(fields):
        yield fields, place
        if isinstance(value, list):
            yield from _places(value)


WORDS = (
    *(b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_EQ", b"LEAF", b"SUM", b"AVERAGE", b"MAX"),
    *(b"NONE", b"LOGISTIC", b"SOFTMAX", b"SOFTMAX_ZERO", b"PROBIT", b"\xff", b""),
    *(b"TreeEnsembleRegressor", b"TreeEnsembleClassifier", b"TreeEnsemble", b"Cast"),
    *(b"Concat", b"Identity"),
)


def _other_bytes(random: Random, value: bytes, kind: int) -> bytes:
    """A number of the same size, or other text or packed numbers."""
    if kind != 2:
        chosen = random.choice((0.0, 1.0, -1.5, 1e30, float("nan"), float("inf")))
        return struct.pack("<f" if kind == 5 else "<d", chosen)
    if random.random() < 0.5 or not value:
        return random.choice(WORDS)
    place = random.randrange(len(value))
    return value[:place] + bytes((random.randrange(128),)) + value[place + 1 :]


FILES: dict[str, Callable[[Random], bytes]] = {
    "given.txt": lightgbm,
    "given.json": xgboost,
    "given.ubj": ubjson,
    "cat.json": catboost,
    "given.onnx": onnx,
}
