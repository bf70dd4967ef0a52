"""The tutorial about writing a target: its files work and decide as the model does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from click.testing import CliRunner

from tests.support.doc_blocks import blocks_of
from tests.support.random_models import random_program
from tests.support.samples import ROOT, TENNIS, every_type
from treecompile import learn, load
from treecompile.api.model import Model
from treecompile.cli import main
from treecompile.model.errors import TargetError
from treecompile.model.forests import LeafNode, SplitNode, margins, member
from treecompile.model.ir import (
    Condition,
    Feature,
    Forest,
    ForestProgram,
    Kind,
    Op,
    Value,
    ValueType,
)
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


PLACES = (  # of labels, instead of labels
    ("const char *predict", "int predict"),
    ("line.answer.value | literal", "labels.index(line.answer.value)"),
)
FUNCTIONS = """\
{% for function in functions | reverse %}
int {{ "part_%d" % function.number if function.number else "predict" }}
(const struct row *row) {
{% for line in function.lines %}
    {{ "if (" ~ line.when ~ ") " if line.when }}
{%- if line.answer %}return {{ labels.index(line.answer.value) }};
{% elif line.call %}return part_{{ line.call }}(row);
{% else %}{
{% endif %}
{{ "}" * line.closes }}
{% endfor %}
}
{% endfor %}
"""


@pytest.mark.engine
@NO_GCC
@pytest.mark.parametrize("most", [10, 25])
def test_a_large_decision_in_several_functions(
    folder: Path, tmp_path: Path, most: int
) -> None:
    change(folder / "target.toml", ("[language]\n", f"[language]\nlines = {most}\n"))
    template = (folder / "model.c.jinja").read_text(encoding="utf-8")
    head = template[: template.index("const char *predict")]
    (folder / "model.c.jinja").write_text(f"{head}{FUNCTIONS}", encoding="utf-8")
    dice = Random(3)
    frame = pd.DataFrame({x: [dice.random() for _ in range(400)] for x in "abc"})
    frame["y"] = [dice.choice("pqr") for _ in range(400)]
    tree = learn(frame, target="y", algorithm="cart", prune="none")
    for model in (tree, tree.rules()):
        text = model.emit(f"{folder}/")
        bodies = text.split("(const struct row *row) {\n")[1:]
        assert len(bodies) > 3
        assert max(body.count("return") for body in bodies) <= most + 1
        found = answers_of_c(model, text, 'printf("%d\\n", {})', tmp_path)
        assert found == [
            "pqr".index(str(answer)).__str__() for _, answer in rows_of(model)
        ]


FOREST = """\
#include <math.h>
#include <string.h>
struct row { {% for c in columns %}{{ c.type }} {{ c.id }}_; {% endfor %} };
{% for tree in forest.trees %}
static int tree_{{ tree.number }}(const struct row *row) {
{% for line in tree.functions[0].lines %}
    {{ "if (" ~ line.when ~ ") " if line.when }}
    {{ "return %d;" % line.answer.number if line.answer else "{" }}
{{ "}" * line.closes }}
{% endfor %}
}
static const double values_{{ tree.number }}[][{{ tree.outputs | length }}] = {
{% for each in tree["values"] %}
    { {{ each | map("literal") | join(", ") }} },
{% endfor %}
};
{% endfor %}
double predict(const struct row *row) {
    double sums[] = { {{ forest.start | map("literal") | join(", ") }} };
{% for tree in forest.trees %}
    sums[0] += values_{{ tree.number }}[tree_{{ tree.number }}(row)][0];
{% endfor %}
    return sums[0] / {{ forest.divisor | literal }};
}
"""


@pytest.mark.engine
@NO_GCC
def test_a_forest(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no template for a forest"):
        forest_model().emit(f"{folder}/")
    change(
        folder / "target.toml", ('suffix = ".c"', 'suffix = ".c"\nforest = "f.jinja"')
    )
    (folder / "f.jinja").write_text(FOREST, encoding="utf-8")
    model = forest_model()
    text = model.emit(f"{folder}/")
    dice = Random(4)
    rows = [tuple(dice.random() for _ in "ab") for _ in range(200)]
    calls = "".join(
        f'printf("%.17g\\n", predict(&(struct row){{ {a!r}, {b!r} }}));'
        for a, b in rows
    )
    source = f"#include <stdio.h>\n{text}\nint main(void) {{ {calls} }}\n"
    (tmp_path / "run.c").write_text(source, "utf-8")
    subprocess.run(
        ["gcc", "-ffp-contract=off", "-w", "-o", "run", "run.c", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    ran = subprocess.run([str(tmp_path / "run")], capture_output=True, check=True)
    forest = model.any_program.body
    assert isinstance(forest, Forest)
    expected = [margins(forest, row)[0] for row in rows]
    assert list(map(float, ran.stdout.split())) == expected


def forest_model() -> Model:
    """Some trees over two numbers, whose mean is the answer."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "ab")
    dice, members = Random(5), []
    for _ in range(20):
        nodes: list[SplitNode | LeafNode] = [
            SplitNode(Condition(dice.randrange(2), Op.LE, dice.random(), False), 1, 2),
            LeafNode((dice.random(),)),
            SplitNode(Condition(dice.randrange(2), Op.LE, dice.random(), True), 3, 4),
            *(LeafNode((dice.random(),)) for _ in range(2)),
        ]
        members.append(member(features, (0,), nodes))
    forest = Forest(features, (), tuple(members), (0.0,), divisor=20.0)
    return Model(ForestProgram("y", "by hand", forest))


@pytest.mark.engine
@NO_GCC
def test_the_tutorial_on_hostile_models(folder: Path, tmp_path: Path) -> None:
    """With positions of labels for answers, since hostile labels come in all types."""
    change(folder / "model.c.jinja", *PLACES)
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
            if re.search("character|64 bits|surrogate", str(error)):
                continue
            raise
        found = answers_of_c(model, text, 'printf("%d\\n", {})', tmp_path)
        expected = [str(body.labels.index(answer)) for _, answer in rows_of(model)]
        assert found == expected, seed
        compared += len(found)
    assert compared > 1_000


def test_a_language_of_several_files(folder: Path, tmp_path: Path) -> None:
    change(
        folder / "target.toml",
        ('suffix = ".c"', 'suffix = ".c"\nfile = "predict.c"\nbeside = ["predict.h"]'),
    )
    (folder / "predict.h.jinja").write_text("/* {{ target | comment }} */\n")
    model, out = str(tmp_path / "model.json"), tmp_path / "out"
    command = ["emit", model, "--to", str(folder), "-o", str(out)]
    learnt = ["learn", str(TENNIS), "--target", "play", "-q", "-o", model]
    for arguments in (learnt, command):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == {"predict.c", "predict.h"}
    assert (out / "predict.h").read_text() == "/* play */\n"
    assert (out / "predict.c").read_text() == load(model).emit(str(folder))
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, "exists" in again.output) == (2, True)
    change(folder / "target.toml", ('"predict.h"]', '"../x"]'))
    refused = CliRunner().invoke(main, command)
    assert "expected the name of a file in the folder" in refused.output


# ---------------------------------------------------------------- expressions

EXPRESSION = """\
{% for line in functions[0].lines %}
{{ line.when ~ " ? " if line.when }}
{{ labels.index(line.answer.value) if line.answer else "(" }}
{{ ":" if line.when and line.answer else ") :" if line.closes }}
{% endfor %}
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
        ("row->{name}_", "row[{position}]"),
        ("[language]\n", "[language]\nnesting = 3\n"),
        ("isnan", "Number.isNaN"),
        ('missing = "!{x}"', 'missing = "{x} === null"'),
        ('known = "{x}"', 'known = "{x} !== null"'),
        ("!strcmp({x}, {value})", "{x} === {value}"),
        ('unit = "byte"', 'unit = "utf-16"'),
        ("escape = '\\%03o'", "escape = '\\u%04x'"),
        ('refused = "\\u0000"\n', ""),
        ('"*{x} == {value}"', '"{x} === {value}"'),
        ("{value}LL", "{value}"),
        ('"!*{x} == !{value}"', '"+{x} === {value}"'),
    )
    (folder / "model.c.jinja").write_text(EXPRESSION, encoding="utf-8")
    script, expected = ["const answers = [];"], []
    for seed in range(60):
        program = random_program(Random(seed))
        body = program.body
        if not body.labels:
            continue
        try:
            expression = Model(program).emit(f"{folder}/")
        except TargetError as error:
            if re.search("64 bits|surrogate", str(error)):
                continue
            raise
        script.append(f"const f{seed} = (row) => (\n{expression});")
        for row, answer in Model(program).edge_rows(budget=100):
            if any(isinstance(v, int) and abs(v) > 2**53 for v in row.values()):
                continue  # JavaScript has doubles only
            read = [body.features[place] for place in required_features(body)]
            values = [js_value(row[each.name], each.type == "float") for each in read]
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
    ("suffix", "sufix", "unknown key 'sufix': did you mean 'suffix'?"),
    ('template = "model', 'lowering = "cod"\ntemplate = "model', "choose from python,"),
    ("refused =", "refuse =", "[text]: unknown key 'refuse': did you mean 'refused'"),
    (
        '"*{x} == {value}"',
        '"*{y} == {value}"',
        "no place {y} here: choose from {value}, {x}",
    ),
    ('"!({test})"', '"!({test)"', "write a brace twice"),
    ('unit = "byte"', 'unit = "bit"', "unit: choose from byte, utf-16,"),
    ("escape = '\\%03o'", "escape = '%s %s'", "expected one number"),
    ("bits = 64", 'bits = "x"', "bits: expected a whole number"),
    ("[truth]", "[boolean]", "unknown key 'boolean'"),
    ('and = " && "\n', "", "[language]: the key 'and' is missing"),
    ('one = "*{x} == {value}"\n', "", "C: no phrase for 'within'"),
    ("[truth]", "[truth]\nown = { a = 1 }", "own: expected a section of texts"),
]


@pytest.mark.parametrize(("old", "new", "message"), SLIPS)
def test_a_slip_in_the_target(folder: Path, old: str, new: str, message: str) -> None:
    change(folder / "target.toml", (old, new))
    model = Model(every_type())
    with pytest.raises(TargetError) as caught:
        model.emit(str(folder))
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
    (tmp_path / "markdown" / "rules.md.jinja").write_text("Ours: {{ header }}\n")
    model = Model(random_program(Random(1)))
    assert model.emit("markdown", templates=tmp_path).startswith("Ours: ")
    plain = model.emit("sql", comments=False)
    assert model.emit("sql", templates=tmp_path, comments=False) == plain
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "module.py.jinja").write_text("1 +\n")
    with pytest.raises(TargetError, match="the template does not produce valid Python"):
        model.emit("python", templates=tmp_path)


def test_a_dialect_of_ones_own(tmp_path: Path) -> None:
    ours = tmp_path / "ours.toml"
    ours.write_text('base = "sqlite"', encoding="utf-8")
    model = Model(random_program(Random(1)))
    text = model.emit("sql", dialect=str(ours))
    assert text.partition(" */\n")[2] == model.emit("sql").partition(" */\n")[2]
    assert model.verify(text).passed
