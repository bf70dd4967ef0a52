"""The public classes and functions: the same verbs as the commands, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treecompile import compiler, cross_validation, model_file, pruning, training
from treecompile.analysis import check as analysis_check
from treecompile.analysis import diff as analysis_diff
from treecompile.analysis.budget import STEPS
from treecompile.analysis.check import Check
from treecompile.analysis.diff import Diff
from treecompile.batch import Columns, answers, shares
from treecompile.cross_validation import CrossValidation
from treecompile.data import DataOptions, encode_features
from treecompile.divide import divisible
from treecompile.draw import draw, readable_depth
from treecompile.errors import OptionError
from treecompile.glossary import read_glossary
from treecompile.importance import importances, tree_of
from treecompile.ir import Label, Leaf, Program, RuleSet, Tree
from treecompile.learners.prune import Step, weakest_links
from treecompile.learners.weighting import BALANCED
from treecompile.lower import EmitOptions
from treecompile.quality import Evaluation, evaluate_on
from treecompile.read import read_table
from treecompile.render import write_text
from treecompile.semantics import predict
from treecompile.show import show
from treecompile.sources import read_source
from treecompile.training import LearnOptions
from treecompile.verify import Report, verify
from treecompile.verify.cells import BUDGET, trial
from treecompile.verify.reference import Reference

if TYPE_CHECKING:
    import pandas as pd

    Data = str | Path | pd.DataFrame


def learn(
    data: Data,
    *,
    target: str,
    algorithm: str = "",
    task: str | None = None,
    labels: Sequence[str] = (),
    na_value: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    ignore: str | Sequence[str] = (),
    max_depth: int | None = None,
    min_split: int = 2,
    min_leaf: int | None = None,
    min_gain: float = 0.0,
    max_leaves: int | None = None,
    chi2: float | None = None,
    min_sse: float | None = None,
    criterion: str = "",
    prune: str = "",
    alpha: float | str | None = None,
    alpha_folds: int = 10,
    cf: float = 0.25,
    missing: str = "",
    predict_missing: str = "branch",
    subset: bool = False,
    costs: Mapping[str, float] | None = None,
    cost_measure: str = "eg2",
    cost_weight: float = 1.0,
    one_hot: bool | str | Sequence[str] = (),
    weights: str = "",
    class_weight: Mapping[Label, float] | str | None = None,
    prior: Mapping[Label, float] | None = None,
    validation: Data | None = None,
    validation_fraction: float = 0.0,
    seed: int = 0,
) -> Model:
    """Learn a tree that predicts the column `target` from the other columns.

    `data` is a DataFrame or the path of a file (CSV, TSV, ARFF, JSON lines, Parquet).
    The options are those of `treecompile learn`; `costs` is a mapping from columns,
    `class_weight` (or "balanced") and `prior` are mappings from labels, and `one_hot`
    may be True for all columns. What was chosen and what looks odd about the data is in
    the `notes` of the model.

    >>> model = learn("examples/tennis/tennis.csv", target="play")
    >>> model.n_leaves
    5
    """
    columns = DataOptions(
        target=target,
        task=task,
        labels=tuple(labels),
        na_values=_several(na_value),
        categorical=_several(categorical),
        numeric=_several(numeric),
        ordinal=tuple((name, tuple(order)) for name, order in (ordinal or {}).items()),
        ignore=_several(ignore),
        weights=weights,
    )
    options = LearnOptions(
        algorithm=algorithm,
        max_depth=max_depth,
        min_split=min_split,
        min_leaf=min_leaf,
        min_gain=min_gain,
        max_leaves=max_leaves,
        chi2=chi2,
        min_sse=min_sse,
        criterion=criterion,
        prune=prune,
        alpha=alpha,
        alpha_folds=alpha_folds,
        cf=cf,
        missing=missing,
        predict_missing=predict_missing,
        subset=subset,
        costs=tuple((costs or {}).items()),
        cost_measure=cost_measure,
        cost_weight=cost_weight,
        validation_fraction=validation_fraction,
        seed=seed,
        **_counting(one_hot, class_weight, prior),
    )
    learned = training.learn(data, columns, options, validation)
    return Model(learned.program, learned.notes)


def cross_validate(
    data: Data, *, target: str, k: int = 10, **options: Any
) -> CrossValidation:
    """Measure how well a tree is learned from a table, by k-fold cross-validation.

    The options are those of `learn`; the folds are stratified by label, and the `seed`
    says which rows they have. The result has the `mean` and the `deviation` of the
    accuracy, or of the root mean squared error, over the `folds`, and the `quality` of
    all predictions together.

    >>> result = cross_validate("examples/tennis/tennis.csv", target="play", k=7)
    >>> len(result.folds)
    7
    """
    columns, how = _sorted("cross_validate", target, options)
    return cross_validation.cross_validate(data, columns, how, k)


FORMS = ("one_hot", "class_weight", "prior")


def _sorted(
    function: str, target: str, options: Mapping[str, Any]
) -> tuple[DataOptions, LearnOptions]:
    """The options of `learn`, by name, put where they belong."""
    rest = dict(options)
    columns = DataOptions(
        target=target,
        task=rest.pop("task", None),
        labels=tuple(rest.pop("labels", ())),
        na_values=_several(rest.pop("na_value", ())),
        categorical=_several(rest.pop("categorical", ())),
        numeric=_several(rest.pop("numeric", ())),
        ordinal=tuple((n, tuple(o)) for n, o in rest.pop("ordinal", {}).items()),
        ignore=_several(rest.pop("ignore", ())),
        weights=rest.pop("weights", ""),
    )
    forms = {name: rest.pop(name) for name in FORMS if name in rest}
    rest |= _counting(**forms)
    if "costs" in rest:
        rest["costs"] = tuple((rest["costs"] or {}).items())
    known = {field.name for field in fields(LearnOptions)}
    for name in rest:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return columns, LearnOptions(**rest)


def from_sklearn(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Label] | None = None,
) -> Model:
    """A model from a fitted DecisionTreeClassifier or DecisionTreeRegressor.

    It predicts what `estimator.predict` predicts, for every double: scikit-learn
    compares 32-bit floats, so each threshold is moved to where the rounding ends. Names
    come from the estimator where they are not given.
    """
    from treecompile.import_sklearn import import_tree

    return Model(import_tree(estimator, feature_names, class_names))


def load(path: str | Path) -> Model:
    """Read a model file, a `.rules` file or a rule document.

    A damaged one raises ModelFileError, a mistake in the rules RulesError.
    """
    return Model(*read_source(path))


def diff(
    old: Model, new: Model, data: Data | None = None, *, budget: int = STEPS
) -> Diff:
    """Where two models decide differently, exactly: regions with a row for each.

    With `data`, how many of its rows fall into each. Features are matched by name.
    """
    table = None if data is None else read_table(data)
    return analysis_diff.diff(old.program, new.program, table, budget)


def _counting(
    one_hot: bool | str | Sequence[str] = (),
    class_weight: Mapping[Label, float] | str | None = None,
    prior: Mapping[Label, float] | None = None,
) -> dict[str, Any]:
    """What may be given in several forms, as LearnOptions has it."""
    balanced = class_weight == BALANCED
    if isinstance(class_weight, str) and not balanced:
        raise OptionError(
            f"class_weight {class_weight!r}: expected a mapping or {BALANCED!r}"
        )
    weights = class_weight if isinstance(class_weight, Mapping) else {}
    return {
        "one_hot": () if isinstance(one_hot, bool) else _several(one_hot),
        "one_hot_all": one_hot is True,
        "class_weight": tuple(weights.items()),
        "balanced": balanced,
        "prior": tuple((prior or {}).items()),
    }


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Model:
    """A learned tree or its list of rules, and all that they can be turned into.

    Models are values: nothing changes one, and `rules` gives a new one.
    """

    def __init__(
        self,
        program: Program,
        notes: Sequence[str] = (),
        origin: Program | None = None,
    ) -> None:
        self.program = program
        self.notes = tuple(notes)
        self._origin = origin or program  # what pruning starts from

    def __repr__(self) -> str:
        kind = "tree" if isinstance(self.program.body, Tree) else "rules"
        return (
            f"<treecompile.Model {kind} for {self.program.target!r}:"
            f" {self.n_leaves} leaves, sha256 {self.sha256[:12]}>"
        )

    @cached_property
    def sha256(self) -> str:
        """The identity of the model, which every artefact carries."""
        return model_file.sha256(self.program)

    @property
    def n_nodes(self) -> int:
        """Splits and leaves of a tree; the rules and the default of a list."""
        body = self.program.body
        return len(body.nodes) if isinstance(body, Tree) else len(body.rules) + 1

    @property
    def n_leaves(self) -> int:
        """Leaves of a tree; rules of a list, the default not counted."""
        body = self.program.body
        if isinstance(body, RuleSet):
            return len(body.rules)
        return sum(isinstance(node, Leaf) for node in body.nodes)

    @property
    def depth(self) -> int:
        """The most tests that a row can meet on its way."""
        body = self.program.body
        if isinstance(body, RuleSet):
            return max((len(rule.conditions) for rule in body.rules), default=0)
        depths = [0] * len(body.nodes)
        for position, node in enumerate(body.nodes):
            for branch in getattr(node, "branches", ()):
                depths[branch.then] = depths[position] + 1
        return max(depths)

    @property
    def importances(self) -> dict[str, float]:
        """What each feature is worth: its share of the decrease of impurity."""
        return importances(self.program)

    @property
    def alphas(self) -> tuple[Step, ...]:
        """The trees that cost-complexity pruning can make of this one, nested.

        Each has the `alpha` from which on it is the answer, its `leaves`, and its
        `risk`: what it gets wrong in training, relative to the root alone.
        """
        return tuple(weakest_links(tree_of(self.program)))

    def rules(self) -> Model:
        """The same answers from an ordered list of simplified rules.

        Rules that differ in one test and answer the same are merged, and with them
        their probabilities. Of a tree that divides missing values, rules are another
        model: a note says so.
        """
        made = pruning.simplify(self.program)
        return Model(made, pruning.flattening_notes(self.program), self._origin)

    def prune(
        self,
        validation: Data | None = None,
        *,
        training: Data | None = None,
        na_value: str | Sequence[str] = (),
    ) -> Model:
        """Post-pruned rules: against a validation set, or as c4.5rules makes them.

        Give the rows of one: `rules.prune(validation)` drops conditions while the
        accuracy there does not fall and sorts the rules by it,
        `rules.prune(training=...)` does without a validation set. Both start from the
        paths of the tree that `rules()` was called on; of a list that was loaded, from
        its rules.
        """
        pruned = pruning.prune(self._origin, validation, training, _several(na_value))
        return Model(pruned.program, pruned.notes)

    def emit(
        self,
        to: str = "python",
        *,
        style: str = "standard",
        dialect: str = "sqlite",
        form: str = "expression",
        table: str = "",
        name: str = "",
        output: str = "label",
        label: str = "",
        columns: Mapping[str, str] | None = None,
        alias: str = "",
        comments: bool = True,
        templates: str | Path = "",
        glossary: str | Path | None = None,
    ) -> str:
        """The text of an artefact: a target by its name, or a folder of yours.

        Targets are `python`, `sql`, `markdown` and `rules`. A folder is a path
        (`./excel`) with a target.toml; `templates` is a folder whose templates replace
        those built in.

        For Python: the `style`, standard for one row at a time or numpy for whole
        columns.

        For SQL: the `dialect`, the `form` (expression, select, view, function or dbt;
        a query reads `table`, and what is made is called `name`), the `output` (label,
        probability or rule; in a query several, with commas), the `label` whose
        probability it is, `columns` that are called otherwise in the database, the
        `alias` of the table, and whether there are `comments`.

        For Markdown: the `glossary`, a CSV file with name, description and unit.
        """
        options = EmitOptions(
            style=style,
            dialect=dialect,
            form=form,
            table=table,
            name=name,
            output=output,
            label=label,
            columns=dict(columns or {}),
            alias=alias,
            comments=comments,
            templates=str(templates),
            glossary=read_glossary(glossary) if glossary else {},
        )
        return compiler.emit(self.program, to, options, self.sha256).text

    def predict(self, data: Data) -> pd.Series[Any]:
        """The prediction for each row, with the index of the frame.

        Every column that some test reads must be there; others are ignored.
        """
        import pandas as pd

        found = answers(self.program.body, *self._encoded(data))
        labels = self.program.body.labels
        if labels:
            table = np.empty(len(labels), dtype=object)
            table[:] = labels
            found = table[found]
        dtype = {str: "str", bool: "bool", int: "int64", float: "float64"}[
            type(labels[0]) if labels else float
        ]
        if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in labels):
            dtype = "object"
        index = getattr(data, "index", None)
        return pd.Series(found, index=index, name="prediction", dtype=dtype)

    def predict_proba(self, data: Data) -> pd.DataFrame:
        """The probability of each label (a column) for each row."""
        import pandas as pd

        labels = self.program.body.labels
        if not labels:
            raise OptionError("a regression has no probabilities")
        found = shares(self.program.body, *self._encoded(data))
        index = getattr(data, "index", None)
        return pd.DataFrame(found, index=index, columns=list(labels))

    def _encoded(self, data: Data) -> tuple[Columns, int]:
        """The columns of a table as the model reads them, and how many rows."""
        table = read_table(data)
        return encode_features(self.program, table), table.rows

    def evaluate(self, data: Data) -> Evaluation:
        """Accuracy, confusion and what each rule did, on rows that have the target."""
        return evaluate_on(self.program, read_table(data))

    def verify(self, text: str, engine: str = "", **options: Any) -> Report:
        """Prove the text of an artefact equal to this model; see `verify.verify`."""
        return verify(self.program, text, engine, **options)

    def edge_rows(
        self, budget: int = BUDGET, seed: int = 0
    ) -> list[tuple[dict[str, Any], Label]]:
        """The rows that `verify` tries, each with the answer that it must get.

        Every cell of the model and every edge between them: the best test there is
        for an artefact in a language that `verify` does not run.
        """
        body = self.program.body
        names = [feature.name for feature in body.features]
        cut = Reference(self.program).body
        scattered = divisible(body)
        rows = trial(cut, budget=budget, seed=seed, scattered=scattered).rows
        return [
            (dict(zip(names, row, strict=True)), predict(body, row)) for row in rows
        ]

    def check(self, budget: int = STEPS) -> Check:
        """Which rules overlap, conflict or never decide, exactly, with witness rows."""
        return analysis_check.check(self.program, budget)

    def show(self, stats: bool = False) -> str:
        """The tree, or the rules, as text for a terminal.

        With `stats`, the cases, impurity and gain of every node of a tree.
        """
        return show(self.program, stats=stats)

    def draw(self, max_depth: int | None = None) -> str:
        """The tree, or a table of the rules, as the text of an SVG file."""
        return draw(self.program, max_depth)

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, of a large tree the upper part."""
        body = self.program.body
        depth = readable_depth(body) if isinstance(body, Tree) else None
        return f'<div style="overflow-x: auto">{self.draw(depth)}</div>'

    def save(self, path: str | Path) -> None:
        """Write a model file, whole or not at all."""
        write_text(Path(path), model_file.dumps(self.program))
