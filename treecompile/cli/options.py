"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from treecompile.errors import OptionError

if TYPE_CHECKING:
    from treecompile.data import DataOptions
    from treecompile.learn_options import LearnOptions

F = TypeVar("F", bound=Callable[..., Any])


def apply(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print nothing but errors."
)
glossary_option = click.option(
    "--glossary",
    metavar="FILE",
    help="Markdown: what columns mean, in CSV lines name,description,unit.",
)
templates_option = click.option(
    "--templates",
    default="",
    metavar="DIR",
    help="Your templates, as DIR/python/module.py.jinja, go before those built in.",
)
na_option = click.option(
    "--na-value",
    "na_values",
    multiple=True,
    metavar="TEXT",
    help="A text that means missing, beside the empty one. Repeatable.",
)

budget_option = click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Most steps of searching.",
)
list_option = click.option(
    "--list",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    help="List at most N of each kind. [default: 10]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

url_option = click.option(
    "--from",
    "url",
    default="",
    metavar="URL",
    help="The database that has the table: duckdb://FILE, postgresql://..., spark:,"
    " sqlite://FILE or mysql://HOST/NAME. It counts there.",
)
memory_option = click.option(
    "--memory-limit",
    default="",
    metavar="SIZE",
    help="DuckDB: most memory, as 1GB; beyond it, it uses the disk.",
)
place_options = apply(  # where the rows are, if not in a file
    url_option,
    click.option(
        "--table", default="", metavar="NAME", help="The table there, or SCHEMA.NAME."
    ),
    memory_option,
)

how_options = apply(  # all about learning but the target
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
        "--max-leaves",
        type=int,
        help="cart and id3: most leaves; the best splits come first.",
    ),
    click.option(
        "--chi2",
        type=float,
        metavar="P",
        help="Labels: make no split that chance alone explains more often than this, by"
        " the chi-square test.",
    ),
    click.option(
        "--min-sse",
        type=float,
        metavar="S",
        help="Numbers: the sum of squared errors that a node needs to be split.",
    ),
    click.option(
        "--criterion",
        default="",
        metavar="NAME",
        help="c45: gain-ratio or gain; cart: gini, entropy, gain-ratio, distance or"
        " chi-square; id3: the same. [default: the first; entropy for id3]",
    ),
    click.option(
        "--prune",
        default="",
        metavar="NAME",
        help="none, pessimistic (c45), cost-complexity or reduced-error."
        " [default: pessimistic for c45, else none]",
    ),
    click.option(
        "--alpha",
        metavar="A",
        help="Cost-complexity: the share of the root's errors that each leaf of a split"
        " must save; or cv or 1se to choose it by cross-validation. [default: 0.01]",
    ),
    click.option(
        "--alpha-folds",
        type=int,
        default=10,
        show_default=True,
        metavar="K",
        help="Folds of the cross-validation that chooses alpha.",
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
        help="The same in prediction, by the model and all artefacts.",
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
        "--one-hot",
        multiple=True,
        metavar="COL",
        help="Split these categories one against the rest. Repeatable.",
    ),
    click.option(
        "--one-hot-all", is_flag=True, help="The same for all columns of categories."
    ),
    click.option(
        "--weights",
        default="",
        metavar="COL",
        help="Column that says how much each row counts; it is no feature.",
    ),
    click.option(
        "--class-weight",
        multiple=True,
        metavar="LABEL=W",
        help="How much the rows of a label count, else 1; or `balanced`, all labels the"
        " same. Repeatable.",
    ),
    click.option(
        "--prior",
        multiple=True,
        metavar="LABEL=P",
        help="The share that a label shall have, for every label. Repeatable.",
    ),
    click.option(
        "--validation",
        metavar="FILE",
        help="Rows with the target, to measure the quality on or to prune by.",
    ),
    click.option(
        "--validation-fraction",
        type=float,
        default=0.0,
        metavar="F",
        help="Hold out this share of the rows for that instead.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Of rows and folds."
    ),
    quiet_option,
)
learn_options = apply(
    click.option("--target", metavar="COL", help="Column to predict."),
    how_options,
)


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE, split at the last sign: a name may contain one, a value rarely."""
    result = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not value:
            raise OptionError(f"{option} {text!r}: expected NAME=VALUE")
        result[name] = value
    return result


def _numbers(option: str, texts: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """LABEL=NUMBER, each label once."""
    found: dict[str, float] = {}
    for text in texts:
        ((name, number),) = pairs(option, (text,)).items()
        if name in found:
            raise OptionError(f"{option} names the label {name!r} twice")
        try:
            found[name] = float(number)
        except ValueError:
            raise OptionError(
                f"{option} {text!r}: {number!r} is not a number"
            ) from None
    return tuple(found.items())


def _alpha(text: str | None) -> float | str | None:
    """A number, or the word that stands for a way to choose it."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def read_options(options: dict[str, Any]) -> tuple[DataOptions, LearnOptions]:
    """Sort the options of the command line into what they are about."""
    from treecompile.data import DataOptions
    from treecompile.learn_options import LearnOptions
    from treecompile.learners.costs import read_costs
    from treecompile.learners.weighting import BALANCED

    costs = options.pop("costs")
    options["costs"] = read_costs(costs) if costs else ()
    given = options.pop("class_weight")
    options["balanced"] = BALANCED in given
    if options["balanced"] and len(given) > 1:
        raise OptionError("--class-weight: give weights or balanced, not both")
    options["class_weight"] = (
        () if options["balanced"] else _numbers("--class-weight", given)
    )
    options["prior"] = _numbers("--prior", options.pop("prior"))
    for key in ("criterion", "prune", "missing"):
        options[key] = options[key] or ""  # which leaves it to the algorithm
    options["alpha"] = _alpha(options["alpha"])
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
                "weights",
            )
        },
    )
    return columns, LearnOptions(**options)
