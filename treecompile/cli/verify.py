"""Prove an artefact equal to its model."""

from __future__ import annotations

from pathlib import Path

import click

from treecompile.cli.options import pairs, quiet_option
from treecompile.cli.talk import read_model, tell
from treecompile.errors import OptionError


@click.command("verify")
@click.argument("model")
@click.argument("artefact")
@click.option(
    "--engine",
    default="",
    help="python or a database, such as mariadb. [by the artefact]",
)
@click.option(
    "--url", default="", help="Where the server is: postgresql://..., mysql://..."
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FEATURE=COLUMN",
    help="A feature that has another name in the SQL. Repeatable.",
)
@click.option("--alias", default="", help="What a bare expression calls its table.")
@click.option(
    "--output",
    default="",
    help="What SQL without comments gives: label, probability, rule. [label]",
)
@click.option("--label", default="", help="Whose probability, without comments.")
@click.option(
    "--budget", type=int, default=100_000, show_default=True, help="Most rows."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="For the selection."
)
@quiet_option
def command(
    model: str,
    artefact: str,
    engine: str,
    url: str,
    columns: tuple[str, ...],
    alias: str,
    output: str,
    label: str,
    budget: int,
    seed: int,
    quiet: bool,
) -> None:
    """Prove an artefact equal to the model on the engine where it will run.

    Exit code 1 if they differ on any row.
    """
    from treecompile.reports import verification
    from treecompile.verify import verify

    program = read_model(model, quiet)
    try:
        text = Path(artefact).read_bytes().decode()
    except OSError as error:
        raise OptionError(f"cannot read {artefact}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"{artefact} is not UTF-8 text") from None
    if budget < 1:
        raise OptionError(f"--budget {budget}: expected 1 or more")
    renamed = pairs("--column", columns)
    report = verify(
        program,
        text,
        engine,
        url=url,
        columns=renamed,
        alias=alias,
        output=output,
        label=label,
        budget=budget,
        seed=seed,
    )
    tell(quiet and report.passed, *verification(artefact, report))
    raise SystemExit(0 if report.passed else 1)
