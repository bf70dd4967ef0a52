"""The rule document: what it says, and that text from the data stays text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.random_models import large_tree, random_row
from tests.support.samples import TENNIS, stump
from treecompile import learn
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.markdown import md
from treecompile.emit.markdown.groups import groups_of_tree
from treecompile.emit.markdown.lower import lower
from treecompile.emit.markdown.sections import fenced
from treecompile.emit.options import EmitOptions, Entry, read_glossary
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model import words
from treecompile.model.errors import OptionError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    ClassQuality,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Op,
    Program,
    Row,
    Rule,
    RuleSet,
    Split,
    Training,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.model.semantics import holds
from treecompile.model.words import Rounding
from treecompile.rules.extract import flatten, merged_tests

SHA256 = "0123456789abcdef" * 4
MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")
# As VS Code, which shows more pictures than the library by itself.
MARKDOWN.validateLink = lambda url: (  # type: ignore[method-assign]
    url.startswith("data:image/svg+xml;base64,")
    or MarkdownIt.validateLink(MARKDOWN, url)
)


def document(program: Program) -> str:
    source = CompilerInput(program, SHA256, "1.2.3", read_target("markdown"))
    return render(source.target, lower(source, EmitOptions()).strings)


# ---------------------------------------------------------------- programs


def weather(
    target: str = "play",
    feature: str = "outlook",
    categories: tuple[str, str, str] = ("sunny", "cloudy", "rainy"),
    labels: tuple[str, str] = ("no", "yes"),
    source: str = "golf.csv",
) -> Program:
    """Three leaves: two with cases, an empty one, and the second takes the rest."""
    sunny, _, rainy = categories
    tree = Tree(
        (
            Feature(feature, Kind.CATEGORICAL, ValueType.STR, categories),
            Feature("windy", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
        ),
        labels,
        (
            Split(
                (
                    Branch(Condition(0, Op.IN, (sunny,), False), 1, 5.0),
                    Branch(Condition(0, Op.NOT_IN, (sunny, rainy), True), 2, 9.0),
                    Branch(Condition(0, Op.IN, (rainy,), False), 3, 0.0),
                ),
                ClassCounts((5.0, 9.0)),
                0.25,
            ),
            Leaf(labels[0], ClassCounts((4.0, 1.0)), 5.0),
            Leaf(labels[1], ClassCounts((1.0, 8.0)), 9.0),
            Leaf(labels[1], ClassCounts((5.0, 9.0)), 0.0),
        ),
    )
    training = Training(
        source,
        14,
        (ColumnSummary(1), ColumnSummary(0)),
        ClassQuality(((4, 1), (1, 8))),
        ClassQuality(((2, 1), (0, 1))),
    )
    return Program(
        target=target,
        algorithm="id3",
        options=(("max_depth", 3),),
        na_values=("?",),
        body=tree,
        training=training,
    )


def numeric(leaves: int = 3) -> Program:
    """A chain of thresholds downwards on one column, whose last leaf takes the rest."""
    nodes: list[Split | Leaf] = []
    for step in range(leaves - 1):
        where, edge = 2 * step, float(leaves - step) + 0.5
        below = Condition(0, Op.LE, edge, True)
        above = Condition(0, Op.GT, edge, False)
        stats = ClassCounts((float(leaves - step), 0.0))
        nodes.append(
            Split(
                (Branch(above, where + 1, 1.0), Branch(below, where + 2, 1.0)),
                stats,
                0.1,
            )
        )
        nodes.append(Leaf(0, ClassCounts((1.0, 0.0)), 1.0))
    nodes.append(Leaf(0, ClassCounts((1.0, 0.0)), 1.0))
    tree = Tree(
        (Feature("petal_length", Kind.NUMERIC, ValueType.FLOAT),), (0, 1), tuple(nodes)
    )
    columns = (ColumnSummary(2, 1.0, 6.9),)
    return Program(
        target="species",
        algorithm="cart",
        body=tree,
        training=Training("", leaves, columns),
    )


def regression() -> Program:
    size = Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L"))
    when = Condition(0, Op.LE, "M", False)
    tree = Tree(
        (size,),
        (),
        (
            Split(
                (
                    Branch(when, 1, 3.0),
                    Branch(Condition(0, Op.GT, "M", True), 2, 1.0),
                ),
                Moments(4.0, 4.0, 36.0),
                9.0,
            ),
            Leaf(2.5, Moments(3.0, 2.5, 0.75), 3.0),
            Leaf(10.0, Moments(1.0, 10.0, 0.0), 1.0),
        ),
    )
    quality = ValueQuality(4, 0.3333333, 0.4330127, 0.979)
    return Program(
        target="price",
        algorithm="cart",
        body=tree,
        training=Training("prices.csv", 4, (ColumnSummary(0),), quality),
    )


def rule_list() -> Program:
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    color = Feature("color", Kind.CATEGORICAL, ValueType.STR, ("red", "green", "blue"))
    rules = RuleSet(
        (x, color),
        ("bad", "good"),
        (
            Rule(
                "R7",
                (
                    Condition(0, Op.GT, 2.0, False),
                    Condition(1, Op.IN, ("red", "blue"), False),
                    Condition(0, Op.LE, 7.25, False),
                    Condition(0, Op.GT, 3.0, False),
                ),
                "good",
                ClassCounts((1.0, 4.0)),
                5.0,
            ),
            Rule(
                "R2",
                (Condition(1, Op.NOT_IN, ("red",), False),),
                "bad",
                ClassCounts((2.0, 0.0)),
                2.0,
            ),
        ),
        Rule("default", (), "bad", ClassCounts((2.0, 1.0)), 3.0),
    )
    columns = (ColumnSummary(0, -1.5, 9.0), ColumnSummary(0))
    return Program(
        target="quality",
        algorithm="c45",
        body=rules,
        training=Training("parts.csv", 10, columns, ClassQuality(((4, 1), (1, 4)))),
    )


PROGRAMS = [weather(), numeric(), numeric(40), regression(), rule_list()]


# ---------------------------------------------------------------- reading it back


def content(tokens: list[Token]) -> str:
    """The text a reader sees, from the children of an inline token."""
    return "".join(
        token.content for token in tokens if token.type in ("text", "code_inline")
    )


def inlines(text: str) -> list[tuple[str, str]]:
    """(the block it stands in, what is seen) for every line of text."""
    tokens = MARKDOWN.parse(text)
    return [
        (before.type + before.tag, content(token.children or []))
        for before, token in pairwise(tokens)
        if token.type == "inline"
    ]


def headings(text: str) -> list[str]:
    return [seen for block, seen in inlines(text) if block.startswith("heading_open")]


def tables(text: str) -> list[list[list[str]]]:
    found: list[list[list[str]]] = []
    for before, token in pairwise(MARKDOWN.parse(text)):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and before.tag in ("th", "td"):
            found[-1][-1].append(content(token.children or []))
    return found


def markup(text: str) -> set[str]:
    """Every kind of token in a document, blocks and spans alike."""
    tokens = MARKDOWN.parse(text)
    spans = [child for token in tokens for child in token.children or []]
    return {token.type for token in [*tokens, *spans]}


OURS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    *("table_open", "table_close", "thead_open", "thead_close", "tbody_open"),
    *("tbody_close", "tr_open", "tr_close", "th_open", "th_close", "td_open"),
    *("td_close", "text", "code_inline", "strong_open", "strong_close", "fence"),
    *("image", "hr"),
}


# ---------------------------------------------------------------- contents


def test_tree_of_categories() -> None:
    text = document(weather())
    assert headings(text) == [
        "Rules for predicting play",
        "Data",
        "Quality",
        "Training data",
        "Validation data",
        "Features",
        "Picture",
        "Rules",
        "R1: play = no",
        "R2: play = yes",
        "R3: play = yes",
        "Missing and unseen values",
        "Default",
        "The rules as source",
    ]
    assert (
        "The model predicts **play**, one of no, yes. It uses 1 of 2 columns:"
        " outlook. It was learned with ID3 and is shown as 3 rules: exactly one rule"
        " applies to every case."
    ) in text
    assert f"`{SHA256}`, written by treecompile 1.2.3" in text
    assert "learned from golf.csv, 14 rows. Options: max_depth = 3." in text
    assert (
        "right in 12 of 14 cases: accuracy 85.7 %. Always answering yes, the most"
        " common answer in training, would be right in 9: 64.3 %."
    ) in text
    assert (
        "| If | Missing values included | Unseen values included |\n"
        "| --- | --- | --- |\n"
        "| outlook = cloudy | yes | yes |\n\nthen **play = yes**."
    ) in text
    assert "| outlook = sunny | no | no |" in text
    # The baseline is the most common answer in training, not in validation.
    assert "would be right in 1: 25.0 %." in text
    assert (
        "No training case reached this rule. Its answer rests on the 14 cases that"
        " reached the test of outlook: no: 5, yes: 9."
    ) in text
    assert 'these fields also count as empty: `"?"`.' in text
    assert "no default is ever used" in text


def test_tables_of_a_tree() -> None:
    made = tables(document(weather()))
    distribution, training, validation, features, _, first, *_ = made
    assert distribution == [
        ["play", "Cases", "Share"],
        ["no", "5", "35.7 %"],
        ["yes", "9", "64.3 %"],
    ]
    assert training == [
        ["Actual", "Predicted no", "Predicted yes", "Right"],
        ["no", "4", "1", "4 of 5 (80.0 %)"],
        ["yes", "1", "8", "8 of 9 (88.9 %)"],
    ]
    assert validation[1] == ["no", "2", "1", "2 of 3 (66.7 %)"]
    assert features[1:] == [
        ["outlook", "categorical", "sunny, cloudy, rainy", "1", "VARCHAR", "yes"],
        ["windy", "categorical", "false, true", "0", "BOOLEAN", "no"],
    ]
    assert first == [
        ["Coverage", "Confidence", "Lift", "Cases by answer"],
        ["5 of 14 cases (35.7 %)", "4 of 5 cases (80.0 %)", "2.24", "no: 4, yes: 1"],
    ]


def test_picture() -> None:
    lines = document(weather()).split("```mermaid\n")[1].split("\n```")[0]
    assert lines.splitlines() == [
        "flowchart TD",
        '    n0("outlook")',
        '    n0 -->|"= sunny"| n1',
        '    n0 -->|"= cloudy (or any other, or missing)"| n2',
        '    n0 -->|"= rainy"| n3',
        '    n1["no<br>R1, 4 of 5 cases"]',
        '    n2["yes<br>R2, 8 of 9 cases"]',
        '    n3["yes<br>R3, no case"]',
    ]


@pytest.mark.parametrize(("leaves", "drawn"), [(32, True), (33, False)])
def test_picture_of_small_trees_only(leaves: int, drawn: bool) -> None:
    text = document(numeric(leaves))
    assert ("```mermaid" in text) == drawn
    assert (f"With {leaves} leaves the tree is too large" in text) != drawn


def test_picture_stays_within_what_mermaid_draws() -> None:
    text = document(weather(feature="x" * 60_000))
    assert "```mermaid" not in text
    assert "too long for a picture" in text


def test_deep_tree_does_not_recurse() -> None:
    text = document(numeric(1500))
    assert "| R1500 | petal_length ≤ 2.5 | 0 | petal_length |" in text
    assert "\nR1500: IF petal_length <= 2.5 (or missing) THEN 0 " in text


def test_merged_bounds_and_missing_numbers() -> None:
    text = document(numeric())
    assert "| petal_length > 3.5 | no |\n\nthen" in text
    assert "| 2.5 < petal_length ≤ 3.5 | no |\n\nthen" in text
    assert "| petal_length ≤ 2.5 | yes |\n\nthen" in text
    assert "a table in memory, 3 rows" in text
    assert "The quality of the rules was not measured." in text
    row = ["petal_length", "numeric", "1 to 6.9", "2", "DOUBLE PRECISION", "yes"]
    assert tables(text)[1][1] == row


def test_regression() -> None:
    text = document(regression())
    assert "predicts **price**, a number." in text
    assert "Over all 4 cases, price has mean 4, standard deviation 3." in text
    assert "| size > M | yes | yes |\n\nthen **price = 10**." in text
    assert "is treated as missing" in text
    quality, _, _, first, *_ = tables(text)
    assert quality[1:] == [
        ["Mean absolute error (MAE)", "0.3333"],
        ["Root mean squared error (RMSE)", "0.433"],
        ["R²", "0.979"],
    ]
    assert first == [
        ["Coverage", "Mean", "Standard deviation"],
        ["3 of 4 cases (75.0 %)", "2.5", "0.5"],
    ]


def test_rule_list_keeps_its_order() -> None:
    text = document(rule_list())
    rules = [heading for heading in headings(text) if ": " in heading]
    assert rules == ["1. R7: quality = good", "2. R2: quality = bad"]
    assert "the first rule whose conditions all hold decides" in text
    assert (
        "| If | Missing values included | Unseen values included |\n"
        "| --- | --- | --- |\n"
        "| 3 < x ≤ 7.25 | no |  |\n"
        "| and color in {red, blue} | no | no |\n\nthen"
    ) in text
    assert (
        "| Otherwise, if | Missing values included | Unseen values included |" in text
    )
    assert "| color != red | no | yes |\n\nthen" in text
    assert "A case that meets no rule gets **quality = bad**." in text
    assert tables(text)[-1][1][0] == "3 of 10 cases (30.0 %)"
    assert "A missing value meets no condition on its column." in text
    assert "## Picture" not in text


def test_rule_list_of_unknown_training() -> None:
    text = document(replace(rule_list(), training=None))
    assert "is not recorded." in text
    assert "Lift |" not in text
    assert tables(text)[-1][1][0] == "3 cases"


def test_one_leaf() -> None:
    body = Tree((), ("a", "b"), (Leaf("a", ClassCounts((2.0, 1.0)), 3.0),))
    text = document(Program(target="t", algorithm="cart", body=body))
    assert "It uses no column." in text
    assert "Always **t = a**." in text


def test_tests_for_missing_alone() -> None:
    program = numeric()
    assert isinstance(program.body, Tree)
    root = program.body.nodes[0]
    assert isinstance(root, Split)
    split = replace(
        root,
        branches=(
            replace(root.branches[0], when=Condition(0, Op.GT, inf, True)),
            replace(root.branches[1], when=Condition(0, Op.LE, inf, False)),
        ),
    )
    body = replace(program.body, nodes=(split, *program.body.nodes[1:]))
    text = document(replace(program, body=body))
    assert "| petal_length is missing | yes |\n" in text
    assert 'n0 -->|"is known"| n2' in text


def test_rules_that_cannot_apply_are_named() -> None:
    program = rule_list()
    assert isinstance(program.body, RuleSet)
    never = (Condition(0, Op.GT, 5.0, False), Condition(0, Op.LE, 4.0, False))
    rules = replace(program.body.rules[0], conditions=never), program.body.rules[1]
    text = document(replace(program, body=replace(program.body, rules=rules)))
    assert "Left out, because no case can meet them: R7." in text


def test_long_lists_of_categories_are_cut() -> None:
    many = tuple(f"c{i:02}" for i in range(40))
    feature = Feature("code", Kind.CATEGORICAL, ValueType.STR, many)
    body = Tree((feature,), ("a",), (Leaf("a", ClassCounts((1.0,)), 1.0),))
    text = document(Program(target="t", algorithm="id3", body=body))
    assert "c10, c11 and 28 more |" in text
    assert "c12" not in text.partition("## The rules as source")[0]


# ---------------------------------------------------------------- many rules


def grown(leaves: int) -> Program:
    return Program("y", "cart", large_tree(leaves, seed=3))


@pytest.mark.parametrize("leaves", [30, 60, 500])
def test_many_rules_are_grouped(leaves: int) -> None:
    program = grown(leaves)
    assert isinstance(program.body, Tree)
    rules = flatten(program.body)
    text = document(program)
    made = tables(text)
    heads = [rows for rows in made if rows[0][:2] == ["Rule", "If"]]
    told = [row[0] for rows in heads for row in rows[1:]]
    assert told == [rule.id for rule in rules.rules]  # each once, in order
    assert max(len(rows) for rows in heads) <= 26
    contents = next(rows for rows in made if rows[0][0] == "Rules")[1:]
    titles = [title for title in headings(text) if re.match(r"R\d+( to |$)", title)]
    assert [row[0] for row in contents] == titles
    links = re.findall(r"\]\(#([\w-]+)\)", text)
    assert links == [title.lower().replace(" ", "-") for title in titles]


def test_a_row_and_its_group_say_the_whole_rule() -> None:
    program = grown(120)
    assert isinstance(program.body, Tree)
    rules = flatten(program.body)
    parts = groups_of_tree(program.body, merged_tests(program.body), rules.rules, 25)
    assert sum(len(part.rules) for part in parts) == len(rules.rules)
    assert all(part.common for part in parts)
    random = Random(0)
    for part in parts:
        for rule in part.rules:
            shared = set(words.by_feature(part.common))
            groups = words.by_feature(rule.conditions)
            rest = [c for group in groups if group not in shared for c in group]
            for _ in range(20):
                row = random_row(random, program.body)
                assert meets([*part.common, *rest], rules, row) == meets(
                    rule.conditions, rules, row
                )


def meets(conditions: Sequence[Condition], rules: RuleSet, row: Row) -> bool:
    return all(holds(c, rules.features[c.feature], row[c.feature]) for c in conditions)


def test_a_chain_is_grouped_too() -> None:
    text = document(numeric(1500))
    titles = [title for title in headings(text) if " to " in title]
    assert 60 <= len(titles) <= 61


def test_a_long_list_is_cut_into_parts() -> None:
    program = rule_list()
    assert isinstance(program.body, RuleSet)
    first = program.body.rules[0]
    rules = tuple(replace(first, id=f"N{i}") for i in range(60))
    text = document(replace(program, body=replace(program.body, rules=rules)))
    titles = [title for title in headings(text) if title.startswith("Rules ")]
    assert titles[1:] == ["Rules 1 to 25", "Rules 26 to 50", "Rules 51 to 60"]
    assert "| 26 | N25 | 3 < x ≤ 7.25 and color in {red, blue} | good |" in text


def test_long_thresholds_are_rounded_and_exact() -> None:
    body = stump(0.30000000000000004).body
    text = document(Program("y", "cart", body))
    assert "| x ≤ 0.3 | no |\n" in text
    assert '-->|"≤ 0.3"|' in text
    assert "Long thresholds are rounded." in text
    assert "Long numbers are rounded here; the rules as source are exact." in text
    assert "R1: IF x <= 0.30000000000000004 THEN low" in text
    assert "rounded" not in document(stump(0.125))


def test_rounding_keeps_thresholds_apart() -> None:
    def shown(*values: float) -> list[str]:
        rounding = Rounding(Condition(0, Op.LE, v, False) for v in values)
        return [rounding.figure(0)(value) for value in values]

    assert shown(1.2345678912, 7.5) == ["1.235", "7.5"]
    assert shown(1.2345678912, 1.2347) == ["1.2346", "1.2347"]
    assert shown(1.2345678912, 1.2345678913) == ["1.2345678912", "1.2345678913"]
    assert shown(12345678.0, 1e300, 123456789.0) == ["12345678", "1e+300", "123500000"]


def test_no_text_ends_the_block() -> None:
    text = "FEATURE `a`\n````\n"
    (token,) = MARKDOWN.parse(fenced(text))
    assert (token.type, token.info, token.content) == ("fence", "rules", text)
    assert fenced("x\n") == "```rules\nx\n```"


def test_rules_by_hand() -> None:
    program = replace(rule_list(), algorithm="rules", training=None)
    assert isinstance(program.body, RuleSet)
    rules = (replace(program.body.rules[0], stats=ClassCounts((0.0, 1.0)), weight=0.0),)
    text = document(replace(program, body=replace(program.body, rules=rules)))
    assert "It was compiled from 1 rule written as text" in text
    assert "it was written or edited by hand" in text
    assert "not recorded" in text


def test_glossary() -> None:
    glossary = {
        "outlook": Entry("How the *sky* looks | at noon", ""),
        "play": Entry("whether the match takes place"),
        "rain": Entry("not in the model", "mm"),
    }
    options = EmitOptions(glossary=glossary)
    source = CompilerInput(weather(), SHA256, "1.2.3", read_target("markdown"))
    lowered = lower(source, options)
    text = render(source.target, lowered.strings)
    features = tables(text)[3]
    assert features[0][:3] == ["Name", "Meaning", "Kind"]
    assert features[1][1] == "How the *sky* looks | at noon"
    assert features[2][1] == ""
    assert "**play** (whether the match takes place)" in text
    assert lowered.warnings == (
        "the glossary explains names that the model does not have: rain",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: expected name,description,unit"),
        ("name,meaning\n", "line 1: expected name,description,unit"),
        ("name,description,unit\na,b\n", "entry 1: 2 fields where the header has 3"),
        ("name,description\na,b\na,c\n", "explains 'a' twice"),
        ('name,description\na,"b\n', "not CSV"),
    ],
)
def test_damaged_glossaries(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "glossary.csv"
    path.write_text(text)
    with pytest.raises(OptionError, match=said):
        read_glossary(path)
    with pytest.raises(OptionError, match="cannot read"):
        read_glossary(tmp_path / "absent.csv")


@pytest.mark.parametrize("program", PROGRAMS)
def test_layout(program: Program) -> None:
    text = document(program)
    assert text == document(program)
    assert markup(text) <= OURS | {"link_open", "link_close"}
    assert "\n```\n\n---\n\nApproved by: " in text
    assert "\n\n\n" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


# ---------------------------------------------------------------- hostile text

HOSTILE = [
    "",
    " ",
    " padded ",
    "a|b",
    r"a\|b",
    "\\",
    "line\nbreak\r\n\n# heading",
    "tab\there",
    "`code`",
    "``` fence",
    "~~~",
    "</script><script>alert(1)</script>",
    "<!-- comment",
    "&amp; &#124;",
    "{{ 7 * 7 }}{% raw %}",
    '"""',
    'it\'s "quoted"',
    "_a_ *b* **c** ~~d~~",
    "a _b_ c",
    "__init__",
    "a_",
    "1. item",
    "1.",
    "- item",
    "+",
    "# title",
    "> quote",
    "[link](http://example.com)",
    "![image](x)",
    "https://example.com",
    "www.example.com",
    "someone@example.com",
    ":tada:",
    "$x$",
    "[^1]",
    "🎈 party",
    "<=",
    ">",
    "\x00\x1b[31m",
    "\u202eright to left",
    "\u2028",
    "\ud800",
    "---",
    "| --- |",
    "%%{init: {}}%%",
    "end",
    "style a:b#c;",
    "click n0 href",
    "fa:fa-car",
    "#quot; #35;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    program = weather(
        target=text,
        feature=text,
        categories=(text, f"{text}2", f"3{text}"),
        labels=(text, f"{text}2"),
        source=text,
    )
    made = document(program)
    plain = document(weather())
    name, second, third = (words.name(t) for t in (text, f"{text}2", f"3{text}"))
    made.encode()
    assert markup(made) <= OURS
    assert [len(row) for rows in tables(made) for row in rows] == [
        len(row) for rows in tables(plain) for row in rows
    ]
    expected = [h.replace("play", name) for h in headings(plain)]
    for place, label in zip((8, 9, 10), (name, second, second), strict=True):
        expected[place] = f"R{place - 7}: {name} = {label}"
    assert headings(made) == expected
    distribution, confusion, _, features, *_ = tables(made)
    assert [row[0] for row in distribution] == [name, name, second]
    assert confusion[0][1:3] == [f"Predicted {name}", f"Predicted {second}"]
    assert features[1][0] == name
    assert features[1][2] == f"{name}, {second}, {third}"
    bullets = [seen for _, seen in inlines(made)]
    assert f"{name} = {name}" in bullets
    assert f"then {name} = {second}." in bullets
    assert f"{name} = {second}" in bullets
    spans = [c.type for token in MARKDOWN.parse(made) for c in token.children or []]
    assert spans.count("image") == 1  # the tree


@given(
    st.text(st.characters() | st.sampled_from("\\`|_*[]<>&#:@.- \n\"'1w"), max_size=12)
)
def test_any_name_is_shown_as_it_is(text: str) -> None:
    name = md.name(text)
    head = f"# {name}\n\n- {name}\n\n{md.table([name, 'b'], [[name, 'c']])}\n"
    assert markup(head) <= OURS
    shown = words.name(text)
    assert [seen for _, seen in inlines(head)] == [shown, shown, shown, "b", shown, "c"]


@pytest.mark.parametrize(
    "text",
    ["sepal length", "sepal_length", "max_x_2", "7.5 mg/dl", "C4.5", "naïve", "50%"],
)
def test_ordinary_words_stay_readable(text: str) -> None:
    assert md.name(text) == text


@given(st.text())
def test_mermaid_labels_hold_no_syntax(text: str) -> None:
    label = md.in_mermaid(words.name(text))
    entities = re.compile(r"#(\d+);")
    assert not re.search(r"[^\w ,()=≤.-]", entities.sub("", label))
    assert entities.sub(lambda m: chr(int(m[1])), label) == words.name(text)


def test_cases_that_pruned_the_tree_are_called_so() -> None:
    model = learn(TENNIS, target="play", prune="reduced-error", validation_fraction=0.3)
    assert (
        "### Validation data, which also pruned the tree: expect less on new rows\n"
        in model.emit("markdown")
    )
    model = learn(TENNIS, target="play", validation_fraction=0.3)
    assert "### Validation data\n" in model.emit("markdown")
