"""Which modules are mutated, and which quick tests judge each of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Target:
    modules: str  # paths, or patterns of paths, with blanks between them
    judges: tuple[str, ...]  # files of tests

    def paths(self) -> list[Path]:
        found = sorted(p for each in self.modules.split() for p in ROOT.glob(each))
        return [path for path in found if path.name != "__init__.py"]


TARGETS = (
    Target(
        "treecompile/model/semantics.py",
        (
            "tests/unit/test_semantics.py",
            "tests/unit/test_fractional.py",
            "tests/property/test_semantics.py",
            "tests/property/test_fractional.py",
            "tests/property/test_batch.py",
        ),
    ),
    Target(
        "treecompile/regions/*.py",
        (
            "tests/unit/test_analysis.py",
            "tests/unit/test_boxes.py",
            "tests/unit/test_passes.py",
            "tests/unit/test_retree.py",
            "tests/unit/test_semantics.py",
            "tests/unit/test_space.py",
            "tests/property/test_analysis.py",
            "tests/property/test_boxes.py",
            "tests/property/test_passes.py",
            "tests/property/test_regions.py",
            "tests/property/test_retree.py",
        ),
    ),
    Target(
        "treecompile/emit/literals.py",
        (
            "tests/unit/test_javascript_target.py",
            "tests/unit/test_literals.py",
            "tests/unit/test_sql_target.py",
            "tests/unit/test_sql_thresholds.py",
            "tests/unit/test_targets.py",
        ),
    ),
    Target(
        "treecompile/emit/steps.py",
        (
            "tests/unit/test_large_rules.py",
            "tests/unit/test_limits.py",
            "tests/unit/test_retree.py",
            "tests/unit/test_shape.py",
            "tests/property/test_retree.py",
        ),
    ),
    Target(
        "treecompile/emit/python/*.py treecompile/emit/explanations.py"
        " treecompile/emit/guards.py",
        (
            "tests/unit/test_dates.py",
            "tests/unit/test_explanations.py",
            "tests/unit/test_fractional_artefacts.py",
            "tests/unit/test_guards.py",
            "tests/unit/test_limits.py",
            "tests/unit/test_lowering.py",
            "tests/unit/test_python_columns.py",
            "tests/unit/test_python_decision.py",
            "tests/unit/test_python_layout.py",
            "tests/unit/test_python_script.py",
            "tests/unit/test_python_target.py",
            "tests/unit/test_runtime.py",
        ),
    ),
    Target(
        "treecompile/emit/javascript/*.py",
        (
            "tests/unit/test_javascript_decision.py",
            "tests/unit/test_javascript_layout.py",
            "tests/unit/test_javascript_target.py",
            "tests/unit/test_javascript_types.py",
            "tests/unit/test_verify_node.py",
        ),
    ),
    Target(
        "treecompile/emit/sql/*.py",
        (
            "tests/unit/test_fractional_artefacts.py",
            "tests/unit/test_limits.py",
            "tests/unit/test_lowering.py",
            "tests/unit/test_sql_flat_sums.py",
            "tests/unit/test_sql_forms.py",
            "tests/unit/test_sql_limits.py",
            "tests/unit/test_sql_names.py",
            "tests/unit/test_sql_steps.py",
            "tests/unit/test_sql_sums.py",
            "tests/unit/test_sql_target.py",
            "tests/unit/test_sql_text.py",
            "tests/unit/test_sql_thresholds.py",
            "tests/unit/test_sql_types.py",
            "tests/unit/test_dbt.py",
            "tests/unit/test_targets.py",
            "tests/engines/test_forms.py",
            "tests/engines/test_fractional_forms.py",
        ),
    ),
    Target(
        "treecompile/verify/axes.py treecompile/verify/cells.py"
        " treecompile/verify/reference.py treecompile/verify/search.py",
        (
            "tests/unit/test_sql_types.py",
            "tests/unit/test_verify_axes.py",
            "tests/unit/test_verify_cells.py",
            "tests/unit/test_verify_rows.py",
            "tests/unit/test_verify_search.py",
        ),
    ),
    Target("treecompile/verify/dbt_tests.py", ("tests/unit/test_dbt.py",)),
    Target(
        "treecompile/verify/processes.py treecompile/verify/python_process.py"
        " treecompile/verify/supervision.py",
        (
            "tests/unit/test_verify_hostile.py",
            "tests/unit/test_verify_processes.py",
            "tests/unit/test_verify_rows.py",
            "tests/unit/test_verify_runs.py",
        ),
    ),
    Target("treecompile/verify/node_process.py", ("tests/unit/test_verify_node.py",)),
    Target(
        "treecompile/verify/claims.py treecompile/verify/constants.py"
        " treecompile/verify/execution.py treecompile/verify/statements.py"
        " treecompile/verify/verification.py",
        (
            "tests/unit/test_sql_types.py",
            "tests/unit/test_verify.py",
            "tests/unit/test_verify_claims.py",
            "tests/unit/test_verify_hostile.py",
            "tests/unit/test_verify_rows.py",
            "tests/unit/test_verify_runs.py",
            "tests/unit/test_verify_statements.py",
        ),
    ),
)
