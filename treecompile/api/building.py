"""Data or a model -> model.json, code, document and review page, verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Unpack

from treecompile.api import emitting, forms, importing, revising
from treecompile.api.imported import measured_forest
from treecompile.api.importing import holds_forest
from treecompile.api.model import Model
from treecompile.api.options import (
    LearnKeywords,
    keywords_of,
    learn_options,
    read_options,
    refer_options,
    several,
    with_keywords,
)
from treecompile.api.outputs import check_outputs
from treecompile.api.rows import (
    Data,
    Feedback,
    Silent,
    in_memory,
    learn_from,
    referred,
)
from treecompile.database.locations import Table, check_found, in_database
from treecompile.emit.compiler import Artefact
from treecompile.emit.history import NO_HISTORY, History
from treecompile.emit.options import LAYOUTS, check_choice, emit_options
from treecompile.emit.sql.dialect import read_dialect
from treecompile.engines.addresses import is_of_another
from treecompile.inspect.advice import advice, quality_line
from treecompile.learning.options import LearnOptions
from treecompile.learning.training import Learned
from treecompile.model.display import Display, Shown
from treecompile.model.errors import DataError, OptionError, TargetError
from treecompile.model.file.write import dumps
from treecompile.model.files import refuse_pickle, write_texts
from treecompile.model.ir import ForestProgram, Label, Program
from treecompile.model.paths import leaf_count, size
from treecompile.pictures.draw import compact
from treecompile.rules import pruning
from treecompile.rules.language.document import holds_model, is_rules, read_whole
from treecompile.rules.options import ReferOptions
from treecompile.rules.pruning import C45RULES, VALIDATION
from treecompile.tables.options import DataOptions, ReadOptions
from treecompile.tables.read import read_table
from treecompile.tables.suspicions import unmatched
from treecompile.verify import verification
from treecompile.verify.cells import BUDGET
from treecompile.verify.verification import Report

FLAT = "flat"
FORMS = (FLAT, VALIDATION, C45RULES)
FILES = ("model.json", "predict.py", "predict.sql", "RULES.md", "review.html")
_, PYTHON, SQL, _, PAGE = FILES
OF_FOREST = (*FILES[:3], "MODEL.md")  # it has no rules
ROWS, ROWS_PER_LEAF = 4_000, 32  # to verify an artefact by
FEWER_ROWS = (
    "the validation rows prune the rules, so the tree does not learn from them, and the"
    " quality on them is optimistic: --rules c45rules learns from all rows"
)


@dataclass(frozen=True, slots=True, repr=False)
class Built(Shown):
    """What `build` made. The files are written only if every report passed."""

    model: Model
    paths: Mapping[str, Path]  # {"predict.py": Path("out/predict.py"), ...}
    reports: Mapping[str, Report]  # {"predict.py": ..., "the SQL for duckdb": ...}

    @property
    def passed(self) -> bool:
        return all(report.passed for report in self.reports.values())

    def _display(self) -> Display:
        lines = [repr(self.model)]
        lines += [report.line(name) for name, report in self.reports.items()]
        lines += [f"wrote {path}" for path in self.paths.values()]
        lines += ["nothing was written"] if not self.paths else []
        program = self.model.any_program
        picture = compact(program) if isinstance(program, Program) else ""
        return Display(lines, picture=picture)


def paths_in(out: str | Path, *, is_forest: bool = False) -> dict[str, Path]:
    """Where `build` writes each of its files."""
    files = OF_FOREST if is_forest else FILES
    return {name: Path(out) / name for name in files}


@with_keywords(LearnKeywords, DataOptions, LearnOptions)
def build(
    data: Data,
    out: str | Path,
    *,
    target: str | None = None,
    validation: Data | None = None,
    rules: str | None = None,
    rows: Data | None = None,
    review: str | Path | None = None,
    refer: str | Sequence[str] = (),
    refer_label: Label = "refer",
    layout: str = "auto",
    dialect: str = "sqlite",
    columns: Mapping[str, str] | None = None,
    engine: str | Sequence[str] = (),
    url: str = "",
    glossary: str | Path | None = None,
    about: str | Path | None = None,
    full: bool = False,
    against: str | Path = "",
    templates: str | Path = "",
    verify: bool = True,
    estimate: bool = True,
    force: bool = False,
    feedback: Feedback = Silent(),
    **options: Unpack[LearnKeywords],
) -> Built:
    """Learn from `data`, and write model.json, code, RULES.md and review.html.

    The code is predict.py and predict.sql. A model with too many rules for a page has
    no review.html.

    `data` can also be a model: a model file, a `.rules` file, a document with rules
    such as RULES.md, or a file of LightGBM, XGBoost, CatBoost or ONNX, for which
    `target` and `labels` are as for `import_model`. Then nothing is learned, and the
    other options of `learn` are refused. With `rows`, which have known answers, the
    rules are measured again, and counted if they were edited; `validation` and the
    options for reading files go with it. `review` is a review.json: what was rejected,
    or edited since it was reviewed, is refused.

    `rules` turns the tree into rules: "flat", "validation" or "c45rules". `refer` and
    `refer_label` are as for `Model.refer`, also for a model. `layout` is
    that of predict.py and predict.sql, as for `Model.emit`; `dialect` and `columns`
    are those of predict.sql. The artefacts are verified before anything is written, the
    SQL on the engine of its dialect and on every other `engine`; `url` is the address
    of a server among them. `glossary`, `about`, `full`, `against` and `templates`
    are as for `Model.emit`.

    With `estimate`, the quality on new rows is estimated by cross-validation where that
    takes a few seconds, and the notes of the model name a form that is shorter and at
    least as accurate.

    Files in `out` that treecompile did not write are overwritten only with `force`, and
    the data never.
    """
    is_forest = holds_forest(data)
    paths = paths_in(out, is_forest=is_forest)
    inputs = (data, validation, rows, review, glossary, about, against, templates)
    check_outputs(paths.values(), inputs, force=force)
    own = read_dialect(dialect)
    others = [name for name in dict.fromkeys(several(engine)) if name != own.engine]
    for name in others:
        read_dialect(name)
    said = {"glossary": glossary, "about": about}
    emit_options("markdown", said)  # refuses a damaged one now
    check_choice("--layout", layout, LAYOUTS)
    declining = refer_options(refer, refer_label)
    learning = {"target": target, "validation": validation, "rules": rules}
    given = {name: value for name, value in learning.items() if value is not None}
    history = NO_HISTORY
    told = {**given, **options}
    if is_forest:
        _refuse_for_forests(declining, review, against)
        model = _read_forest(data, told, rows, feedback)
    elif isinstance(data, (str, Path)) and holds_model(data):
        model, history = _read_model(data, told, rows, review, feedback)
        made, notes = referred(model.program, declining)
        feedback.notes(notes)
        model = Model(made, (*model.told, *notes))
    else:
        if isinstance(data, (str, Path)):
            refuse_pickle(data, DataError)
        _refuse_for_models(rows, review)
        model = _learn(
            data, given, dict(options), declining, feedback, estimate=estimate
        )

    program = model.any_program

    def emitted(to: str, **options: Any) -> Artefact:
        chosen = emit_options(to, {"templates": templates, **options})
        return emitting.emit(program, to, chosen, history=history)

    python = emitted("python", layout=layout)
    in_sql = partial(emitted, "sql", layout=layout, columns=columns)
    sql = in_sql(dialect=dialect)
    document = emitted("markdown", **said, full=full)
    page = None
    if isinstance(program, Program):
        page = _page(partial(emitted, "html", **said, against=against), feedback)
    for warning in (*sql.warnings, *document.warnings):
        feedback.tell(f"Warning: {warning}")
    feedback.notes((*python.notes, *sql.notes, *document.notes))
    reports = {}
    if verify:
        if not own.engine:
            feedback.notes([f"{SQL} is not verified: {own.name} cannot be run here"])
        found = [(PYTHON, "python", python), (SQL, own.engine, sql)]
        for other in others:
            found.append((f"the SQL for {other}", other, in_sql(dialect=other)))
        # Rows for all cells and edges, and many more. `verify` tries more still.
        budget = min(BUDGET, ROWS + ROWS_PER_LEAF * leaf_count(program.body))
        # What untrusted templates have written may do anything to an engine.
        prove = partial(
            verification.verify_supervised if templates else verification.verify,
            columns=columns,
            budget=budget,
        )
        runs = [each for each in found if each[1]]
        with feedback.progress("verifying") as start:
            advance = start(budget * len(runs))
            for name, on, artefact in runs:
                server = "" if is_of_another(url, on) else url
                reports[name] = prove(program, artefact.text, on, url=server)
                advance(budget)
    built = Built(model, {}, reports)
    if not built.passed:
        return built
    texts = [dumps(program), python.text, sql.text, document.text]
    if page is None:
        paths.pop(PAGE, None)
    else:
        texts.append(page.text)
    write_texts(dict(zip(paths.values(), texts, strict=True)))
    return replace(built, paths=paths)


def _page(emitted: Callable[[], Artefact], feedback: Feedback) -> Artefact | None:
    """The review page; None for a model that a page cannot hold, with a note."""
    try:
        return emitted()
    except TargetError as error:
        feedback.notes([f"{PAGE} is not written: {error}"])
        return None


def _read_forest(
    data: Any, given: Mapping[str, Any], rows: Data | None, feedback: Feedback
) -> Model:
    """The forest in a file, measured if there are rows."""
    options = _reading(data, given, rows, allowed=("target", "labels"))
    names = {name: given.get(name) or None for name in ("target", "labels")}
    model = importing.import_model(data, **names)
    feedback.notes(model.notes)
    if rows is not None:
        how = read_options("build", options)
        table = read_table(in_memory(rows, "build"), how)
        feedback.notes((*table.notes, *unmatched(table, how.na_values)))
        assert isinstance(model.any_program, ForestProgram)
        made = measured_forest(model.any_program, table, how.na_values)
        feedback.tell(quality_line(made))
        model = Model(made, model.notes)
    feedback.tell(size(model.any_program.body))
    return model


def _refuse_for_forests(
    declining: ReferOptions, review: object, against: object
) -> None:
    given = {"--refer": declining.refer, "--review": review, "--against": against}
    for flag, value in given.items():
        if value:
            raise OptionError(
                f"{flag} needs one tree or rules, and the model is a forest: leave it"
                " out, or learn a tree that answers like it with `treecompile distil`"
            )


def _reading(
    data: str | Path,
    given: Mapping[str, Any],
    rows: Data | None,
    allowed: Iterable[str] = (),
) -> dict[str, Any]:
    """The options for reading rows; those for learning are refused for a model."""
    reading = keywords_of(ReadOptions)
    more = {"validation", *reading} if rows is not None else set()
    known = keywords_of(DataOptions, LearnOptions)
    for name in given.keys() - more - {*allowed}:
        flag = known[name].flag if name in known else f"--{name}"
        kind = "a file of rules" if is_rules(data) else "a model"
        also = "leave it out, or add --data" if name in reading else "leave it out"
        raise OptionError(
            f"{flag} is for learning, and {str(data)!r} is {kind}, which is compiled as"
            f" it is: {also}"
        )
    return {name: value for name, value in given.items() if name in reading}


def _read_model(
    data: str | Path,
    given: Mapping[str, Any],
    rows: Data | None,
    review: str | Path | None,
    feedback: Feedback,
) -> tuple[Model, History]:
    """The model in a file, measured if there are rows, and what its document tells."""
    options = _reading(data, given, rows)
    source = read_whole(data)
    checked = () if review is None else revising.reviewed(review, source)
    feedback.notes(revising.open_notes(checked))
    program, table = source.program, None
    how = read_options("build", options)
    if rows is None:
        feedback.notes(source.messages)
    else:
        table = read_table(in_memory(rows, "build"), how)
        held_out = given.get("validation")
        other = None if held_out is None else in_memory(held_out, "build")
        feedback.notes((*table.notes, *unmatched(table, how.na_values)))
        program = revising.measured_on(source, table, other, how)
    history = revising.history_of(source, program, table, how.na_values, checked)
    if table is not None:
        feedback.tell(quality_line(program))
    feedback.tell(size(program.body))
    return Model(program, source.messages if rows is None else ()), history


def _refuse_for_models(rows: Data | None, review: str | Path | None) -> None:
    for flag, value in (("--data", rows), ("--review", review)):
        if value is not None:
            raise OptionError(
                f"{flag} is for a model or rules, and the first argument is a table to"
                " learn from: leave it out"
            )


def _learn(
    data: Data,
    given: Mapping[str, Any],
    options: dict[str, Any],
    declining: ReferOptions,
    feedback: Feedback,
    *,
    estimate: bool,
) -> Model:
    """The tree that is learned, or the rules made of it."""
    form, validation = given.get("rules"), given.get("validation")
    if "target" not in given:
        raise OptionError("missing option --target COL: the column to predict")
    if form is not None and form not in FORMS:
        raise OptionError(f"--rules {form!r}: expected one of {', '.join(FORMS)}")
    if form in (VALIDATION, C45RULES):
        # Rules are pruned from a tree that fits the data, not from a pruned tree.
        options["prune"] = options.get("prune") or "none"
    is_held_out = validation is not None or options.get("validation_fraction")
    if form == VALIDATION and not is_held_out:
        raise OptionError(
            "--rules validation needs rows to prune against: add --validation FILE or"
            " --validation-fraction F"
        )
    check_found(data)
    if found := in_database(data):
        where = "in a database" if isinstance(found, Table) else "in Parquet files"
        raise OptionError(
            f"build needs the rows in memory, from one file: for rows {where}, use"
            " `learn`, and then `build` with the model"
        )
    began = monotonic()
    columns, how = learn_options("build", given["target"], options)
    needs = "--rules c45rules" if form == C45RULES else ""
    learned = learn_from(data, columns, how, validation, feedback, for_labels=needs)
    made, notes = _in_form(learned, form, feedback)
    made, more = referred(made, declining, learned)
    feedback.notes(more)
    if estimate:
        made = forms.estimated(made, learned, how, form or "", declining)
    feedback.made(made, monotonic() - began)
    found = [*advice(made)]
    if estimate and not form and not declining.refer:
        shorter = list(forms.shorter_form(made, learned, how))
        feedback.tell(*shorter)
        found += shorter
    return Model(made, (*learned.notes, *notes, *more, *found))


def _in_form(
    learned: Learned, form: str | None, feedback: Feedback
) -> tuple[Program, list[str]]:
    """The learned tree, or its rules; with notes about these."""
    if form is None:
        return learned.program, []
    feedback.tell(f"tree: {size(learned.program.body)}")
    notes = list(pruning.flattening_notes(learned.program))
    if form == VALIDATION:
        notes.append(FEWER_ROWS)
    feedback.notes(notes)
    with feedback.progress("pruning") as start:
        if form == FLAT:
            return pruning.simplify(learned.program), notes
        cases = (learned.training, learned.validation)
        return pruning.prune_by(learned.program, form, *cases, start), notes
