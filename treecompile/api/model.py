"""The class Model: what can be asked of a model, and what it can be turned into."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from treecompile.api import rows
from treecompile.api.explanation import Explanation, explanation
from treecompile.api.inputs import (
    Row,
    Rows,
    answers_to,
    as_row,
    encoded,
    margins_of,
    shares_of,
)
from treecompile.api.options import (
    EmitKeywords,
    ReadKeywords,
    read_options,
    with_keywords,
)
from treecompile.api.rows import Data
from treecompile.emit import compiler
from treecompile.emit.options import EmitOptions, emit_options
from treecompile.emit.svg import compact, draw
from treecompile.inspect import check as inspect_check
from treecompile.inspect.check import Check
from treecompile.inspect.importance import importances, tree_of
from treecompile.inspect.show import show, show_forest
from treecompile.learning.pruning import PruningStep, weakest_links
from treecompile.measure.quality import Evaluation
from treecompile.model import file as model_file
from treecompile.model.batch import predictions, shares
from treecompile.model.display import framed
from treecompile.model.errors import OptionError
from treecompile.model.files import write_text
from treecompile.model.forests import check_probabilities, single
from treecompile.model.ir import (
    AnyProgram,
    Forest,
    ForestProgram,
    Label,
    Program,
    RuleSet,
)
from treecompile.model.paths import depth, kind_of, leaf_count, node_count, size
from treecompile.pictures.options import DrawOptions
from treecompile.regions.boxes import STEPS
from treecompile.rules import pruning
from treecompile.rules.pruning import C45RULES, VALIDATION
from treecompile.tables.options import ReadOptions
from treecompile.verify.rows import BUDGET
from treecompile.verify.verification import Report, edge_rows, verify

if TYPE_CHECKING:
    import pandas as pd


class Model:
    """A tree, a list of rules, or a forest from another library.

    A model never changes: methods such as `rules` return a new one. Those that need one
    tree or rules refuse a forest.
    """

    def __init__(
        self,
        program: AnyProgram,
        notes: Sequence[str] = (),
        origin: Program | None = None,
    ) -> None:
        self.any_program = program
        self._notes = tuple(notes)
        self._origin = origin  # what pruning starts from, if it is another program

    @property
    def program(self) -> Program:
        """The tree or the rules; refused for a forest."""
        return self._single("program")

    def _single(self, what: str) -> Program:
        return single(self.any_program, what)

    def __repr__(self) -> str:
        body = self.any_program.body
        return (
            f"<treecompile.Model {kind_of(body)} for {self.any_program.target!r}:"
            f" {size(body)}, sha256 {self.sha256[:12]}>"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The choices made for you, and anything odd about the data, one line each."""
        return self._notes

    @cached_property
    def sha256(self) -> str:
        """The identity of the model, which every artefact carries."""
        return model_file.sha256(self.any_program)

    @property
    def n_nodes(self) -> int:
        """The number of splits and leaves, or of rules including the default."""
        return node_count(self.any_program.body)

    @property
    def n_trees(self) -> int:
        """The number of trees: 1, unless the model is a forest."""
        return len(getattr(self.any_program.body, "members", [None]))

    @property
    def n_leaves(self) -> int:
        """The number of leaves, or of rules without the default."""
        return leaf_count(self.any_program.body)

    @property
    def depth(self) -> int:
        """The maximum number of tests for one row."""
        return depth(self.any_program.body)

    @property
    def importances(self) -> dict[str, float]:
        """The importance of each feature: its share of the decrease of impurity."""
        return importances(self.any_program)

    @property
    def alphas(self) -> tuple[PruningStep, ...]:
        """The nested trees that cost-complexity pruning can make of this one.

        Each has the smallest `alpha` that produces it, its number of `leaves`, and its
        `risk`: the training error relative to that of the root alone.
        """
        return tuple(weakest_links(tree_of(self._single("alphas"))))

    def rules(self) -> Model:
        """The same answers from an ordered list of simplified rules.

        Rules with the same answer that differ in one test are merged, and so are their
        probabilities.
        """
        given = self._single("rules")
        return Model(pruning.simplify(given), (), self._origin or given)

    @with_keywords(ReadKeywords, ReadOptions)
    def prune(
        self,
        validation: Data | None = None,
        *,
        training: Data | None = None,
        **reading: Unpack[ReadKeywords],
    ) -> Model:
        """Post-pruned rules, by a validation set or as in c4.5rules.

        `rules.prune(validation)` drops conditions as long as the accuracy on these rows
        does not fall, and sorts the rules by it. `rules.prune(training=...)` needs no
        validation set. The rows are read into memory.

        Both start from the tree that `rules()` was called on, or from the rules that
        were loaded. The other keywords say how to read a file, as in `learn`.
        """
        given = {VALIDATION: validation, C45RULES: training}
        sets = [(how, data) for how, data in given.items() if data is not None]
        if len(sets) != 1:
            raise OptionError(
                "prune needs validation rows or the training rows: give one of them"
            )
        how = read_options("prune", reading)
        origin = self._origin or self._single("prune")
        return Model(*rows.prune_rules(origin, *sets[0], how))

    @with_keywords(EmitKeywords, EmitOptions)
    def emit(self, to: str = "python", **options: Unpack[EmitKeywords]) -> str:
        """The text of an artefact.

        `to` is `python`, `javascript`, `c`, `go`, `rust`, `sql`, `markdown`, `html`,
        `svg` or `rules`, or the path of a folder with a target.toml, such as `./excel`.
        `templates` is a folder whose templates replace the built-in ones. Options that
        the target does not have are refused.

        For SQL: the `dialect`; the `form` (expression, select, view or dbt); the
        `table` that a query reads; the `name` of the view or dbt model; the `output`
        (label, probability, margin or rule; in a query several, separated by commas);
        the `label` whose probability to compute; `columns`, a mapping from features to
        columns with other names; and whether there are `comments`.
        """
        chosen = emit_options(to, options)
        return compiler.emit(self.any_program, to, chosen, self.sha256).text

    @overload
    def predict(self, data: Row, **reading: Unpack[ReadKeywords]) -> Label: ...

    @overload
    def predict(
        self, data: Rows, **reading: Unpack[ReadKeywords]
    ) -> pd.Series[Any]: ...

    @with_keywords(ReadKeywords, ReadOptions)
    def predict(
        self, data: Row | Rows, **reading: Unpack[ReadKeywords]
    ) -> pd.Series[Any] | Label:
        """The prediction for each row, with the index of the frame.

        The data are a DataFrame, a file, a list of mappings, or an array or list of
        lists with the features in their order. For one mapping, or one row of a frame,
        the result is a single prediction.

        The data must have every column that the model tests; others are ignored. The
        keywords say how to read a file, as in `learn`.
        """
        columns = encoded(self.any_program, data, read_options("predict", reading))
        found = predictions(self.any_program.body, *columns)
        return answers_to(data, found, self.any_program.body.labels)

    @overload
    def predict_proba(
        self, data: Row, **reading: Unpack[ReadKeywords]
    ) -> dict[Label, float]: ...

    @overload
    def predict_proba(
        self, data: Rows, **reading: Unpack[ReadKeywords]
    ) -> pd.DataFrame: ...

    @with_keywords(ReadKeywords, ReadOptions)
    def predict_proba(
        self, data: Row | Rows, **reading: Unpack[ReadKeywords]
    ) -> pd.DataFrame | dict[Label, float]:
        """The probability of each label (a column) for each row; see `predict`.

        For one mapping, the result is a dict with the probability of each label.
        """
        labels = self.any_program.body.labels
        if not labels:
            raise OptionError(
                "a model that predicts a number has no probabilities: use predict"
            )
        if isinstance(self.any_program.body, Forest):
            check_probabilities(self.any_program.body)
        columns = encoded(
            self.any_program, data, read_options("predict_proba", reading)
        )
        found = shares(self.any_program.body, *columns)
        return shares_of(data, found, labels)

    @with_keywords(ReadKeywords, ReadOptions)
    def margin(self, data: Rows, **reading: Unpack[ReadKeywords]) -> pd.DataFrame:
        """The sums of a forest's trees for each row, bit for bit as in its library.

        There is a column for each label, or one column `margin` if there is only one
        sum. The keywords are those of `predict`.
        """
        columns = encoded(self.any_program, data, read_options("margin", reading))
        return margins_of(data, self.any_program.body, *columns)

    def explain(self, row: Row | Rows) -> Explanation:
        """Why a row gets its answer: the rule that decides it, in words.

        The row has a value for every column that the model tests, None if it is
        missing. It can also be a table of one row, in any form that `predict` takes.
        The result has the `answer`, the id of the `rule` and the `probabilities`. A
        notebook shows the tree with the path of the row.
        """
        program = self._single("explain")
        return explanation(program, as_row(program, row))

    @with_keywords(ReadKeywords, ReadOptions)
    def evaluate(self, data: Data, **reading: Unpack[ReadKeywords]) -> Evaluation:
        """Accuracy, confusion and figures for each rule, on rows with known targets.

        The rows of a `Table`, and of many Parquet files, are counted in the database.
        The keywords say how to read a file, as in `learn`.
        """
        return rows.evaluate(self.any_program, data, read_options("evaluate", reading))

    def score(
        self,
        data: Data,
        into: str,
        *,
        output: str = "label",
        label: str = "",
        na_value: str | Sequence[str] = (),
    ) -> None:
        """Predict for a `Table`, into a new table of the same database.

        The new table has all columns and the `output`: label, probability or rule, or
        several separated by commas. For a folder or a pattern of Parquet files, `into`
        is one file.
        """
        how = read_options("score", {"na_value": na_value})
        rows.score(self.any_program, data, into, output, label, how)

    def verify(self, text: str, engine: str = "", **options: Any) -> Report:
        """Run the text of an artefact on its engine, and compare it with this model.

        `as_emitted` of the report says whether it is the text that the model gives. The
        engine is the one that the artefact was made for, unless `engine` names another.
        The options are those of `treecompile verify`: `url`, `columns`, `output`,
        `label`, `budget`, `seed` and `timeout`.
        """
        return verify(self.any_program, text, engine, **options)

    def edge_rows(
        self, budget: int = BUDGET, seed: int = 0
    ) -> list[tuple[dict[str, Any], Label]]:
        """The rows that `verify` tries, each with the right answer.

        They reach every cell of the model and both sides of every edge. Use them to
        test an artefact in a language that `verify` does not run.
        """
        return edge_rows(self.any_program, budget, seed)

    def check(self, budget: int = STEPS) -> Check:
        """Which rules overlap, conflict or never decide, exactly, with example rows."""
        return inspect_check.check(self._single("check"), budget)

    def show(self, stats: bool = False) -> str:
        """The tree, the rules, or how a forest answers, as text for a terminal.

        With `stats`, also the cases, impurity and gain of every node of a tree.
        """
        if isinstance(self.any_program, ForestProgram):
            return show_forest(self.any_program)
        return show(self.any_program, stats=stats)

    def draw(
        self,
        max_depth: int | None = None,
        *,
        max_leaves: int | None = None,
        layout: str | None = None,
        row: Row | Rows | None = None,
    ) -> str:
        """The tree as the text of an SVG file.

        At most `max_depth` levels and `max_leaves` leaves are drawn, those with most
        cases; by default, as many as are readable. The `layout` is down or
        right; by default, down if the picture then fits the width of a notebook. The
        path of a `row` is highlighted.
        """
        program = self._single("draw")
        lit = None if row is None else as_row(program, row)
        return draw(program, DrawOptions(max_depth, max_leaves, layout, lit))

    def _repr_html_(self) -> str:
        """The picture for a notebook; of a large tree, the branches with most cases."""
        program = self.any_program
        if isinstance(program, ForestProgram):
            return framed(f"<p>{escape(repr(self))}</p>")
        if isinstance(program.body, RuleSet):
            return framed(f"<pre>{escape(self.show())}</pre>")
        return framed(compact(program))

    def save(self, path: str | Path) -> None:
        """Write a model file, completely or not at all."""
        write_text(Path(path), model_file.dumps(self.any_program))
