"""The rule document: what it says, and that text from the data stays text."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.samples import stump
from treecompile.emit import md
from treecompile.emit.document import lower
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model import words
from treecompile.model.display import DisplayTable
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
    Rule,
    RuleSet,
    Split,
    Training,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.model.unicode import is_unicode
from treecompile.rules.language.document import loads

SHA256 = "0123456789abcdef" * 4
MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def document(program: Program) -> str:
    source = CompilerInput(program, SHA256, "1.2.3", read_target("markdown"))
    head = f"treecompile 1.2.3, markdown, model {SHA256}"
    return render(source.target, lower(source, EmitOptions()), header=head)


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


PROGRAMS = [weather(), regression(), rule_list()]


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
    *("table_open", "table_close", "thead_open", "thead_close", "tbody_open"),
    *("tbody_close", "tr_open", "tr_close", "th_open", "th_close", "td_open"),
    *("td_close", "text", "code_inline", "strong_open", "strong_close", "fence", "hr"),
}


# ---------------------------------------------------------------- contents


def block(text: str) -> str:
    """The rules of a document."""
    return next(t.content for t in MARKDOWN.parse(text) if t.info == "rules")


def test_tree_of_categories() -> None:
    text = document(weather())
    assert headings(text) == [
        "Rules for play",
        "Rules",
        "Picture",
        "Evidence",
        "Columns",
    ]
    assert (
        "**play** is decided from outlook by 3 rules, learned with ID3 (max_depth = 3)"
        " from the 14 rows of golf.csv."
    ) in text
    quality, evidence, columns = tables(text)
    assert quality == [
        ["On", "Rows", "Right", "Always yes"],
        ["training data", "14", "12 (85.7 %)", "9 (64.3 %)"],
        # The baseline is the most common answer in training, not in validation.
        ["validation data", "4", "3 (75.0 %)", "1 (25.0 %)"],
    ]
    assert block(text) == (
        "predict play: no, yes\n"
        "from outlook: sunny, cloudy, rainy\n"
        'missing: "?"\n'
        "\n"
        "R1: if outlook = sunny\n"
        "    then no   [4 of 5: 1 yes]\n"
        "R2: if outlook = cloudy (or any other, or missing)\n"
        "    then yes  [8 of 9: 1 no]\n"
        "R3: if outlook = rainy\n"
        "    then yes  [9 of 14: 5 no; reached by 0]\n"
    )
    assert 'n0 -->|"cloudy (or any other, or missing)"| n2["yes, R2"]' in text
    assert "Exactly one rule applies to a case." in text
    assert 'or in a text file `"?"`, is "missing".' in text
    assert "`treecompile build RULES.md --data golf.csv --out out`" in text
    assert evidence[0] == ["Rule", "Decides", "Right", "95 % interval", "Lift"]
    assert evidence[1] == ["R1 no", "5 (35.7 %)", "4 (80.0 %)", "", "2.24"]
    assert evidence[3] == ["R3 yes", "0 (0.0 %)", "", "", ""]
    assert columns[1] == ["outlook", "sunny, cloudy, rainy", "1", "VARCHAR"]
    assert "Not used: windy." in text
    assert text.splitlines()[-4:] == [
        "---",
        "Owner: ____ Intended use: ____ Approved by, on: ____",
        "",
        f"`treecompile 1.2.3, markdown, model {SHA256}`",
    ]


def test_regression() -> None:
    text = document(regression())
    quality, evidence, columns = tables(text)
    assert quality[1] == ["training data", "4", "0.3333", "0.433", "0.979"]
    assert "R1: if size <= M\n    then 2.5  [3 cases, sse 0.75]\n" in text
    assert evidence == [
        ["Rule", "Decides", "Mean", "Standard deviation"],
        ["R1 2.5", "3 (75.0 %)", "2.5", "0.5"],
        ["R2 10", "1 (25.0 %)", "10", "0"],
    ]
    assert columns[1] == ["size", "in this order: S, M, L", "0", "VARCHAR"]


def test_rule_list_keeps_its_order() -> None:
    text = document(rule_list())
    assert "Read from the top: the first rule that applies decides." in text
    assert (
        "R7: if 3 < x <= 7.25 and color in {red, blue}\n"
        "    then good  [4 of 5: 1 bad]\n"
        "R2: if color != red\n"
        "    then bad   [2 of 2]\n"
        "otherwise bad   [2 of 3: 1 good]\n"
    ) in block(text)
    evidence = tables(text)[1]
    assert [row[0] for row in evidence[1:]] == ["R7 good", "R2 bad", "otherwise bad"]
    assert "## Picture" not in text


def test_rules_that_cannot_apply_are_named() -> None:
    program = rule_list()
    assert isinstance(program.body, RuleSet)
    never = (Condition(0, Op.GT, 5.0, False), Condition(0, Op.LE, 4.0, False))
    rules = replace(program.body.rules[0], conditions=never), program.body.rules[1]
    text = document(replace(program, body=replace(program.body, rules=rules)))
    assert "Left out, because no case can meet them: R7." in text


def test_only_the_picture_rounds_thresholds() -> None:
    text = document(Program("y", "cart", stump(0.30000000000000004).body))
    assert '-->|"≤ 0.3"|' in text
    assert "R1: if x <= 0.30000000000000004\n" in text


def test_fractions_are_explained() -> None:
    program = rule_list()
    assert isinstance(program.body, RuleSet)
    assert "fraction" not in document(program)
    first = replace(program.body.rules[0], stats=ClassCounts((1.5, 3.5)))
    rules = (first, *program.body.rules[1:])
    text = document(replace(program, body=replace(program.body, rules=rules)))
    assert "There are fractions because" in text
    assert "[3.5 good, 1.5 bad]" in text


@pytest.mark.parametrize("program", PROGRAMS)
def test_layout(program: Program) -> None:
    text = document(program)
    assert text == document(program)
    assert markup(text) <= OURS
    assert "\n\n\n" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 400


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
    assert headings(made) == [f"Rules for {name}", *headings(plain)[1:]]
    quality, evidence, columns = tables(made)
    assert quality[0][3] == f"Always {second}"
    assert [row[0] for row in evidence[1:]] == [
        f"R1 {name}",
        f"R2 {second}",
        f"R3 {second}",
    ]
    assert columns[1][:2] == [name, f"{name}, {second}, {third}"]
    if is_unicode(text):
        source = loads(made, is_markdown=True)
        assert source.target == text
        assert source.body.labels == program.body.labels
        assert source.body.features == program.body.features[:1]


@given(
    st.text(st.characters() | st.sampled_from("\\`|_*[]<>&#:@.- \n\"'1w"), max_size=12)
)
def test_any_name_is_shown_as_it_is(text: str) -> None:
    name = md.name(text)
    table = md.table(DisplayTable("", [name, "b"], [[name, "c"]]))
    head = f"# {name}\n\n{name}\n\n{table}\n"
    assert markup(head) <= OURS
    shown = words.name(text)
    assert [seen for _, seen in inlines(head)] == [shown, shown, shown, "b", shown, "c"]


@given(st.text())
def test_mermaid_labels_hold_no_syntax(text: str) -> None:
    label = md.in_mermaid(words.name(text))
    entities = re.compile(r"#(\d+);")
    assert not re.search(r"[^\w ,()=≤.-]", entities.sub("", label))
    assert entities.sub(lambda m: chr(int(m[1])), label) == words.name(text)
