"""The commands. Heavy modules are imported inside them, so that help answers at once.

What a user does wrong raises a TreecompileError somewhere below; here it becomes one
line and exit code 2. Exit code 1 means that the answer is no.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from treecompile import __version__
from treecompile.errors import OptionError, TreecompileError

if TYPE_CHECKING:
    from treecompile.compiler import Learned, LearnOptions
    from treecompile.data import DataOptions
    from treecompile.ir import Program

F = TypeVar("F", bound=Callable[..., Any])


class Group(click.Group):
    """Turns every error of a user into one line and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except (TreecompileError, click.ClickException) as error:
            message = str(error)
            if isinstance(error, click.ClickException):
                message = error.format_message()
            click.echo(f"Error: {' '.join(message.split())}", err=True)
            code = 2
        except click.Abort:
            click.echo("interrupted", err=True)
            code = 130
        except BrokenPipeError:
            sys.stderr.close()  # whoever read the output has had enough of it
            code = 0
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="treecompile")
def main() -> None:
    """Compile learned decision trees into Python, SQL and rule documents.

    Every artefact gives exactly the model's answer, for every row, and `verify` proves
    it on the real engine. Start with:

        treecompile build data.csv --target COLUMN --out DIR
    """


# ---------------------------------------------------------------- shared options


def apply(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print nothing but errors."
)
na_option = click.option(
    "--na-value",
    "na_values",
    multiple=True,
    metavar="TEXT",
    help="A text that means missing, beside the empty one. Repeatable.",
)

learn_options = apply(
    click.option("--target", required=True, metavar="COL", help="Column to predict."),
    click.option(
        "--algorithm",
        default="",
        metavar="NAME",
        help="id3, c45 or cart. [default: c45 for labels, cart for a number]",
    ),
    click.option(
        "--task",
        type=click.Choice(["classify", "regress"]),
        help="Predict labels or a number. [default: by the target's type; an integer"
        " target with at most 10 values is labels]",
    ),
    click.option(
        "--labels",
        default="",
        metavar="A,B,C",
        help="The labels in the order that decides ties. [default: sorted]",
    ),
    click.option(
        "--categorical", multiple=True, metavar="COL", help="Codes, not numbers."
    ),
    click.option("--numeric", multiple=True, metavar="COL", help="Numbers, all of it."),
    click.option(
        "--ordinal",
        multiple=True,
        metavar="COL=A,B,C",
        help="Categories that have an order, from low to high.",
    ),
    click.option("--ignore", multiple=True, metavar="COL", help="Leave a column out."),
    na_option,
    click.option("--max-depth", type=int, help="Most tests in a row."),
    click.option(
        "--min-split", type=int, default=2, show_default=True, help="Cases to split."
    ),
    click.option(
        "--min-leaf",
        type=int,
        help="Cases that each branch of a split needs; for c45, that two of them need."
        " [default: 2 for c45, else 1]",
    ),
    click.option(
        "--min-gain",
        type=float,
        default=0.0,
        show_default=True,
        help="Decrease of impurity that a split needs.",
    ),
    click.option(
        "--max-leaves", type=int, help="cart: most leaves; the best splits come first."
    ),
    click.option(
        "--criterion",
        default="",
        metavar="NAME",
        help="c45: gain-ratio or gain; cart: gini or entropy. [default: the first]",
    ),
    click.option(
        "--prune",
        default="",
        metavar="NAME",
        help="none, pessimistic (c45) or cost-complexity."
        " [default: pessimistic for c45, else none]",
    ),
    click.option(
        "--alpha",
        type=float,
        metavar="A",
        help="Cost-complexity: the share of the root's errors that each leaf of a split"
        " must save. [default: 0.01]",
    ),
    click.option(
        "--cf",
        type=float,
        default=0.25,
        show_default=True,
        metavar="P",
        help="Confidence level of pessimistic pruning; less prunes more.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["majority", "fractional"]),
        help="In training, a case with a missing value goes down the heaviest branch,"
        " or in parts down all. [default: fractional for c45, else majority]",
    ),
    click.option(
        "--predict-missing",
        type=click.Choice(["branch", "fractional"]),
        default="branch",
        show_default=True,
        help="The same in prediction; only branch compiles into code.",
    ),
    click.option(
        "--subset", is_flag=True, help="c45: branches for groups of categories."
    ),
    click.option(
        "--costs",
        metavar="FILE",
        help="c45: lines `column,cost`; cheap columns are preferred.",
    ),
    click.option(
        "--cost-measure",
        type=click.Choice(["eg2", "cs-id3", "idx"]),
        default="eg2",
        show_default=True,
        help="How gain and cost are weighed.",
    ),
    click.option(
        "--cost-weight",
        type=float,
        default=1.0,
        show_default=True,
        metavar="W",
        help="Of the cost, for eg2; 0 ignores it.",
    ),
    click.option(
        "--validation",
        metavar="FILE",
        help="Rows to measure the quality on, with the target.",
    ),
    click.option(
        "--validation-fraction",
        type=float,
        default=0.0,
        metavar="F",
        help="Hold out this share of the rows to measure the quality on.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="For holding out."
    ),
    quiet_option,
)


@contextmanager
def progress_bar(label: str, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """A factory of callbacks: given the whole, it returns what takes each part."""
    bars: list[Any] = []

    def start(length: int) -> Callable[[int], None]:
        # click draws it on a terminal only; for small work it would just flicker
        hidden = quiet or length < 20_000 or not sys.stderr.isatty()
        bar = click.progressbar(
            length=length, label=label, file=sys.stderr, hidden=hidden
        )
        bars.append(bar.__enter__())
        update: Callable[[int], None] = bar.update
        return update

    try:
        yield start
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


def tell(quiet: bool, *lines: str) -> None:
    """Say something on standard error, which leaves standard output to the result."""
    if not quiet:
        for line in lines:
            click.echo(line, err=True)


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, split at the last sign: a name may contain one, a value rarely."""
    result = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not value:
            raise OptionError(f"{option} {text!r}: expected NAME=VALUE")
        result[name] = value
    return result


def read_options(options: dict[str, Any]) -> tuple[DataOptions, LearnOptions]:
    """Sort the options of the command line into what they are about."""
    from treecompile.compiler import LearnOptions
    from treecompile.data import DataOptions
    from treecompile.learners.costs import read_costs

    costs = options.pop("costs")
    options["costs"] = read_costs(costs) if costs else ()
    for key in ("criterion", "prune", "missing"):
        options[key] = options[key] or ""  # which leaves it to the algorithm
    ordinal = pairs("--ordinal", options.pop("ordinal")).items()
    labels = options.pop("labels")
    columns = DataOptions(
        labels=tuple(labels.split(",")) if labels else (),
        ordinal=tuple((name, tuple(order.split(","))) for name, order in ordinal),
        **{
            key: options.pop(key)
            for key in (
                "target",
                "task",
                "na_values",
                "categorical",
                "numeric",
                "ignore",
            )
        },
    )
    return columns, LearnOptions(**options)


def learn_with(data: str, quiet: bool, options: dict[str, Any]) -> Learned:
    from treecompile import compiler

    validation = options.pop("validation")
    columns, how = read_options(options)
    with progress_bar("learning", quiet) as start:
        learned = compiler.learn(data, columns, how, validation, start)
    tell(quiet, *learned.notes)
    return learned


def output(path: str | None, text: str) -> None:
    """Write a result to a file, or to standard output."""
    from treecompile.render import write_text

    if path is None or path == "-":
        click.echo(text.encode(), nl=False)  # as bytes, nothing in it is changed
    else:
        write_text(Path(path), text)


def read_model(path: str) -> Program:
    from treecompile.model_file import read_program

    return read_program(path)


def summary(program: Program) -> str:
    from treecompile.api import Model

    model = Model(program)
    leaves = "leaf" if model.n_leaves == 1 else "leaves"
    return f"{model.n_leaves} {leaves}, depth {model.depth}"


# ---------------------------------------------------------------- commands


@main.command()
@click.argument("data")
@learn_options
@click.option(
    "-o",
    "out",
    default="model.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
def learn(data: str, out: str, quiet: bool, **options: Any) -> None:
    """Learn a tree from DATA (CSV, TSV, Parquet, or - for CSV on standard input)."""
    from treecompile.model_file import dumps

    learned = learn_with(data, quiet, options)
    output(out, dumps(learned.program))
    tell(quiet, f"{summary(learned.program)}: wrote {out}")


@main.command()
@click.argument("model")
@click.option(
    "-o",
    "out",
    default="rules.json",
    show_default=True,
    metavar="FILE",
    help="The model file; - for standard output.",
)
@quiet_option
def rules(model: str, out: str, quiet: bool) -> None:
    """Flatten a tree into an ordered list of simplified rules."""
    from treecompile.compiler import flatten, flattening_notes
    from treecompile.model_file import dumps

    program = read_model(model)
    flat = flatten(program)
    output(out, dumps(flat))
    tell(quiet, *(f"note: {note}" for note in flattening_notes(program)))
    tell(quiet, f"{len(flat.body.rules)} rules: wrote {out}")  # type: ignore[union-attr]


@main.command()
@click.argument("model")
@click.option("--to", "target", required=True, help="python, sql or markdown.")
@click.option("-o", "out", metavar="FILE", help="[default: standard output]")
@click.option(
    "--style",
    default="standard",
    show_default=True,
    help="Python: standard (a row at a time) or numpy (whole columns).",
)
@click.option(
    "--dialect",
    default="sqlite",
    show_default=True,
    help="SQL: sqlite, duckdb or postgres.",
)
@click.option(
    "--as",
    "form",
    default="expression",
    show_default=True,
    help="SQL: expression, select or view.",
)
@click.option("--table", default="", help="SQL: the table that a select or view reads.")
@click.option("--name", default="", help="SQL: the name of the view. [predictions]")
@click.option(
    "--output",
    "result",
    default="label",
    show_default=True,
    help="SQL: label, probability or rule.",
)
@click.option(
    "--label", default="", help="SQL: whose probability. [the predicted label's]"
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FEATURE=COLUMN",
    help="SQL: a feature that has another name in the table. Repeatable.",
)
@quiet_option
def emit(
    model: str,
    target: str,
    out: str | None,
    columns: tuple[str, ...],
    result: str,
    quiet: bool,
    **options: str,
) -> None:
    """Compile a model into an artefact that predicts on its own."""
    from treecompile import compiler
    from treecompile.lower import EmitOptions

    renamed = pairs("--column", columns)
    choices = EmitOptions(output=result, columns=renamed, **options)
    artefact = compiler.emit(read_model(model), target, choices)
    tell(quiet, *(f"Warning: {warning}" for warning in artefact.warnings))
    output(out, artefact.text)
    if out not in (None, "-"):
        tell(quiet, f"wrote {out}")


@main.command()
@click.argument("data")
@learn_options
@click.option(
    "--out", "folder", required=True, metavar="DIR", help="Folder for the results."
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
@click.option("--no-verify", is_flag=True, help="Do not run what was written.")
def build(
    data: str,
    folder: str,
    dialect: str,
    engines: tuple[str, ...],
    no_verify: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn from DATA and write model.json, predict.py, predict.sql and RULES.md.

    The Python module and the SQL are run over every cell of the model and compared with
    it before anything is written.
    """
    from treecompile.compiler import emit
    from treecompile.lower import EmitOptions
    from treecompile.model_file import dumps
    from treecompile.render import write_texts
    from treecompile.reports import verification
    from treecompile.targets import read_dialect
    from treecompile.verify import verify

    own = read_dialect(dialect).engine
    for engine in engines:
        read_dialect(engine)
    program = learn_with(data, quiet, options).program
    tell(quiet, summary(program))
    sql = emit(program, "sql", EmitOptions(dialect=dialect))
    python = emit(program, "python")
    tell(quiet, *(f"Warning: {warning}" for warning in sql.warnings))
    texts = {
        "model.json": dumps(program),
        "predict.py": python.text,
        "predict.sql": sql.text,
        "RULES.md": emit(program, "markdown").text,
    }
    reports = []
    if not no_verify:
        reports.append(("predict.py", verify(program, python.text, "python")))
        if own:
            reports.append(("predict.sql", verify(program, sql.text, own)))
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


@main.command()
@click.argument("model")
@click.argument("artefact")
@click.option(
    "--engine",
    default="",
    help="python, sqlite, duckdb or postgres. [by the artefact]",
)
@click.option("--url", default="", help="Where the server is: postgresql://...")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FEATURE=COLUMN",
    help="A feature that has another name in the SQL. Repeatable.",
)
@click.option(
    "--budget", type=int, default=100_000, show_default=True, help="Most rows."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="For the selection."
)
@quiet_option
def verify(
    model: str,
    artefact: str,
    engine: str,
    url: str,
    columns: tuple[str, ...],
    budget: int,
    seed: int,
    quiet: bool,
) -> None:
    """Prove an artefact equal to the model on the engine where it will run.

    Exit code 1 if they differ on any row.
    """
    from treecompile.reports import verification
    from treecompile.verify import verify

    program = read_model(model)
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
        program, text, engine, url=url, columns=renamed, budget=budget, seed=seed
    )
    tell(quiet and report.passed, *verification(artefact, report))
    raise SystemExit(0 if report.passed else 1)


@main.command()
@click.argument("model")
@click.argument("data")
@na_option
@click.option("-o", "out", metavar="FILE", help="[default: standard output]")
def predict(model: str, data: str, na_values: tuple[str, ...], out: str | None) -> None:
    """Write DATA as CSV with a column `prediction`, by the reference evaluator."""
    from treecompile.score import scored_csv

    output(out, scored_csv(read_model(model), data, na_values))


@main.command()
@click.argument("model")
@click.argument("data")
@na_option
def evaluate(model: str, data: str, na_values: tuple[str, ...]) -> None:
    """Measure a model on DATA that has the target: accuracy, confusion, each rule."""
    from treecompile.compiler import evaluate_on
    from treecompile.read import read_table
    from treecompile.reports import evaluation

    program = read_model(model)
    result = evaluate_on(program, read_table(data), na_values)
    for line in evaluation(program, result):
        click.echo(line)


@main.command()
@click.argument("model")
def show(model: str) -> None:
    """Show the tree, or the rules, in the terminal."""
    from treecompile.semantics import is_fractional
    from treecompile.show import show

    program = read_model(model)
    click.echo(f"{program.target}, by {program.algorithm}: {summary(program)}")
    if is_fractional(program.body):
        click.echo("missing and unseen values are divided among the branches")
    click.echo(show(program))
