"""Program -> the strings of the rule document, for readers who do not program.

Text from the data is the only thing here that could turn into markup, and it passes
through one of two functions: `shown` for Markdown, `in_mermaid` for the picture. Pipes,
which end a table cell even within code, are escaped where tables are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treecompile import words
from treecompile.extract import extract, rule_ids
from treecompile.ir import (
    Body,
    ClassCounts,
    ClassQuality,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Op,
    Program,
    Quality,
    Rule,
    RuleSet,
    Stats,
    Training,
    Tree,
    ValueQuality,
)
from treecompile.lower import Context, EmitOptions, Source
from treecompile.lower.markdown_statistics import (
    pruned_by,
    statistics,
    statistics_note,
)
from treecompile.passes import apply_rule_passes
from treecompile.semantics import answer, is_fractional, required_features
from treecompile.targets import ByType

ALGORITHMS = {"id3": "ID3", "c45": "C4.5", "cart": "CART"}
SQL_TYPES = ByType("DOUBLE PRECISION", "VARCHAR", "BIGINT", "BOOLEAN")
MAX_LISTED = 12  # names in a list that is not a rule
MAX_LEAVES = 32  # in a picture
MAX_PICTURE = 50_000  # characters: Mermaid draws no longer text

# ---------------------------------------------------------------- text from the data

OPERATORS = {"<=": "≤", "<": "<", ">": ">"}  # between spaces the last two are no markup
# Where even plain words are markup: a list item, a link, emphasis.
ACTIVE = re.compile(r"^\d+\.(?: |$)|www\.|(?<![^\W_])_|_(?![^\W_])", re.IGNORECASE)


def shown(text: str) -> str:
    """What `words` made of a name or a value: plain words stay, the rest is code.

    Code, because escapes do not keep GitHub from linking an address or from drawing
    `:tada:`.
    """
    if text in OPERATORS:
        return OPERATORS[text]
    if words.PLAIN.fullmatch(text.removeprefix("-")) and not ACTIVE.search(text):
        return text
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence}{text}{fence}"


def shown_name(text: str) -> str:
    return shown(words.name(text))


def shown_value(item: Label) -> str:
    return shown(words.value(item))


# Kept: letters, digits, spaces, and punctuation where Mermaid takes it literally (its
# labels are Markdown too, so "1. x", "- x" and "_x_" are not). A colon never is: with
# the word "style" before it, Mermaid reads the line as a style and drops entities.
ACTIVE_IN_MERMAID = re.compile(r"[^\w ,()=≤.-]|[.-](?!\w)|(?<![^\W_])_|_(?![^\W_])")


def with_operators(text: str) -> str:
    return OPERATORS.get(text, text)


def in_mermaid(text: str) -> str:
    """Text within the quotes of a Mermaid label."""
    return ACTIVE_IN_MERMAID.sub(lambda found: f"#{ord(found[0])};", text)


# ---------------------------------------------------------------- small phrases


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def listing(items: Sequence[str]) -> str:
    """A list in a sentence, cut short where nobody would read on."""
    if len(items) <= MAX_LISTED + 1:  # "and 1 more" is no shorter than the item
        return ", ".join(items)
    rest = len(items) - MAX_LISTED
    return f"{', '.join(items[:MAX_LISTED])} and {rest} more"


def number_of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cases(weight: float) -> str:
    return f"{words.amount(weight)} {words.plural(weight)}"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def rounded(value: float) -> str:
    return words.number(float(f"{value:.4g}"))


def deviation(moments: Moments) -> str:
    return "not known" if moments.deviation is None else rounded(moments.deviation)


def spread(stats: Stats, labels: Sequence[Label]) -> str:
    """What the cases are like: "no: 2, yes: 3" (without zeros), or the moments."""
    if isinstance(stats, Moments):
        return f"mean {rounded(stats.mean)}, standard deviation {deviation(stats)}"
    pairs = zip(labels, stats.weights, strict=True)
    return ", ".join(f"{shown_value(x)}: {words.amount(w)}" for x, w in pairs if w)


# ---------------------------------------------------------------- the document


def lower(source: Source, options: EmitOptions) -> Context:
    program = source.program
    body, training = program.body, program.training
    extracted = extract(body) if isinstance(body, Tree) else body
    rules = apply_rule_passes(extracted)
    base = _base(program)
    # Rules that were pruned against validation rows rest on these.
    validated = pruned_by(program) == "validation" and training is not None
    evidence, total = base, base.weight if base else 0.0
    if training is not None:
        quality = training.validation if validated else training.quality
        if isinstance(body, RuleSet):
            evidence = _actual(quality) if isinstance(quality, ClassQuality) else None
        total = evidence.weight if evidence else _rows(quality, training)
    writer = _Writer(
        target=shown_name(program.target),
        rules=rules,
        ordered=isinstance(body, RuleSet),
        fractional=is_fractional(body),
        base=evidence,
        total=total,
        whose="validation" if validated else "training",
    )
    picture, diagram = _picture(body) if isinstance(body, Tree) else ("", "")
    default, default_evidence = writer.default()
    return {
        "target": writer.target,
        "summary": _summary(program, rules),
        "sha256": source.sha256,
        "version": source.version,
        "data": _data(program, base),
        "distribution": writer.distribution(),
        "quality": _quality(body.labels, training, base),
        "features_note": _features_note(body),
        "features": _features(body, training),
        "picture": picture,
        "diagram": diagram,
        "reading": writer.reading(extracted),
        "evidence_note": EVIDENCE_NOTES[bool(body.labels)].replace(
            "training", writer.whose
        ),
        "rules": writer.all_rules(extracted),
        "missing": _missing(rules, program.na_values, writer.fractional),
        "default": default,
        "default_evidence": default_evidence,
        "statistics_note": statistics_note(body),
        "statistics": statistics(program, shown_value, table),
    }


def _base(program: Program) -> Stats | None:
    """All training cases: at the root of a tree; else as far as they were counted."""
    if isinstance(program.body, Tree):
        return program.body.nodes[0].stats
    quality = program.training.quality if program.training else None
    return _actual(quality) if isinstance(quality, ClassQuality) else None


def _rows(quality: Quality | None, training: Training) -> float:
    return float(quality.rows if isinstance(quality, ValueQuality) else training.rows)


def _actual(quality: ClassQuality) -> ClassCounts:
    return ClassCounts(tuple(float(sum(row)) for row in quality.confusion))


def _summary(program: Program, rules: RuleSet) -> str:
    body = program.body
    labels = [shown_value(label) for label in body.labels]
    kind = f"one of {listing(labels)}" if labels else "a number"
    tested = [shown_name(body.features[i].name) for i in required_features(body)]
    given = number_of(len(body.features), "column")
    columns = f"{len(tested)} of {given}: {listing(tested)}" if tested else "no column"
    algorithm = ALGORITHMS.get(program.algorithm) or shown_name(program.algorithm)
    if is_fractional(body):
        law = "exactly one rule applies to every case whose values are known"
    elif isinstance(body, Tree):
        law = "exactly one rule applies to every case"
    else:
        law = "the first rule whose conditions all hold decides, else the default"
    return (
        f"The model predicts **{shown_name(program.target)}**, {kind}."
        f" It looks at {columns}."
        f" It was learned with {algorithm} and reads as"
        f" {number_of(len(rules.rules), 'rule')}: {law}."
    )


def _data(program: Program, base: Stats | None) -> str:
    training = program.training
    if training is None:
        text = "Which data the model was learned from is not recorded."
    else:
        origin = shown_name(training.source) if training.source else "a table in memory"
        rows = number_of(training.rows, "row")
        text = f"The model was learned from {origin}, {rows}."
    if program.options:
        chosen = [
            f"{shown_name(key)} = {shown_value(item)}" for key, item in program.options
        ]
        text += f" Options: {', '.join(chosen)}."
    if isinstance(base, Moments) and base.weight:
        text += f" Over all {cases(base.weight)}, {shown_name(program.target)} has"
        text += f" {spread(base, ())}."
    return text


# ---------------------------------------------------------------- quality


@dataclass(frozen=True, slots=True)
class QualityPart:
    title: str  # "Training data"
    summary: str
    table: str


def _quality(
    labels: Sequence[Label], training: Training | None, base: Stats | None
) -> list[QualityPart]:
    if training is None:
        return []
    measured = [
        ("Training data", training.quality),
        ("Validation data", training.validation),
    ]
    return [
        _quality_part(title, quality, labels, base)
        for title, quality in measured
        if quality is not None
    ]


def _quality_part(
    title: str, quality: Quality, labels: Sequence[Label], base: Stats | None
) -> QualityPart:
    if isinstance(quality, ValueQuality):
        return _value_quality(title, quality)
    actual = _actual(quality)
    total = actual.weight
    right = sum(row[i] for i, row in enumerate(quality.confusion))
    common = answer(base or actual, labels)  # the baseline is chosen in training
    baseline = actual.weights[labels.index(common)]
    names = [shown_value(label) for label in labels]
    summary = (
        f"The rules are right in {right} of {cases(total)}:"
        f" accuracy {share(right, total)}."
        f" Always answering {shown_value(common)}, the most common answer in training,"
        f" would be right in {words.amount(baseline)}: {share(baseline, total)}."
    )
    rows = [
        [name, *map(str, row), f"{row[i]} of {sum(row)} ({share(row[i], sum(row))})"]
        for i, (name, row) in enumerate(zip(names, quality.confusion, strict=True))
    ]
    head = ["Actual", *(f"Predicted {name}" for name in names), "Right"]
    return QualityPart(title, summary, table(head, rows))


def _value_quality(title: str, quality: ValueQuality) -> QualityPart:
    summary = (
        f"Measured on {number_of(quality.rows, 'row')}. The baseline is to answer the"
        " same mean for every case: R² is the share of its squared error that the rules"
        " take away (1: all of it, 0: none)."
    )
    r_squared = quality.r_squared
    rows = [
        ["Mean absolute error (MAE)", rounded(quality.mean_absolute_error)],
        ["Root mean squared error (RMSE)", rounded(quality.root_mean_squared_error)],
        ["R²", "undefined" if r_squared is None else f"{r_squared:.3f}"],
    ]
    return QualityPart(title, summary, table(["Measure", "Value"], rows))


# ---------------------------------------------------------------- features


def _features_note(body: Body) -> str:
    note = (
        "The SQL type is the one that a column needs in a database;"
        " each database has its own name for it."
    )
    if any(feature.categories for feature in body.features):
        note += " Categories are compared exactly: case, accents and spaces count."
    return note


def _features(body: Body, training: Training | None) -> str:
    tested = required_features(body)
    rows = []
    for position, feature in enumerate(body.features):
        column = training.columns[position] if training else None
        values = listing([shown_value(category) for category in feature.categories])
        if feature.kind is Kind.NUMERIC:
            values = "not recorded"
            if column and column.low is not None and column.high is not None:
                values = f"{words.number(column.low)} to {words.number(column.high)}"
        rows.append(
            [
                shown_name(feature.name),
                feature.kind.value,
                values,
                str(column.missing) if column else "not recorded",
                SQL_TYPES.of(feature.type),
                "yes" if position in tested else "no",
            ]
        )
    head = ["Name", "Kind", "Values in training", "Missing", "SQL type", "Used"]
    return table(head, rows)


# ---------------------------------------------------------------- picture


def _picture(tree: Tree) -> tuple[str, str]:
    """A sentence, and the Mermaid text unless it would be too large to be of use."""
    ids = rule_ids(tree)
    if len(ids) > MAX_LEAVES:
        return f"With {len(ids)} leaves the tree is too large for a picture.", ""
    diagram = "\n".join(_diagram(tree, ids))
    if len(diagram) > MAX_PICTURE:
        return "The names in the tree are too long for a picture.", ""
    return "From the top, follow the arrow whose test the case passes.", diagram


def _diagram(tree: Tree, ids: dict[int, str]) -> Iterable[str]:
    yield "flowchart TD"
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Leaf):
            rests = words.evidence(node.stats, node.weight, node.value, tree.labels)
            lines = [words.value(node.value), f"{ids[position]}, {rests}"]
            yield f'    n{position}["{"<br>".join(map(in_mermaid, lines))}"]'
            continue
        feature = tree.features[node.branches[0].when.feature]
        yield f'    n{position}("{in_mermaid(words.name(feature.name))}")'
        for branch in node.branches:
            test = words.phrase([branch.when], feature, with_operators)
            test = test.removeprefix(f"{words.name(feature.name)} ")
            yield f'    n{position} -->|"{in_mermaid(test)}"| n{branch.then}'


# ---------------------------------------------------------------- rules

EVIDENCE_NOTES = {
    True: (
        "Coverage is the share of all training cases that meet the conditions."
        " Confidence is the share of these whose answer is the rule's. Lift is how many"
        " times as common that answer is among them as among all."
        " Answers that are not counted did not occur."
    ),
    False: (
        "Coverage is the share of all training cases that meet the conditions."
        " Mean and standard deviation are those of these cases."
    ),
}


@dataclass(frozen=True, slots=True)
class RuleText:
    heading: str  # "R1: play = no"
    opening: str  # "If"
    conditions: tuple[str, ...]  # "outlook = sunny", "and humidity > 75"
    conclusion: str  # "**play = no**"
    evidence: str  # a table or a sentence


@dataclass(frozen=True, slots=True)
class _Writer:
    """What every rule is written with."""

    target: str
    rules: RuleSet
    ordered: bool
    fractional: bool  # missing values are divided among the branches
    base: Stats | None
    total: float  # weight of the cases it rests on; 0 where it is not known
    whose: str = "training"  # what these cases are

    def distribution(self) -> str:
        if not isinstance(self.base, ClassCounts) or not self.total:
            return ""
        if self.whose != "training":
            return ""  # the section is about the data that the model is learned from
        pairs = zip(self.rules.labels, self.base.weights, strict=True)
        rows = [
            [shown_value(label), words.amount(weight), share(weight, self.total)]
            for label, weight in pairs
        ]
        return table([self.target, "Cases", "Share"], rows)

    def reading(self, extracted: RuleSet) -> str:
        whom = "case whose values are known" if self.fractional else "case"
        text = (
            f"Exactly one rule applies to every {whom}, so their order does not matter."
        )
        if self.ordered:
            text = (
                "Read from the top: the first rule whose conditions all hold decides."
            )
        kept = {rule.id for rule in self.rules.rules}
        dropped = [rule.id for rule in extracted.rules if rule.id not in kept]
        if dropped:
            text += f" Left out, because no case can meet them: {listing(dropped)}."
        tests = [test for rule in self.rules.rules for test in rule.conditions]
        if any(test.op in (Op.LE, Op.GT) for test in tests):
            text += " A value equal to a threshold meets ≤ and not >."
        return text

    def all_rules(self, extracted: RuleSet) -> list[RuleText]:
        # Merged conditions no longer tell which test came last: the paths do.
        features = self.rules.features
        last = {
            rule.id: features[rule.conditions[-1].feature]
            for rule in extracted.rules
            if rule.conditions
        }
        return [
            self.rule(place, rule, last.get(rule.id))
            for place, rule in enumerate(self.rules.rules, start=1)
        ]

    def rule(self, place: int, rule: Rule, last: Feature | None) -> RuleText:
        conclusion = self.conclusion(rule)
        tests = words.conjunction(rule.conditions, self.rules.features, shown)
        opening = "Otherwise, if" if self.ordered and place > 1 else "If"
        return RuleText(
            heading=f"{f'{place}. ' if self.ordered else ''}{rule.id}: {conclusion}",
            opening=opening if tests else f"Always **{conclusion}**.",
            conditions=(*tests[:1], *(f"and {test}" for test in tests[1:])),
            conclusion=f"**{conclusion}**",
            evidence=self.evidence(rule) if rule.weight else self.stand_in(rule, last),
        )

    def conclusion(self, rule: Rule) -> str:
        return f"{self.target} = {shown_value(rule.value)}"

    def evidence(self, rule: Rule) -> str:
        cells = {"Coverage": cases(rule.weight)}
        if self.total:
            cells["Coverage"] = (
                f"{words.amount(rule.weight)} of {cases(self.total)}"
                f" ({share(rule.weight, self.total)})"
            )
        stats = rule.stats
        if isinstance(stats, Moments):
            cells["Mean"] = rounded(stats.mean)
            cells["Standard deviation"] = deviation(stats)
        else:
            label = self.rules.labels.index(rule.value)
            right = stats.weights[label]
            cells["Confidence"] = (
                f"{words.amount(right)} of {cases(stats.weight)}"
                f" ({share(right, stats.weight)})"
            )
            if isinstance(self.base, ClassCounts) and self.base.weights[label]:
                usual = self.base.weights[label] / self.base.weight
                cells["Lift"] = f"{right / stats.weight / usual:.2f}"
            cells["Cases by answer"] = spread(stats, self.rules.labels)
        return table(list(cells), [list(cells.values())])

    def stand_in(self, rule: Rule, last: Feature | None) -> str:
        """A rule that no training case reached rests on others."""
        text = f"No {self.whose} case reached this rule."
        if not rule.stats.weight:
            return text
        whose = "other cases"
        if last is not None and not self.ordered:
            whose = f"cases that reached the test of {shown_name(last.name)}"
        return (
            f"{text} Its answer rests on the {words.amount(rule.stats.weight)} {whose}:"
            f" {spread(rule.stats, self.rules.labels)}."
        )

    def default(self) -> tuple[str, str]:
        if not self.ordered:
            return "The rules cover every case, so no default is ever used.", ""
        rule = self.rules.default
        text = f"A case that meets no rule is answered **{self.conclusion(rule)}**."
        if rule.weight:
            return text, self.evidence(rule)
        return f"{text} No {self.whose} case was left to it.", ""


# ---------------------------------------------------------------- missing values


DIVIDED = {
    True: (
        "A missing value, or a category that never occurred in training, is divided: at"
        " the test of its column the case goes down every branch, with the share of the"
        " training cases that went there. The probabilities at the leaves that it"
        " reaches are added up with these shares, and the answer with the greatest sum"
        " is given, the first of them at a tie."
    ),
    False: (
        "A missing value, or a category that never occurred in training, is divided: at"
        " the test of its column the case goes down every branch, with the share of the"
        " training cases that went there. The answer is the mean of the leaves that it"
        " reaches, weighted with these shares."
    ),
}
MARKED = (
    "The marks “or missing” and “or any other” name the heaviest branch. They say what"
    " the rules do where they are used without the tree, which is another model."
)


def _missing(rules: RuleSet, na_values: Sequence[str], fractional: bool) -> list[str]:
    tests = [condition for rule in rules.rules for condition in rule.conditions]
    kinds = {rules.features[test.feature].kind for test in tests}
    if not tests:
        return ["No column is looked at, so no value can be missing or unseen."]
    sentences = ["A value is missing where its field is empty, NULL or NaN."]
    if na_values:
        texts = ", ".join(map(shown_name, na_values))
        sentences.append(f"In text files, a field is empty too if it says: {texts}.")
    if fractional:
        return [*sentences, DIVIDED[bool(rules.labels)], MARKED]
    if any(test.missing for test in tests):
        sentences.append(
            "A missing value meets the conditions marked “or missing” or saying “is"
            " missing”, and no other condition on its column."
        )
    else:
        sentences.append("A missing value meets no condition on its column.")
    if Kind.CATEGORICAL in kinds:
        sentences.append(
            "A category that never occurred in training meets the conditions marked"
            " “or any other” or saying “is none of the known values”, “is known”, “!=”"
            " or “not in”, and no other condition on its column."
        )
    if Kind.ORDINAL in kinds:
        sentences.append(
            "In an ordinal column, a category that never occurred in training has no"
            " place in the order and is treated as missing."
        )
    return sentences
