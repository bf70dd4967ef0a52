"""Dialects, targets and templates that a user brings."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from tests.fuzz.case import Case
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.models import WRITES, a_program
from tests.fuzz.mutate import TEXTS, break_bytes, break_structure, break_tokens
from tests.support.samples import ROOT
from treecompile.model.file.write import dumps

TEMPLATES = ROOT / "templates"
DIALECTS = sorted((TEMPLATES / "sql" / "dialects").glob("*.toml"))
BUILT_IN = sorted(TEMPLATES.glob("*/*.jinja"))
TOML_WORDS = (
    *("[", "]", "=", '"', "'", '"""', "inf", "nan", "1979-05-27", "0x10", "{}", "[]"),
    *("true", "false", "[names]", "[[names]]", "quote = ''", "# x", "a.b.c = 1", "{"),
    *("{x}", "{value}", "{column}", "{0}", "{x.__class__}", "{value!r:>99}", "{:9999}"),
    *("{", "}", "{{", "0", "-1", "99999999999", '"(x+)+$"', '"["', "code", "python"),
)
JINJA = (
    "{{ lines }}",
    "{% for l in lines %}{{ l }}\n{% endfor %}",
    "{{ nothing }}",
    "{{ lines | length }}",
    "{{ 1 / 0 }}",
    "{{ lines[99] }}",
    "{{ 'a' * 100000 }}",
    "{{",
    "{% endfor %}",
    "{% include 'm.jinja' %}",
    "{% import 'm.jinja' as m %}",
    "{#",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ f() }}",
    "{{ lines() }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ 10**10 }}",
    "{{ '%s' % lines }}",
    "{{ '{0.__class__}'.format(lines) }}",
    "{% set x = x %}",
    "{{ lines | nosuch }}",
    "{{ lines | join(1) }}",
    "{% extends 'm.jinja' %}",
    "{{ lines | sort(attribute='x') }}",
    "{{ 'a' * 10**11 }}",
    "{{ range(10**12) | list }}",
    "{% raw %}",
    "{{ lines.append(1) }}",
    "\ufeff",
    "{% include '../model.json' %}",
    "{{ lines | map('int') | list }}",
    "{{ [] + 1 }}",
    "{% set x %}",
    "{{ lines | batch(0) | list }}",
    "{{ 'x' | center(10**10) }}",
    "\udcff",
    "{{ a.b }}",
    "{{ dict(a=1).a }}",
    "{{ namespace }}",
    "{{ 1 | filesizeformat }}",
)
# These are stopped by a limit, which takes seconds: they are rare.
ENDLESS = (
    "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:>1000000000}'.format(1) }}",
    "{{ lipsum(n=10**6) }}",
)
WORDS = (*TOML_WORDS, *TOML_WORDS, *TEXTS)


# ---------------------------------------------------------------- TOML


def toml(table: dict[str, Any], above: str = "") -> str:
    """A table as text: values first, then sections."""
    lines = [f"[{above}]"] if above else []
    sections = []
    for key, value in table.items():
        name = json.dumps(key)
        if isinstance(value, dict):
            sections.append(toml(value, f"{above}.{name}" if above else name))
        else:
            lines.append(f"{name} = {_toml_value(value)}")
    return "\n".join((*lines, *sections))


def _toml_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {_toml_value(v)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    return '""' if value is None else json.dumps(value).replace("\\u007f", "x")


def broken_toml(random: Random, text: str) -> bytes:
    draw = random.random()
    if draw < 0.55:
        with suppress(RecursionError):  # nested too deeply for our own writer
            text = toml(break_structure(random, tomllib.loads(text)))
    elif draw < 0.9:
        text = break_tokens(random, text, WORDS)
    data = text.encode(errors="surrogatepass")
    return break_bytes(random, data) if draw > 0.95 else data


# ---------------------------------------------------------------- dialects


def make_dialect(random: Random) -> Case:
    text = random.choice(DIALECTS).read_text(encoding="utf-8")
    command = ["emit", "model.json", "--to", "sql", "--dialect", "./d.toml", "-q"]
    form = random.choice(("expression", "select", "view", "function", "dbt"))
    command += ["--as", form, "--output", random.choice(("label", "probability"))]
    command += ["--table", "t"] if form in ("select", "view", "dbt") else []
    files = {
        "d.toml": broken_toml(random, text),
        "model.json": dumps(a_program(random)).encode(),
    }
    return Case("dialect", ((*command, "-o", "out.sql"),), files, writes=WRITES)


# ---------------------------------------------------------------- targets


@cache
def documented() -> tuple[list[str], str]:
    """The target that the documentation builds: its target.toml, and the template."""
    page = (ROOT / "docs" / "your-own-target.md").read_text(encoding="utf-8")
    tomls = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    (template,) = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    whole = next(text for text in tomls if text.startswith("lowering"))
    return [whole], template


def broken_template(random: Random, text: str) -> bytes:
    draw = random.random()
    if draw < 0.005:
        text += random.choice(ENDLESS)
    elif draw < 0.6:
        jinja = re.compile(r"\{[{%#].*?[}%#]\}|\w+|\s+|.", re.DOTALL)
        text = break_tokens(random, text, (*JINJA, *JINJA, *TEXTS), jinja)
    elif draw < 0.85:
        text = "".join(random.choice(JINJA) for _ in range(random.randint(1, 3)))
    data = text.encode(errors="surrogatepass")
    return break_bytes(random, data) if draw > 0.96 else data


def make_target(random: Random) -> Case:
    (whole,), template = documented()
    if random.random() < 0.3:
        lowering = random.choice(("python", "sql", "numpy", "markdown", "rules", "x"))
        whole = f'lowering = "{lowering}"\ntemplate = "model.c.jinja"\nsuffix = ".x"\n'
    table = whole.encode() if random.random() < 0.4 else broken_toml(random, whole)
    files = {
        "t/target.toml": table,
        "t/model.c.jinja": broken_template(random, template),
        "t/m.jinja": random.choice(JINJA).encode(errors="surrogatepass"),
        "model.json": dumps(a_program(random)).encode(),
    }
    command = ("emit", "model.json", "--to", "./t", "-q", "-o", "out")
    return Case("target", (command,), files, writes=WRITES)


def make_templates(random: Random) -> Case:
    built_in = random.choice(BUILT_IN)
    kind = built_in.parent.name
    text = built_in.read_text(encoding="utf-8")
    files = {
        f"mine/{kind}/{built_in.name}": broken_template(random, text),
        f"mine/{kind}/m.jinja": random.choice(JINJA).encode(errors="surrogatepass"),
        "model.json": dumps(a_program(random)).encode(),
    }
    command = ("emit", "model.json", "--templates", "mine", "-q", "-o", "out", "--to")
    return Case("templates", ((*command, kind),), files, writes=WRITES)


DOORS = (
    Door("dialect", make_dialect, usual=400),
    Door("target", make_target, usual=60),
    Door("templates", make_templates, usual=25),
)
