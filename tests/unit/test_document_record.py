"""Rule documents: their text is bound to the rules, and notes survive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

import treecompile
from tests.support.random_models import large_tree, random_program
from treecompile.cli import main
from treecompile.emit.compiler import emit
from treecompile.emit.history import History
from treecompile.emit.options import MOST_RULES, EmitOptions
from treecompile.model.errors import RulesError, TargetError
from treecompile.model.file.write import sha256
from treecompile.model.ir import Program, RuleSet
from treecompile.model.semantics import predict
from treecompile.rules.extract import flatten
from treecompile.rules.language.document import RuleSource, loads_whole
from treecompile.rules.language.record import THE_MODEL, read_record

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    name: (ROOT / "examples" / name / "out" / "RULES.md").read_text("utf-8")
    for name in ("tennis", "penguins")
}
NOTE = "> Checked with the field team,\n> on 3 of 4 islands.\n>\n> - See 2025-11."


def read(text: str) -> RuleSource:
    return loads_whole(text, is_markdown=True)


def document(program: Program, **history: object) -> str:
    return emit(program, "markdown", history=History(**history)).text  # type: ignore[arg-type]


def grouped() -> str:
    """A document with so many rules that they are in tables."""
    model = treecompile.learn(
        ROOT / "examples" / "penguins" / "penguins.csv",
        target="body_mass_g",
        na_value=["NA"],
        prune="none",
        max_leaves=40,
    )
    assert model.n_leaves == 40
    return document(model.program)


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    found = {**EXAMPLES, "grouped": grouped()}
    program = read(EXAMPLES["tennis"]).program
    notes = {THE_MODEL: "> Why we do this.", "R2": NOTE}
    return {**found, "with notes": document(program, notes=notes)}


NAMES = ("tennis", "penguins", "grouped", "with notes")


# ---------------------------------------------------------------- the same model


@pytest.mark.parametrize("name", NAMES)
def test_an_unedited_document_is_its_model(
    name: str, documents: dict[str, str]
) -> None:
    found = read(documents[name])
    assert not found.is_edited
    assert found.program is found.origin
    hash = re.search("Model SHA-256: `([0-9a-f]+)`", documents[name])
    assert hash
    assert sha256(found.program) == hash[1]
    assert document(found.program, notes=found.notes) == documents[name]


@pytest.mark.parametrize("seed", range(40))
def test_hostile_models_come_back_from_their_documents(seed: int) -> None:
    program = random_program(Random(seed))
    text = document(program, notes={"R1": NOTE})
    found = read(text)
    assert found.program == program
    assert not found.is_edited
    assert list(found.notes.values()) == [NOTE]
    is_there = "<!-- note on R1 -->" in text
    assert list(found.notes) == ["R1" if is_there else "R1, struck"]


def reformatted(text: str) -> Iterator[str]:
    """The same document from other editors and systems."""
    lines = text.split("\n")
    yield text.replace("\n", "\r\n")
    yield text.replace("\n", "\r")
    yield "\n".join(line + " \t" * (n % 2) for n, line in enumerate(lines))
    yield text.rstrip("\n")
    yield text + "\n\n\n"
    yield text.replace("\n\n", "\n\n\n")
    yield re.sub(r"\n+<!-- note", "\n<!-- note", text)
    yield text.replace("THEN", "then").replace(" AND ", "\n    AND  ")


@pytest.mark.parametrize("name", NAMES)
def test_editors_may_change_blanks_and_line_ends(
    name: str, documents: dict[str, str]
) -> None:
    expected = read(documents[name])
    for text in reformatted(documents[name]):
        found = read(text)
        assert not found.is_edited
        assert found.program == expected.program
        assert found.notes == expected.notes


def test_a_document_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "renamed by hand.markdown"
    path.write_text(EXAMPLES["tennis"], "utf-8-sig")
    expected = ROOT / "examples" / "tennis" / "out" / "model.json"
    assert treecompile.load(path).program == treecompile.load(expected).program


# ---------------------------------------------------------------- bound lines


def mutants(lines: list[str], place: int) -> Iterator[tuple[str, list[str]]]:
    """Every way in which we damage one line of a document."""
    line = lines[place]
    before, behind = lines[:place], lines[place + 1 :]
    yield "deleted", before + behind
    yield "doubled", [*before, line, line, *behind]
    yield "indented", [*before, "    " + line, *behind]
    yield "another word", [*before, line + " indeed", *behind]
    yield "a line before", [*before, "Always **play = yes**.", line, *behind]
    if found := re.search(r"\d", line):
        digit = str((int(found[0]) + 1) % 10)
        changed = line[: found.start()] + digit + line[found.end() :]
        yield "another digit", [*before, changed, *behind]
    if found := re.search(r"[A-Za-z]+", line):
        changed = line[: found.start()] + "other" + line[found.end() :]
        yield "other word", [*before, changed, *behind]
    others = [n for n in range(place + 1, len(lines)) if lines[n].strip()]
    if others and lines[others[0]] != line:
        swapped = [*lines]
        swapped[place], swapped[others[0]] = lines[others[0]], line
        yield "swapped", swapped


def places(text: str) -> tuple[set[int], set[int]]:
    """The lines of the block of rules, and those of notes."""
    lines = text.split("\n")
    start = lines.index("```rules")
    block = set(range(start + 1, lines.index("```", start)))
    return block, {n for n, line in enumerate(lines) if line.startswith(">")}


@pytest.mark.parametrize("name", NAMES)
def test_every_edit_outside_of_the_rules_and_notes_is_refused(
    name: str, documents: dict[str, str]
) -> None:
    lines = documents[name].split("\n")
    block, notes = places(documents[name])
    tried = 0
    for place, line in enumerate(lines):
        if place in block or place in notes or not line:
            continue
        for kind, changed in mutants(lines, place):
            if kind == "swapped" and {place + 1, place + 2} & notes:
                continue  # a note moved up
            tried += 1
            with pytest.raises(RulesError, match=r"^line \d+") as caught:
                read("\n".join(changed))
            if lines[place] == "```rules" or "\n".join(changed).count("```rules") > 1:
                continue  # other messages say where the block is
            number = int(re.match(r"line (\d+)", str(caught.value))[1])  # type: ignore[index]
            is_in_record = place >= lines.index("<!-- treecompile document 1")
            if not is_in_record and lines[place] != "```":
                assert abs(number - place - 1) <= 4, (kind, line)
    assert tried > 500


@pytest.mark.parametrize("name", ["with notes"])
def test_notes_may_be_edited_in_any_way(name: str, documents: dict[str, str]) -> None:
    lines = documents[name].split("\n")
    _, notes = places(documents[name])
    assert len(notes) == 5
    for place in notes:
        for kind, changed in mutants(lines, place):
            if kind in ("indented", "a line before", "swapped"):
                continue  # no longer a note
            found = read("\n".join(changed))
            assert not found.is_edited
            written = "\n".join(line for line in changed if line.startswith(">"))
            assert "\n".join(found.notes.values()) == written


def test_an_error_names_the_file_the_line_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "RULES.md"
    text = EXAMPLES["tennis"].replace("then **play = no**", "then **play = yes**", 1)
    path.write_text(text, "utf-8")
    line = EXAMPLES["tennis"].split("\n").index("then **play = no**.") + 1
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["build", str(path), "--out", str(out)])
    assert result.exit_code == 2
    assert f"RULES.md, line {line}: this line was edited" in result.stderr
    assert "edit the rules in the block ```rules instead" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("line", ["Checked by Ada.", "<p>Checked</p>", "# Heading"])
def test_a_note_without_its_sign_is_refused(line: str) -> None:
    mark = "<!-- note on R2 -->"
    text = EXAMPLES["tennis"].replace(mark, f"{mark}\n{line}")
    with pytest.raises(
        RulesError, match="this line was added.*lines that begin with >"
    ):
        read(text)


# ---------------------------------------------------------------- the record


def test_a_document_without_its_record_is_refused() -> None:
    text = EXAMPLES["tennis"]
    older = text[: text.index("<!-- treecompile document")]
    with pytest.raises(RulesError, match=r"^line 5: .*record at its end is missing"):
        read(older)


def test_a_document_that_a_person_wrote_needs_no_record() -> None:
    text = "# Mine\n\n```rules\nTARGET x IN {a}\nOTHERWISE a\n```\n\nAnything.\n"
    found = read(text)
    assert found.origin is None
    assert not found.is_edited


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<!-- treecompile document 1", "<!-- treecompile document 2"),
        ("model: ", "model: QlpoOTFBWSZTWQ=="),
        ("model: ", "former: "),
        ("lines: ", "lines: %%%%"),
        ("check: ", "check: 0"),
        ("\n-->\n", "\n"),
    ],
)
def test_a_damaged_record_is_one_line_of_error(old: str, new: str) -> None:
    text = EXAMPLES["tennis"]
    head, _, rest = text.rpartition("<!-- treecompile document 1")
    record = f"<!-- treecompile document 1{rest}"
    with pytest.raises(RulesError) as caught:
        read(head + record.replace(old, new))
    assert "\n" not in str(caught.value)


def test_a_block_that_is_no_longer_closed_is_named() -> None:
    head, _, rest = EXAMPLES["tennis"].rpartition("\n```\n")
    text = f"{head}\n{rest}"
    with pytest.raises(RulesError, match="the block of rules has no end"):
        read(text)


# ---------------------------------------------------------------- edited rules


def test_an_edited_rule_makes_another_model() -> None:
    text = EXAMPLES["tennis"].replace(
        "humidity = normal THEN yes", "humidity = normal THEN no"
    )
    found = read(text)
    assert found.is_edited
    assert isinstance(found.program.body, RuleSet)
    assert found.former == found.origin == read(EXAMPLES["tennis"]).program
    row = ("sunny", "low", "normal", "weak")
    assert predict(found.program.body, row) == "no"
    assert found.messages == (
        "edited since they were counted, so their counts are dropped: R5",
    )


def test_the_former_model_is_remembered_until_the_next_edit() -> None:
    first = read(EXAMPLES["tennis"])
    text = EXAMPLES["tennis"].replace("normal THEN yes", "normal THEN no")
    second = read(text)
    again = read(document(second.program, former=second.former))
    assert not again.is_edited
    assert again.former == first.program
    third = read(
        document(second.program, former=second.former).replace(
            "= cloudy THEN yes", "= cloudy THEN no"
        )
    )
    assert third.is_edited
    assert third.former == second.program


def test_notes_move_with_their_rules() -> None:
    program = read(EXAMPLES["tennis"]).program
    notes = {name: f"> about {name}" for name in ("R1", "R2", "R3", "R4", THE_MODEL)}
    text = document(program, notes=notes)
    block = text[text.index("```rules") :]
    edited = block.replace("R1: IF outlook = cloudy THEN yes [yes: 4 @15e964]\n", "")
    edited = edited.replace("R2: IF", "R9: IF")  # renamed
    edited = edited.replace("wind = weak (or any other, or missing)", "wind = weak")
    assert edited.count("R1:") == 0
    found = read(text.replace(block, edited))
    assert found.notes == {
        "R1, struck": "> about R1",
        "R9": "> about R2",
        "R3": "> about R3",  # edited
        "R4": "> about R4",
        THE_MODEL: "> about the model",
    }


def test_a_summary_of_many_rules_has_no_places_for_notes() -> None:
    program = Program("play", "c45", large_tree(6_000))
    rules = flatten(program.body).rules
    assert len(rules) > MOST_RULES
    text = document(program)
    assert "<!-- " not in text
    whole = emit(program, "markdown", EmitOptions(full=True)).text
    assert whole.count("<!-- note on R") == len(rules)
    record, _ = read_record(whole)
    assert record is not None
    assert record.program is None  # so many rules are not edited
    with pytest.raises(RulesError, match="this line was edited"):
        read_record(whole.replace("## Default", "## Defaults"))


def test_no_template_loses_a_note(tmp_path: Path) -> None:
    program = read(EXAMPLES["tennis"]).program
    folder = tmp_path / "markdown"
    folder.mkdir()
    (folder / "rules.md.jinja").write_text("# {{ target }}\n\n{{ source }}\n")
    options = EmitOptions(templates=str(tmp_path))
    assert "```rules" in emit(program, "markdown", options).text
    history = History({"R2": NOTE})
    with pytest.raises(TargetError, match="would lose the note on R2"):
        emit(program, "markdown", options, history=history)
    large = Program("play", "c45", large_tree(6_000))
    with pytest.raises(TargetError, match="add --full"):
        emit(large, "markdown", history=history)


# ---------------------------------------------------------------- files


def build(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["build", *map(str, arguments), "-q"])
    return result.exit_code, result.stderr


def test_notes_survive_a_build(tmp_path: Path) -> None:
    text = EXAMPLES["tennis"].replace(
        "<!-- note on R2 -->", f"<!-- note on R2 -->\n{NOTE}"
    )
    source = tmp_path / "RULES.md"
    source.write_text(text, "utf-8")
    assert build(source, "--out", tmp_path / "again") == (0, "")
    made = (tmp_path / "again" / "RULES.md").read_text("utf-8")
    assert f"<!-- note on R2 -->\n{NOTE}\n\n###" in made
    model = ROOT / "examples" / "tennis" / "out" / "model.json"
    assert (tmp_path / "again" / "model.json").read_text() == model.read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<!-- note on R2 -->", "<!-- note on R2 -->\n> Mine."),
        ("humidity = normal THEN yes", "humidity = normal THEN no"),
        ("then **play = no**", "then **play = yes**"),
    ],
)
def test_a_document_that_people_worked_on_is_not_overwritten(
    old: str, new: str, tmp_path: Path
) -> None:
    model = ROOT / "examples" / "tennis" / "out" / "model.json"
    assert build(model, "--out", tmp_path) == (0, "")
    assert build(model, "--out", tmp_path) == (0, "")
    path = tmp_path / "RULES.md"
    touched = path.read_text("utf-8").replace(old, new, 1)
    path.write_text(touched, "utf-8")
    code, said = build(model, "--out", tmp_path)
    assert code == 2
    assert "RULES.md' has notes or edits, which would be lost" in said
    assert path.read_text("utf-8") == touched
    code, said = build(path, "--out", tmp_path)
    assert code == 2
    assert "is an input of this command" in said
    assert build(model, "--out", tmp_path, "--force") == (0, "")


def test_a_renumbered_rule_set_keeps_its_document() -> None:
    program = read(EXAMPLES["tennis"]).program
    renamed = replace(program, target="sport")
    assert read(document(renamed)).program == renamed
