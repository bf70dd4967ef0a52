"""The tutorial about writing a target: its files work and decide as the model does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from tests.support.doc_blocks import blocks_of
from tests.support.random_models import random_program
from tests.support.samples import ROOT, TENNIS
from treecompile import load
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.model.errors import TargetError
from treecompile.model.ir import Value
from treecompile.model.semantics import required_features

PAGE = ROOT / "docs" / "your-own-target.md"
NO_GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
NO_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that a reader of the page has at its end."""
    blocks = blocks_of(PAGE.read_text(encoding="utf-8"))
    files = {b.marks["file"]: b.text for b in blocks if "file" in b.marks}
    assert list(files) == ["c/target.toml", "c/model.c.jinja"]
    (tmp_path / "c").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "c"


def change(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- C


def c_value(value: Value, is_number: bool) -> str:
    """An initializer for a field of the struct."""
    if value is None:
        return "NAN" if is_number else "NULL"
    if isinstance(value, float):
        text = repr(value)
        return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(text, text)
    if isinstance(value, str):
        octal = "".join(f"\\{byte:03o}" for byte in value.encode())
        return f'"{octal}"'
    kind = "int" if isinstance(value, bool) else "long long"
    return f"&(const {kind}){{{int(value)}}}"


def answers_of_c(model: Model, text: str, show: str, work: Path) -> list[str]:
    """Compile the module and call it with the rows of the model, one answer a line."""
    body = model.program.body
    read = [body.features[place] for place in sorted(required_features(body))]
    calls = []
    for row, _ in rows_of(model):
        values = [c_value(row[each.name], each.type == "float") for each in read]
        given = ", ".join(values) or "0"
        calls.append(f"    {show.format(f'predict(&(struct row){{{given}}})')};")
    main_function = "int main(void) {\n" + "\n".join(calls) + "\n    return 0;\n}\n"
    source = work / "run.c"
    source.write_text(f"#include <stdio.h>\n{text}\n{main_function}", "utf-8")
    subprocess.run(
        ["gcc", "-std=gnu11", "-w", "-o", "run", "run.c", "-lm"], cwd=work, check=True
    )
    ran = subprocess.run([str(work / "run")], capture_output=True, check=True)
    return ran.stdout.decode().split("\n")[:-1]


def rows_of(model: Model) -> list[tuple[dict[str, Value], object]]:
    """Rows that C can be given: its strings end at NUL, its integers have 64 bits."""
    return [
        (row, answer)
        for row, answer in model.edge_rows(budget=400)
        if not any(isinstance(v, str) and "\0" in v for v in row.values())
        and not any(isinstance(v, int) and abs(v) >= 2**63 for v in row.values())
        and str(row).isprintable()
    ]


@pytest.mark.engine
@NO_GCC
def test_the_tutorial_as_it_stands(folder: Path, tmp_path: Path) -> None:
    model, artefact = str(tmp_path / "model.json"), str(tmp_path / "model.c")
    for command in (
        ["learn", str(TENNIS), "--target", "play", "-q", "-o", model],
        ["emit", model, "--to", f"{folder}/", "-q", "-o", artefact],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
    text = Path(artefact).read_text(encoding="utf-8")
    found = answers_of_c(load(model), text, "puts({})", tmp_path)
    assert found == [answer for _, answer in rows_of(load(model))]
    assert {"yes", "no"} <= set(found)


@pytest.mark.engine
@NO_GCC
def test_the_tutorial_on_hostile_models(folder: Path, tmp_path: Path) -> None:
    """With positions of labels for answers, since hostile labels come in all types."""
    change(folder / "target.toml", ("return {answer}", "return {label}"))
    change(folder / "model.c.jinja", ("const char *predict", "int predict"))
    compared = 0
    for seed in range(40):
        program = random_program(Random(seed))
        body = program.body
        if not body.labels:
            continue
        model = Model(program)
        try:
            text = model.emit(f"{folder}/")
        except TargetError as error:
            if re.search("NUL|64-bit|surrogate", str(error)):
                continue
            raise
        found = answers_of_c(model, text, 'printf("%d\\n", {})', tmp_path)
        expected = [str(body.labels.index(answer)) for _, answer in rows_of(model)]
        assert found == expected, seed
        compared += len(found)
    assert compared > 1_000


# ---------------------------------------------------------------- expressions

EXPRESSION = """\
arm = "{tests} ? {label} :"
open = "{tests} ? ("
last = "{label}"
close = ") :{ends}"
end = "{ends}"
each = ""
nesting = 3
"""


def js_value(value: Value, is_number: bool) -> str:
    if is_number:
        number = float("nan") if value is None else float(value)
        return str(number).replace("nan", "NaN").replace("inf", "Infinity")
    return json.dumps(value)


@pytest.mark.engine
@NO_NODE
def test_a_language_of_expressions(folder: Path, tmp_path: Path) -> None:
    """The same decisions as one JavaScript expression, nested three deep."""
    change(
        folder / "target.toml",
        ("row->{identifier}_", "row[{position}]"),
        ('text = "c"', 'text = "json"'),
        ("strcmp({x}, {value}) == 0", "{x} === {value}"),
        ("== NULL", "=== null"),
        ("!= NULL", "!== null"),
        ('"isnan', '"Number.isNaN'),
        ('"!isnan', '"!Number.isNaN'),
        ('"*{name}"', '"{name}"'),
        ('"!!*{name}"', '"+{name}"'),
    )
    text = (folder / "target.toml").read_text(encoding="utf-8")
    layout = text[: text.index("[layout]")] + "[layout]\n" + EXPRESSION
    (folder / "target.toml").write_text(layout, encoding="utf-8")
    (folder / "model.c.jinja").write_text(
        "{% for line in lines %}{{ line }}\n{% endfor %}", encoding="utf-8"
    )
    script, expected = ["const answers = [];"], []
    for seed in range(60):
        program = random_program(Random(seed))
        body = program.body
        if not body.labels:
            continue
        try:
            expression = Model(program).emit(f"{folder}/")
        except TargetError as error:
            if "64-bit" in str(error):
                continue
            raise
        script.append(f"const f{seed} = (row) => (\n{expression});")
        for row, answer in Model(program).edge_rows(budget=100):
            if any(isinstance(v, int) and abs(v) > 2**53 for v in row.values()):
                continue  # JavaScript has doubles only
            values = [
                js_value(value, each.type == "float")
                for value, each in zip(row.values(), body.features, strict=True)
            ]
            script.append(f"answers.push(f{seed}([{', '.join(values)}]));")
            expected.append(body.labels.index(answer))
    script.append("console.log(JSON.stringify(answers));")
    (tmp_path / "run.js").write_text("\n".join(script), encoding="utf-8")
    ran = subprocess.run(
        ["node", str(tmp_path / "run.js")], capture_output=True, check=True
    )
    assert json.loads(ran.stdout) == expected
    assert len(expected) > 1_000


# ---------------------------------------------------------------- slips

SLIPS = [
    ('lowering = "code"', 'lowering = "cod"', "[names] needs lowering = "),
    ("suffix", "sufix", "unknown key 'sufix': did you mean 'suffix'?"),
    ("at_most =", "atmost =", "[tests]: unknown key 'atmost': did you mean 'at_most'"),
    ('{x} <= {value}"', '{y} <= {value}"', "has {y}: choose from {name}, {value}, {x}"),
    ("{tests}) {{", "{tests}) {", "write a brace twice"),
    ('text = "c"', 'text = "cc"', "text = 'cc': choose from sql,"),
    ("nesting = 100", 'nesting = "x"', "'nesting' is 'x': expected a whole number"),
    ("[operators]", "[operatos]", "unknown key 'operatos': did you mean 'operators'?"),
]


@pytest.mark.parametrize(("old", "new", "message"), SLIPS)
def test_a_slip_in_the_target(folder: Path, old: str, new: str, message: str) -> None:
    change(folder / "target.toml", (old, new))
    with pytest.raises(TargetError) as caught:
        Model(random_program(Random(1))).emit(str(folder))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("{{ nothing }}", "model.c.jinja, line 2: 'nothing' is undefined"),
        ("{% for %}", "model.c.jinja, line 2: Expected an expression"),
        ("{% include '../../x' %}", "template '../../x' not found"),
        ("{{ 1 / 0 }}", "model.c.jinja, line 2: division by zero"),
    ],
)
def test_a_slip_in_the_template(folder: Path, new: str, message: str) -> None:
    (folder / "model.c.jinja").write_text(f"first\n{new}\n", encoding="utf-8")
    with pytest.raises(TargetError) as caught:
        Model(random_program(Random(1))).emit(str(folder))
    assert message in str(caught.value)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    model = Model(random_program(Random(1)))
    with pytest.raises(TargetError, match=r"cannot read .*target.toml': No such file"):
        model.emit(f"{tmp_path}/none")
    with pytest.raises(TargetError, match="no such folder"):
        model.emit("python", templates=tmp_path / "none")


# ---------------------------------------------------------------- overrides


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "markdown").mkdir()
    (tmp_path / "markdown" / "rules.md.jinja").write_text("Ours: {{ sha256 }}\n")
    model = Model(random_program(Random(1)))
    assert model.emit("markdown", templates=tmp_path).startswith("Ours: ")
    own = model.emit("sql", templates=tmp_path)
    assert own.split("\n")[1:] == model.emit("sql").split("\n")[1:]
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "module.py.jinja").write_text("1 +\n")
    with pytest.raises(TargetError, match="the template does not produce valid Python"):
        model.emit("python", templates=tmp_path)


def test_a_dialect_of_ones_own(tmp_path: Path) -> None:
    ours = tmp_path / "ours.toml"
    built_in = ROOT / "templates" / "sql" / "dialects" / "sqlite.toml"
    ours.write_text(built_in.read_text(encoding="utf-8"), encoding="utf-8")
    model = Model(random_program(Random(1)))
    text = model.emit("sql", dialect=str(ours))
    assert text.split("\n")[1:] == model.emit("sql").split("\n")[1:]
    assert model.verify(text).passed
