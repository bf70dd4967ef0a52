"""Model files of other libraries, made smaller and broken within their formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from tests.fuzz.mutate import (
    TEXTS,
    break_lines,
    break_structure,
    break_tokens,
    number_text,
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


def _broken(random: Random, record: Any, texts: tuple[str, ...]) -> Any:
    draw = random.random()
    if draw < 0.15:
        return record
    if draw < 0.4:  # some of the texts are numbers, or one of a few
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


FILES: dict[str, Callable[[Random], bytes]] = {
    "given.txt": lightgbm,
    "given.json": xgboost,
}
