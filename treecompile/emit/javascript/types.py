"""Writes TypeScript declarations beside a JavaScript module: a `.d.ts` file."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.emit.javascript.decision import is_large
from treecompile.emit.javascript.layout import comment, key, literal
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.targets import ByType
from treecompile.model import ir, words

MOST_LITERALS = 1000  # labels that are named in a type
INPUTS = ByType(
    "number | bigint | boolean", "string", "number | bigint", "boolean | 0 | 1"
)


def declarations(source: CompilerInput, used: Sequence[ir.Feature]) -> str:
    """Return the types of everything that the module exports."""
    program = source.program
    target = comment(words.name(program.target))
    labels = program.body.labels
    columns = [f"  {_name(f)}: {INPUTS.of(f.type)} | null;" for f in used]
    lines = [
        f"// Written by treecompile {source.version} for the model {source.sha256}",
        "",
        f"/** What is predicted: {target}. */",
        f"export type Answer ={_answer(labels)};",
        "",
        "/** The columns that are read. A value that is missing is null or NaN. */",
        "export interface Row {",
        *columns,
        "}",
        "",
        "/** A row may have other columns, which are ignored. */",
        "export type Input =",
        "  Row | (Row & Record<string, unknown>) | ReadonlyMap<string, unknown>;",
        "",
        *_function("predict(row: Input): Answer", f"Predict {target} for a row."),
        *_function("decide(row: Input): string", "The id of the rule that decides."),
        *_function("explain(row: Input): string", "The rule that decides, in words."),
        *_function(
            "predictMany(rows: Iterable<Input>): Answer[]", "Predict each of the rows."
        ),
    ]
    if labels:
        said = "The probability of each label."
        lines += _function("predictProba(row: Input): Map<Answer, number>", said)
        lines += ["export const CLASSES: readonly Answer[];"]
    lines += [
        "/** The columns that are read, and their types. */",
        "export const FEATURES: ReadonlyMap<",
        "  string,",
        '  "number" | "string" | "integer" | "boolean"',
        ">;",
        "export const MODEL: {",
        "  readonly name: string;",
        "  readonly algorithm: string;",
        "  readonly version: string;",
        "  readonly sha256: string;",
        "  readonly rules: number;",
        "  readonly rows?: number;",
        "};",
    ]
    return "\n".join(lines) + "\n"


def _name(feature: ir.Feature) -> str:
    """Return the name of a property; a type may have a plain `__proto__`."""
    return key(feature.name).removeprefix("[").removesuffix("]")


def _answer(labels: Sequence[ir.Label]) -> str:
    """Write the type of an answer; it begins with a space, or with a new line."""
    if not labels or isinstance(labels[0], float):
        return " number"
    if is_large(labels):
        return " bigint"
    if len(labels) > MOST_LITERALS:
        return " string" if isinstance(labels[0], str) else " number"
    shown = [literal(label) for label in labels]
    line = f" {' | '.join(shown)}"
    return line if len(line) < 50 else "".join(f"\n  | {item}" for item in shown)


def _function(signature: str, said: str) -> list[str]:
    return [f"/** {said} */", f"export function {signature};"]
