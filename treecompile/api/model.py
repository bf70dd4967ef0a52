"""A model, and all that it can be turned into or asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treecompile import compiler, model_file, pruning
from treecompile.analysis import check as analysis_check
from treecompile.analysis.budget import STEPS
from treecompile.analysis.check import Check
from treecompile.api.database import Data, Table, in_memory, is_there, opened
from treecompile.api.options import several
from treecompile.batch import Columns, answers, shares
from treecompile.data import encode_features
from treecompile.divide import divisible
from treecompile.draw import draw, readable_depth
from treecompile.errors import OptionError
from treecompile.glossary import read_glossary
from treecompile.importance import importances, tree_of
from treecompile.in_database.evaluate import evaluate
from treecompile.in_database.rules import (
    prune_by_training_there,
    prune_by_validation_there,
)
from treecompile.in_database.score import score
from treecompile.ir import Label, Leaf, Program, RuleSet, Tree
from treecompile.learners.prune import Step, weakest_links
from treecompile.lower import EmitOptions
from treecompile.quality import Evaluation, evaluate_on
from treecompile.read import read_table
from treecompile.render import write_text
from treecompile.semantics import predict
from treecompile.show import show
from treecompile.verify import Report, verify
from treecompile.verify.cells import BUDGET, trial
from treecompile.verify.reference import Reference

if TYPE_CHECKING:
    import pandas as pd


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
        `rules.prune(training=...)` does without a validation set. Rows of a `Table` are
        counted where they are. Both start from the paths of the tree that `rules()` was
        called on; of a list that was loaded, from its rules.
        """
        na = several(na_value)
        if training is None and is_there(validation):
            with opened(validation) as there:
                pruned = prune_by_validation_there(self._origin, there, na)
        elif validation is None and is_there(training):
            with opened(training) as there:
                pruned = prune_by_training_there(self._origin, there, na)
        else:
            held_out = None if validation is None else in_memory(validation, "prune")
            own = None if training is None else in_memory(training, "prune")
            pruned = pruning.prune(self._origin, held_out, own, na)
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
        if isinstance(data, Table):
            raise OptionError(
                "predict gives a value for each row in memory: for a Table, `score`"
                " makes another Table"
            )
        table = read_table(data)
        return encode_features(self.program, table), table.rows

    def evaluate(self, data: Data, *, na_value: str | Sequence[str] = ()) -> Evaluation:
        """Accuracy, confusion and what each rule did, on rows that have the target.

        Those of a `Table`, and of many Parquet files, are counted where they are.
        """
        na = several(na_value)
        if not is_there(data):
            return evaluate_on(
                self.program, read_table(in_memory(data, "evaluate")), na
            )
        with opened(data) as there:
            return evaluate(there.store, there.relation, self.program, na)

    def score(
        self,
        data: Data,
        into: str,
        *,
        output: str = "label",
        label: str = "",
        na_value: str | Sequence[str] = (),
    ) -> None:
        """Predict for a `Table`, into a new one of the same database.

        It has all columns and what `output` names (label, probability or rule, or
        several with commas). A folder or a pattern of Parquet files goes into one file.
        """
        if not is_there(data):
            raise OptionError(
                "score is for a Table or many Parquet files: for others, `predict`"
            )
        with opened(data, writes=True) as there:
            score(self.program, there, into, output, label, several(na_value))

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
