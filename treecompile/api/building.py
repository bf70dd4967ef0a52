"""Data or a model -> model.json, code, document and review page, verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from treecompile.api.build_sources import (
    learned_model,
    read_forest,
    read_model,
    refuse_rows,
)
from treecompile.api.importing import holds_forest
from treecompile.api.model import Model
from treecompile.api.options import (
    LearnKeywords,
    several,
    with_keywords,
)
from treecompile.api.outputs import check_outputs
from treecompile.api.rows import (
    Data,
    Feedback,
    Silent,
)
from treecompile.emit import compiler
from treecompile.emit.compiler import Artefact
from treecompile.emit.options import emit_options
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.svg import compact
from treecompile.engines.addresses import is_of_another
from treecompile.learning.options import LearnOptions
from treecompile.model.display import Display, Shown
from treecompile.model.errors import DataError, TargetError
from treecompile.model.file.write import dumps
from treecompile.model.files import refuse_pickle, write_texts
from treecompile.model.ir import Program, Tree
from treecompile.model.paths import leaf_count
from treecompile.rules.language.document import holds_model
from treecompile.tables.options import DataOptions
from treecompile.verify import verification
from treecompile.verify.rows import BUDGET
from treecompile.verify.verification import Report

FILES = ("model.json", "predict.py", "predict.sql", "RULES.md", "review.html")
_, PYTHON, SQL, _, PAGE = FILES
OF_FOREST = (*FILES[:3], "MODEL.md")  # it has no rules
ROWS, ROWS_PER_LEAF = 4_000, 32  # to verify an artefact by


@dataclass(frozen=True, slots=True, repr=False)
class Built(Shown):
    """The result of `build`. The files are written only if every report passed."""

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
        picture = ""
        if isinstance(self.model.any_program.body, Tree):
            picture = compact(self.model.program)
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
    dialect: str = "sqlite",
    columns: Mapping[str, str] | None = None,
    engine: str | Sequence[str] = (),
    url: str = "",
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
    such as RULES.md, or a file of LightGBM or XGBoost, for which
    `target` and `labels` are as for `import_model`. Then nothing is learned, and the
    other options of `learn` are refused. `rows` with known answers measure the rules
    again, and count them if they were edited; `validation` and the options for reading
    files can be added.

    `rules` turns the tree into rules: "flat", "validation" or "c45rules". `dialect` and
    `columns` are for predict.sql, as in `Model.emit`. The artefacts are verified before
    anything is written, the SQL on the engine of its dialect and on every other
    `engine`; `url` is the address of a server among them. `templates` is as for
    `Model.emit`.

    With `estimate`, the quality on new rows is estimated by cross-validation if that
    takes only a few seconds.

    Existing files in `out` are overwritten only with `force`, and the data never.
    """
    is_forest = holds_forest(data)
    paths = paths_in(out, is_forest=is_forest)
    inputs = (data, validation, rows, templates)
    check_outputs(paths.values(), inputs, force=force)
    own = read_dialect(dialect)
    others = [name for name in dict.fromkeys(several(engine)) if name != own.engine]
    for name in others:
        read_dialect(name)
    learning = {"target": target, "validation": validation, "rules": rules}
    given = {name: value for name, value in learning.items() if value is not None}
    told = {**given, **options}
    if is_forest:
        model = read_forest(data, told, rows, feedback)
    elif isinstance(data, (str, Path)) and holds_model(data):
        model = read_model(data, told, rows, feedback)
    else:
        if isinstance(data, (str, Path)):
            refuse_pickle(data, DataError)
        refuse_rows(rows)
        model = learned_model(data, given, dict(options), feedback, estimate=estimate)

    program = model.any_program

    def emitted(to: str, **options: Any) -> Artefact:
        chosen = emit_options(to, {"templates": templates, **options})
        return compiler.emit(program, to, chosen)

    python = emitted("python")
    in_sql = partial(emitted, "sql", columns=columns)
    sql = in_sql(dialect=dialect)
    document = emitted("markdown")
    page = None
    if isinstance(program, Program):
        page = _page(partial(emitted, "html"), feedback)
    for warning in (*sql.warnings, *document.warnings):
        feedback.tell(f"Warning: {warning}")
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
            verification.verify,
            columns=columns,
            budget=budget,
            in_child=bool(templates),
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
