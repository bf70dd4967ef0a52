"""Learn, compile, verify, and write all of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from treecompile.cli.learn import learn_with
from treecompile.cli.options import glossary_option, learn_options, templates_option
from treecompile.cli.rules import counted
from treecompile.cli.talk import progress_bar, read_model, summary, tell
from treecompile.errors import OptionError

if TYPE_CHECKING:
    from treecompile.ir import Program
    from treecompile.training import Learned

RULES = "RULES.md"  # the document


def require_validation(options: dict[str, Any]) -> None:
    if not options["validation"] and not options["validation_fraction"]:
        raise OptionError(
            "--rules validation needs rows to prune against: add --validation FILE or"
            " --validation-fraction F"
        )


def ruled(learned: Learned, form: str, quiet: bool) -> Program:
    """The rules of a tree, in the form that was asked for."""
    from treecompile.pruning import (
        flattening_notes,
        prune_by_training,
        prune_by_validation,
        simplify,
    )

    tell(quiet, *(f"note: {note}" for note in flattening_notes(learned.program)))
    with progress_bar("pruning", quiet) as start:
        if form == "flat":
            made = simplify(learned.program)
        elif form == "c45rules":
            made = prune_by_training(
                learned.program, learned.training, learned.validation, start
            )
        else:
            assert learned.validation is not None
            made = prune_by_validation(
                learned.program, learned.validation, learned.training, start
            )
    tell(quiet, counted(made))
    return made


@click.command("build")
@click.argument("data")
@learn_options
@click.option(
    "--out", "folder", required=True, metavar="DIR", help="Folder for the results."
)
@click.option(
    "--rules",
    "form",
    type=click.Choice(["flat", "validation", "c45rules"]),
    help="Make rules of the tree: simplified, pruned against the validation rows, or"
    " pruned as c4.5rules does.",
)
@click.option(
    "--dialect", default="sqlite", show_default=True, help="SQL dialect of predict.sql."
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME",
    help="Verify the SQL on this engine too. Repeatable.",
)
@click.option("--url", default="", help="Where the server of the dialect is.")
@glossary_option
@templates_option
@click.option("--no-verify", is_flag=True, help="Do not run what was written.")
def command(
    data: str,
    folder: str,
    form: str | None,
    dialect: str,
    engines: tuple[str, ...],
    url: str,
    glossary: str | None,
    templates: str,
    no_verify: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn from DATA and write model.json, predict.py, predict.sql and RULES.md.

    DATA can also be rules: a .rules file, or a document with a block of rules, as
    RULES.md has one. Then nothing is learned, and the rules are compiled as they stand.

    The Python module and the SQL are run over every cell of the model and compared with
    it before anything is written.
    """
    from treecompile.compiler import emit
    from treecompile.glossary import read_glossary
    from treecompile.lower import EmitOptions
    from treecompile.model_file import dumps
    from treecompile.render import write_texts
    from treecompile.reports import verification
    from treecompile.targets import read_dialect
    from treecompile.verify import verify

    own = read_dialect(dialect).engine
    for engine in engines:
        read_dialect(engine)
    told = read_glossary(glossary) if glossary else {}
    program = _source(data, Path(folder), quiet, form, options)
    sql = emit(program, "sql", EmitOptions(dialect=dialect, templates=templates))
    python = emit(program, "python", EmitOptions(templates=templates))
    told_by = EmitOptions(glossary=told, templates=templates)
    document = emit(program, "markdown", told_by)
    warnings = (*sql.warnings, *document.warnings)
    tell(quiet, *(f"Warning: {warning}" for warning in warnings))
    tell(quiet, *(f"note: {note}" for note in sql.notes))
    texts = {
        "model.json": dumps(program),
        "predict.py": python.text,
        "predict.sql": sql.text,
        RULES: document.text,
    }
    reports = []
    if not no_verify:
        reports.append(("predict.py", verify(program, python.text, "python")))
        if own:
            reports.append(("predict.sql", verify(program, sql.text, own, url=url)))
        else:
            name = read_dialect(dialect).name
            tell(quiet, f"note: predict.sql is not verified: {name} cannot be run here")
        for engine in dict.fromkeys(engines):
            if engine != own:
                text = emit(program, "sql", EmitOptions(dialect=engine)).text
                reports.append((f"the SQL for {engine}", verify(program, text, engine)))
    for name, report in reports:
        tell(quiet and report.passed, *verification(name, report))
    if not all(report.passed for _, report in reports):
        raise SystemExit(1)
    write_texts({Path(folder) / name: text for name, text in texts.items()})
    tell(quiet, f"wrote {', '.join(texts)} in {folder}")


def _source(
    data: str, folder: Path, quiet: bool, form: str | None, options: dict[str, Any]
) -> Program:
    """What is compiled: learned from a table, or rules as they stand."""
    from treecompile.sources import is_rules

    if not is_rules(data):
        return _learned(data, quiet, form, options)
    context = click.get_current_context()
    for name in ("form", *options):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = next(p.opts[0] for p in context.command.params if p.name == name)
            raise OptionError(
                f"{option} is for learning, and the rules in {data} are not learned:"
                " leave it out"
            )
    if (folder / RULES).resolve() == Path(data).resolve():
        raise OptionError(
            f"{data} would be written over: choose another folder with --out"
        )
    program = read_model(data, quiet)
    tell(quiet, summary(program))
    return program


def _learned(
    data: str, quiet: bool, form: str | None, options: dict[str, Any]
) -> Program:
    """The tree that is learned, or the rules that are made of it."""
    if form in ("validation", "c45rules"):
        # Rules are pruned from a tree that fits, not from one that was pruned already.
        options["prune"] = options["prune"] or "none"
    if form == "validation":
        require_validation(options)
    learned = learn_with(data, quiet, options)
    tell(quiet, summary(learned.program))
    return learned.program if form is None else ruled(learned, form, quiet)
