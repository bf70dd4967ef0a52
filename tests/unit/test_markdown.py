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
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.markdown import md
from treecompile.emit.markdown.lower import lower
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model import words
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

SHA256 = "0123456789abcdef" * 4
MARKDOWN = MarkdownIt("commonmark").enable("table").enable("strikethrough")
# As VS Code, which shows more pictures than the library by itself.
MARKDOWN.validateLink = lambda url: (  # type: ignore[method-assign]
    url.startswith("data:image/svg+xml;base64,")
    or MarkdownIt.validateLink(MARKDOWN, url)
)


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
    assert f"`treecompile 1.2.3, markdown, model {SHA256}`" in text
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


def test_rules_that_cannot_apply_are_named() -> None:
    program = rule_list()
    assert isinstance(program.body, RuleSet)
    never = (Condition(0, Op.GT, 5.0, False), Condition(0, Op.LE, 4.0, False))
    rules = replace(program.body.rules[0], conditions=never), program.body.rules[1]
    text = document(replace(program, body=replace(program.body, rules=rules)))
    assert "Left out, because no case can meet them: R7." in text


# ---------------------------------------------------------------- many rules


def test_long_thresholds_are_rounded_and_exact() -> None:
    body = stump(0.30000000000000004).body
    text = document(Program("y", "cart", body))
    assert "| x ≤ 0.3 | no |\n" in text
    assert '-->|"≤ 0.3"|' in text
    assert "Long thresholds are rounded." in text
    assert "Long numbers are rounded here; the rules as source are exact." in text
    assert "R1: IF x <= 0.30000000000000004 THEN low" in text
    assert "rounded" not in document(stump(0.125))


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


@given(st.text())
def test_mermaid_labels_hold_no_syntax(text: str) -> None:
    label = md.in_mermaid(words.name(text))
    entities = re.compile(r"#(\d+);")
    assert not re.search(r"[^\w ,()=≤.-]", entities.sub("", label))
    assert entities.sub(lambda m: chr(int(m[1])), label) == words.name(text)
