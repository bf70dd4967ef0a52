"""How good a learned model is, in a line, and what a user may want to change.

Each piece of advice names what looks wrong and the option that helps.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from treecompile.measure.quality import accuracy
from treecompile.model import ir, words
from treecompile.model.evidence import MEASURED, label_rows, right_rows, rows_of
from treecompile.model.paths import leaf_count
from treecompile.model.referral import refer_label, referred_rows

READABLE = 50  # leaves that a person may read
WEIGHTED = {"weights", "class_weight", "balanced", "prior"}  # options
FITS_NOISE = 0.1  # of the rows: right in training, wrong in cross-validation
MANY_LABELS = 100
FEW = 10  # rows of a label: with fewer on average, many labels are hardly classes
SMALLER = {
    "c45": "--algorithm cart, --rules c45rules or a lower --cf",
    "cart": "--alpha 1se, --max-leaves or --min-leaf",
    "id3": "--algorithm c45 or cart, which prune, or --chi2 0.01",
}


# --- quality --------------------------------------------------------------------------


def quality_line(program: ir.AnyProgram) -> str:
    """`accuracy: 94.0 % in 10-fold cross-validation, 97.1 % on the 333 training rows`.

    Behind a semicolon follows what the same answer for every row would achieve.
    """
    measured = list(_measured(program))
    if not measured:
        return ""
    figures = ", ".join(
        f"{_figure(quality)} {on}{_referred(program, quality)}"
        for quality, on in measured
    )
    name = "accuracy" if program.body.labels else "RMSE"
    return f"{name}: {figures}{_baseline(program, measured[0][0])}"


def _measured(program: ir.AnyProgram) -> Iterator[tuple[ir.Quality, str]]:
    """The qualities that are known, the one that says most first; and on which rows."""
    training = program.training
    if training is None:
        return
    if training.estimate is not None:
        yield training.estimate.quality, _how(training.estimate)
    elif training.validation is not None:
        pruned = ", which pruned the model" if was_pruned_by_validation(program) else ""
        yield training.validation, f"{_rows(training.validation, 'validation')}{pruned}"
    if training.quality is not None:
        is_measured = MEASURED in dict(program.options)
        rows = _rows(training.quality, "given" if is_measured else "training")
        yield training.quality, rows


def was_pruned_by_validation(program: ir.AnyProgram) -> bool:
    options = dict(program.options)
    return options.get("prune") == "reduced-error" or (
        options.get("rules") == "validation"
    )


def _figure(quality: ir.Quality) -> str:
    if isinstance(quality, ir.ClassQuality):
        return f"{100 * (accuracy(quality) or 0.0):.1f} %"
    return words.rounded(quality.root_mean_squared_error)


def _referred(program: ir.AnyProgram, quality: ir.Quality) -> str:
    """` (of these, 12.0 % are referred, and 98.1 % of the others are right)`."""
    label = refer_label(program) if isinstance(program, ir.Program) else None
    if label is None or not isinstance(quality, ir.ClassQuality):
        return ""
    count = referred_rows(quality, program.body.labels, label)
    right, total = right_rows(quality), rows_of(quality)
    if not total:
        return ""
    rest = ""
    if count < total:
        rest = f", {100 * right / (total - count):.1f} % of the others are right"
    return f" ({100 * count / total:.1f} % referred{rest})"


def _how(estimate: ir.Estimate) -> str:
    if estimate.folds > 1:
        return f"in {estimate.folds}-fold cross-validation"
    return _rows(estimate.quality, "held-out")


def _rows(quality: ir.Quality, kind: str) -> str:
    count = rows_of(quality)
    return f"on the {count:,} {kind} row{'s' * (count != 1)}"


def _baseline(program: ir.AnyProgram, quality: ir.Quality) -> str:
    """What the most frequent label, or the mean, would achieve on the same rows."""
    if isinstance(quality, ir.ClassQuality):
        label, share = _most_frequent(program, quality)
        return f"; {100 * share:.1f} % by always answering {label}"
    if quality.r_squared is None or quality.r_squared >= 1:
        return ""
    mean = quality.root_mean_squared_error / sqrt(1 - quality.r_squared)
    return f"; {words.rounded(mean)} by always answering the mean"


def _most_frequent(
    program: ir.AnyProgram, quality: ir.ClassQuality
) -> tuple[str, float]:
    """The label that most rows have, and their share."""
    counts = label_rows(quality)
    label = words.value(program.body.labels[counts.index(max(counts))])
    return label, max(counts) / max(1, sum(counts))


# --- advice ---------------------------------------------------------------------------


def advice(program: ir.Program) -> Iterator[str]:
    """What looks wrong about a learned model, and the option that helps."""
    training = program.training
    if training is None or training.quality is None:
        return
    yield from _about_labels(program, training)
    yield from _about_size(program, training)
    yield from _about_noise(program, training)


def _about_labels(program: ir.Program, training: ir.Training) -> Iterator[str]:
    count = len(program.body.labels)
    if count >= MANY_LABELS and training.rows < FEW * count:
        yield (
            f"{words.name(program.target)} has {count:,} labels in {training.rows:,}"
            " rows: if it is a number, add --task regress; if it identifies rows, it"
            " cannot be predicted"
        )


def _about_size(program: ir.Program, training: ir.Training) -> Iterator[str]:
    count, body = leaf_count(program.body), program.body
    root = body.nodes[0] if isinstance(body, ir.Tree) else None
    if isinstance(root, ir.Leaf) and len(body.labels) != 1:
        value = words.value(root.value)
        yield (
            f"the tree is one leaf, so every answer is {value}: no test that predicts"
            " better was found or kept; --prune none shows what was pruned"
        )
    noun = "leaves" if isinstance(body, ir.Tree) else "rules"
    helps = _smaller(program)
    if count > READABLE and 2 * count > training.rows:
        yield (
            f"{count:,} {noun} for {training.rows:,} rows repeat the table instead of"
            f" explaining it: try {helps}"
        )
    elif count > READABLE:
        yield f"{count:,} {noun} are a lot to read: for fewer, try {helps}"


def _smaller(program: ir.Program) -> str:
    """The options that make a smaller model; for rules, those that make their tree."""
    if isinstance(program.body, ir.RuleSet):
        return "a lower --max-depth or a higher --min-leaf"
    return SMALLER.get(program.algorithm, "--max-leaves")


def _about_noise(program: ir.Program, training: ir.Training) -> Iterator[str]:
    if training.estimate is None or leaf_count(program.body) == 1:
        return
    fitted, expected = training.quality, training.estimate.quality
    if constant := _better_constant(program, expected):
        yield (
            "the model fits noise: on new rows it is worse than always answering"
            f" {constant}; try {_smaller(program)}"
        )
    elif isinstance(fitted, ir.ClassQuality) and isinstance(expected, ir.ClassQuality):
        lost = (accuracy(fitted) or 0.0) - (accuracy(expected) or 0.0)
        if lost > FITS_NOISE:
            helps = _smaller(program)
            yield (
                f"the model fits noise: its accuracy is {100 * lost:.0f} points lower"
                f" on new rows than on the training rows; try {helps}"
            )


def _better_constant(program: ir.Program, expected: ir.Quality) -> str:
    """The answer that would be better if every row got it; "" if there is none.

    Where rows have weights, or some are referred, the model is made for something else
    than what is measured.
    """
    if WEIGHTED & dict(program.options).keys() or refer_label(program) is not None:
        return ""
    if isinstance(expected, ir.ClassQuality):
        label, share = _most_frequent(program, expected)
        return label if (accuracy(expected) or 0.0) < share else ""
    is_worse = expected.r_squared is not None and expected.r_squared < 0
    return "the mean" if is_worse else ""
