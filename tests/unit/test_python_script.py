"""Python modules as scripts: the help, files in and out, errors."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.samples import NUMBER, chain, every_type
from treecompile.cli import main
from treecompile.emit.compiler import emit
from treecompile.model.file.write import dumps
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    MissingPolicy,
    Op,
    Program,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.semantics import predict

PYENV = sorted((Path.home() / ".pyenv" / "versions").glob("3.9.*/bin/python"))
OLDEST = str(PYENV[-1]) if PYENV else shutil.which("python3.9")


def emitted(program: Program) -> str:
    return emit(program, "python").text


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """predict.py and model.json of the model with every type, in one folder."""
    folder = tmp_path_factory.mktemp("script")
    text = emitted(every_type())
    (folder / "predict.py").write_text(text, encoding="utf-8")
    (folder / "model.json").write_text(dumps(every_type()))
    return folder / "predict.py"


def run_script(
    script: Path,
    *arguments: str,
    stdin: bytes = b"",
    python: str | Path = sys.executable,
) -> subprocess.CompletedProcess[bytes]:
    """Run a script, which finds no installed packages."""
    command = [str(python), "-I", "-S", str(script), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True)


HEADER = b"note,number,text,code,flag,grade\n"
ROWS = (
    'ordinary,1.5,z,9,false,high\n"quoted, with ""marks""\nand a line",9,a,9,False,low'
    "\nmissing,,,,,\nmüßig 🐧, +9e0 ,z,2,TRUE,high\nzero,inf,,10,true,unheard\n\n"
    '"carriage\rreturn",1e400,z,9,false,\n'
).encode()
ANSWERS = ["number", "text", "number", "code", "flag", "rest"]
FILES = {
    "plain": HEADER + ROWS,
    "BOM": b"\xef\xbb\xbf" + HEADER + ROWS,
    "CRLF": HEADER.replace(b"\n", b"\r\n") + b"a,1,z,9,true,high\r\nb,9,,,,\r\n",
    "no end of line": HEADER + b"a,1,z,9,true,high",
    "blank lines first": b"\n\r\n" + HEADER + ROWS,
    "no rows": HEADER,
    "blanks after commas": b"note, number, text, code, flag, grade\na, 1.5, z, 9, false"
    b', high\n"b, c",  9, "a", 9, False, low\nmissing, , , , , \n',
    "blanks but in the header": HEADER + b"a, 9, z, 2, true, high\n",
    "blanks not everywhere": HEADER + b"a, 9, z,2,true, high\n",
    "another order": b"flag,grade,number,text,code\ntrue,low,9,z,9\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_script_writes_what_the_command_predict_writes(
    script: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "input.csv"
    path.write_bytes(FILES[name])
    model = str(script.with_name("model.json"))
    expected = CliRunner().invoke(main, ["predict", model, str(path)])
    assert expected.exit_code == 0
    done = run_script(script, str(path))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == expected.stdout_bytes
    if ROWS in FILES[name]:
        ends = [line.rsplit(b",")[-1].decode() for line in done.stdout.split(b"\n")]
        assert [end for end in ends if end in ANSWERS] == ANSWERS


def test_a_script_reads_standard_input(script: Path) -> None:
    done = run_script(script, "-", stdin=FILES["BOM"])
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(HEADER.rstrip() + b",prediction\n")
    assert done.stdout.count(b"\n") == ROWS.count(b"\n")


def test_a_script_says_how_it_is_used(script: Path) -> None:
    done = run_script(script, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == run_script(script, "-h").stdout
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "usage: python predict.py FILE"
    assert lines[2].startswith("Predict answer")
    at = lines.index("Required columns:")
    assert lines[at + 1 :] == [
        *("  'number': number", "  'text': text", "  'code': integer"),
        *("  'flag': boolean", "  'grade': text"),
        "Other columns are copied. Missing values: empty fields",
    ]
    assert max(map(len, lines)) <= 80


def test_the_help_of_a_hostile_model(tmp_path: Path) -> None:
    """Names that are not plain, other texts for missing, and nothing to read."""
    odd = Feature('a\n"b"\x1b\u202e🐧', Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, 0.5, missing=False)
    program = replace(chain((odd,), (test,), ("x", "y")), na_values=("NA", "\t'"))
    (tmp_path / "p.py").write_text(emitted(program), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", str(tmp_path / "p.py"), "--help"],
        capture_output=True,
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},  # which would mean ASCII
    )
    assert (done.returncode, done.stderr) == (0, b"")
    *_, column, last = done.stdout.decode().splitlines()
    assert column == f"  {odd.name!r}: number"
    assert last.endswith("Missing values: empty fields, 'NA', \"\\t'\"")

    (tmp_path / "p.py").write_text(emitted(chain((odd,), (), ("x",))))
    shown = run_script(tmp_path / "p.py", "--help").stdout
    assert b"\nRequired columns: none\n" in shown
    done = run_script(tmp_path / "p.py", "-", stdin=b"other\n1\n\n")
    assert done.stdout == b"other,prediction\n1,x\n,x\n"


@pytest.mark.parametrize("streams", ["0<&-", "1>&-", "1>/dev/full", ""])
def test_a_script_without_its_streams_ends_in_one_line(
    script: Path, streams: str
) -> None:
    name = "-" if streams.startswith("0") else "input.csv" if streams else "absent.csv"
    script.with_name("input.csv").write_bytes(FILES["plain"])
    done = subprocess.run(
        ["sh", "-c", f'"$@" {streams}', "sh", sys.executable, script.name, name],
        capture_output=True,
        text=True,
        cwd=script.parent,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_a_script_writes_utf_8_whatever_the_locale(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", str(script), "-"],
        input=FILES["plain"],
        capture_output=True,
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},  # which would mean ASCII
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "müßig 🐧".encode() in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEADER + b"a,1,z,9,true,low\nb,many,z,9,true,low\n", "line 3: 'number' is"),
        (HEADER + b"a,1_0,z,9,true,low\n", "line 2: 'number' is '1_0'"),
        (HEADER + b"a,1,z,2.0,true,low\n", "line 2: 'code' is '2.0'"),
        (HEADER + b"a,1,z,2,yes,low\n", "line 2: 'flag' is 'yes'"),
        (HEADER + b"a,1,z,2,true\n", "line 2: 5 fields where the header has 6"),
        (b"text,code,flag,grade\n", "column 'number'"),
        (HEADER.rstrip() + b",prediction\n", "'prediction'"),
        (b"\xff\xfe", "utf-8"),
        (b"", "column 'number'"),
    ],
)
def test_a_script_names_the_line_of_an_error(
    script: Path, content: bytes, said: str
) -> None:
    done = run_script(script, "-", stdin=content)
    assert done.returncode == 2
    message = done.stderr.decode()
    assert message.startswith("error: ")
    assert said in message
    assert message.count("\n") == 1


def test_a_script_of_a_model_without_names_says_what_is_missing(tmp_path: Path) -> None:
    feature = Feature("c2", Kind.NUMERIC, ValueType.FLOAT)
    program = chain((feature,), (Condition(0, Op.LE, 2.0, False),), ("no", "yes"))
    path = tmp_path / "predict.py"
    path.write_text(emitted(program), encoding="utf-8")
    done = run_script(path, "-", stdin=b"a,1.5\nb,2.5\n")
    assert done.returncode == 2
    assert b"'c2' occurs 0 times: expected exactly one, in a first line that" in (
        done.stderr
    )


def test_a_script_without_a_file_says_how_to_call_it(script: Path) -> None:
    for arguments in ((), ("a.csv", "b.csv")):
        done = run_script(script, *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"usage: ")
    done = run_script(script, "absent.csv")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"absent.csv" in done.stderr


@pytest.mark.skipif(not OLDEST, reason="there is no Python 3.9")
def test_the_oldest_python_gives_the_same_answers(tmp_path: Path) -> None:
    script = tmp_path / "predict.py"
    script.write_text(emitted(every_type()), encoding="utf-8")
    now = run_script(script, "-", stdin=FILES["plain"])
    assert OLDEST
    then = run_script(script, "-", stdin=FILES["plain"], python=OLDEST)
    assert (then.returncode, then.stderr) == (0, b"")
    assert then.stdout == now.stdout


def test_labels_come_out_of_a_script_as_they_went_in(tmp_path: Path) -> None:
    """Booleans, integers and doubles are written as the command reads them."""
    test = Condition(0, Op.LE, 0.5, missing=False)
    for labels in ((False, True), (10**20, -3), (0.1, 1e22)):
        text = emitted(chain((NUMBER,), (test,), labels))
        (tmp_path / "p.py").write_text(text)
        done = run_script(tmp_path / "p.py", "-", stdin=b"number\n0.5\n0.75\n")
        written = [line.split(",")[1] for line in done.stdout.decode().split()[1:]]
        expected = ["false", "true"] if labels[0] is False else list(map(str, labels))
        assert written == expected


@pytest.mark.parametrize("policy", MissingPolicy)
def test_a_script_divides_missing_values_as_the_model_does(
    tmp_path: Path, policy: MissingPolicy
) -> None:
    program = every_type()
    assert isinstance(program.body, Tree)
    program = replace(program, body=replace(program.body, missing=policy))
    (tmp_path / "p.py").write_text(emitted(program), encoding="utf-8")
    done = run_script(tmp_path / "p.py", "-", stdin=FILES["plain"])
    answers = [line["prediction"] for line in csv_rows(done.stdout)]
    texts = csv_rows(FILES["plain"])
    assert answers == [predict(program.body, values(program, text)) for text in texts]


def csv_rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def values(program: Program, texts: dict[str, str]) -> tuple[Value, ...]:
    """The values of a row, in the order of the features of the model."""
    parse: dict[ValueType, Callable[[str], Value]] = {
        ValueType.FLOAT: float,
        ValueType.INT: int,
        ValueType.STR: str,
        ValueType.BOOL: lambda text: text.lower() == "true",
    }
    features = program.body.features
    return tuple(
        parse[f.type](texts[f.name]) if texts[f.name] else None for f in features
    )
