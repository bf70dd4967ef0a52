"""Compile a model into an artefact, and prove an artefact equal to its model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from treecompile.cli.command import command
from treecompile.cli.options import (
    declared,
    given,
    json_option,
    out_option,
    quiet_option,
    value,
)
from treecompile.emit.options import EmitOptions, emit_options
from treecompile.model.errors import OptionError
from treecompile.model.options import COMMON, IN_SQL, TESTING

MOST_ARTEFACT = 1 << 28  # bytes


@command(
    "emit",
    "Compile a model into Python, JavaScript, SQL, a document or rules.",
    "treecompile emit model.json --to python -o predict.py\n"
    "treecompile emit model.json --to javascript -o predict.mjs\n"
    "treecompile emit model.json --to sql --dialect snowflake\n"
    "treecompile emit model.json --to sql --as view --table orders -o view.sql",
    "The artefact, by default to standard output. With --as dbt and -o NAME.sql, also"
    " NAME.yml. Of a language of several files, a folder.",
)
@click.argument("model")
@value(
    "--to target",
    "TARGET",
    "python, javascript, c, go, rust, sql, markdown, html, svg, rules, or the folder of"
    " your own target: ./FOLDER.",
    required=True,
    group=COMMON,
)
@out_option
@declared(EmitOptions)
@quiet_option
def emit(
    model: str,
    target: str,
    out: str | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compile a model into an artefact that predicts on its own.

    Options that the target does not have are refused.
    """
    from treecompile.cli.terminal import (
        STANDARD_OUTPUT,
        Terminal,
        check_output,
        output,
        read_model,
    )
    from treecompile.emit import compiler
    from treecompile.emit.targets import read_target
    from treecompile.model.files import write_texts

    path = None if out in STANDARD_OUTPUT else Path(str(out))
    if path is None or not path.is_dir():
        check_output(path, force=force)
    chosen = emit_options(target, given(options))
    described = read_target(target)
    if path is not None and described.file:  # of a language, a folder
        for name in (described.file, *described.beside):
            check_output(path / name, force=force)
    beside = _beside(path) if path and chosen.form == "dbt" else None
    if beside is not None:
        check_output(beside, force=force)
        if not chosen.name:
            chosen = replace(chosen, name=beside.stem)  # as dbt names its models
    terminal = Terminal(quiet)
    program = read_model(model)
    artefact = compiler.emit(program, target, chosen)
    terminal.tell(*(f"Warning: {warning}" for warning in artefact.warnings))
    if path is None:
        output(None, artefact.text)
        return
    texts = {path: artefact.text}
    if artefact.files:
        path.mkdir(parents=True, exist_ok=True)
        texts = {path / name: text for name, text in artefact.files.items()}
    if beside is not None:
        texts[beside] = artefact.beside
    write_texts(texts)
    terminal.tell(f"wrote {' and '.join(map(str, texts))}")


def _beside(path: Path) -> Path:
    """The file of the properties of a dbt model."""
    beside = path.with_suffix(".yml")
    if beside == path:
        raise OptionError(
            f"-o {path}: the properties of a dbt model go there: name the model"
            f" {path.with_suffix('.sql')}"
        )
    return beside


@command(
    "verify",
    "Prove an artefact equal to its model, on the real engine.",
    "treecompile verify model.json predict.py\n"
    "treecompile verify model.json predict.mjs\n"
    "treecompile verify model.json predict.sql --budget 10000",
    "No file. The result goes to standard error, or with --json to standard output.",
)
@click.argument("model")
@click.argument("artefact")
@value(
    "--engine",
    "NAME",
    "python, node, or a database such as mariadb. [default: the one that the artefact"
    " was made for]",
    group=COMMON,
)
@value(
    "--url",
    "URL",
    "Address of the database server: postgresql://..., mysql://...",
    group=COMMON,
)
@declared(EmitOptions, "columns")
@value(
    "--output",
    "WHAT",
    "What SQL without comments computes: label, probability, rule, margin. [default:"
    " label]",
    group=IN_SQL,
)
@value(
    "--label",
    "L",
    "The label whose probability, or margin, SQL without comments computes.",
    group=IN_SQL,
)
@value("--budget", "N", "Maximum number of rows.", 100_000, type=int, group=TESTING)
@value("--seed", "N", "Seed for the choice of rows.", 0, type=int, group=TESTING)
@value(
    "--timeout",
    "S",
    "Maximum seconds for each run.",
    600.0,
    type=float,
    group=TESTING,
)
@json_option
@quiet_option
def verify(
    model: str,
    artefact: str,
    budget: int,
    seed: int,
    timeout: float,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Prove an artefact equal to the model, on the engine where it will run.

    First its text is compared with what the model gives: as emitted, or edited since.
    Then it is run. The exit code is 1 if an answer differs, or if it does not run; for
    a document, which cannot run, if its text differs.

    An artefact of several files is verified by the name of its folder. Code is built
    and executed: verify only what you would run.
    SQL can only read the test rows, as far as the engine allows.
    """
    from treecompile.cli import json_reports
    from treecompile.cli.reports import verification
    from treecompile.cli.terminal import Terminal, read_model
    from treecompile.verify import verification as verifying
    from treecompile.verify.languages import read_artefact

    program = read_model(model)
    text, beside = read_artefact(Path(artefact), MOST_ARTEFACT)
    if budget < 1:
        raise OptionError(f"--budget {budget}: expected 1 or more")
    how = {"budget": budget, "seed": seed, "timeout": timeout, **given(options)}
    report = verifying.verify(program, text, beside=beside, in_child=True, **how)
    if as_json:
        json_reports.write(json_reports.verified(artefact, report))
    else:
        Terminal(quiet and report.passed).tell(*verification(artefact, report))
    raise SystemExit(0 if report.passed else 1)
