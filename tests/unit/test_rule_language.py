"""The rule language: what rules mean, and what the errors say."""

from __future__ import annotations

from math import inf, nextafter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lark import Lark

from tests.support.samples import ROOT, stump
from treecompile.model.errors import RulesError
from treecompile.model.file.read import loads as read_model
from treecompile.model.file.write import dumps
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Moments,
    Op,
    Program,
    Rule,
    RuleSet,
    Value,
    ValueType,
)
from treecompile.model.semantics import holds, predict
from treecompile.rules.language import conditions
from treecompile.rules.language.document import block, loads
from treecompile.rules.language.document import read_model as read_rules
from treecompile.rules.language.printer import BARE, KEYWORDS, print_rules, word
from treecompile.rules.pruning import simplify

HEAD = """\
TARGET play IN {no, yes}
FEATURE outlook IN {cloudy, rainy, sunny}
FEATURE humidity NUMERIC
FEATURE size IN ORDER {S, M, L}
FEATURE code IN {1, 2}
FEATURE windy IN {false, true}
"""
OUTLOOK, HUMIDITY, SIZE, CODE, WINDY = range(5)


def rules_of(text: str) -> RuleSet:
    body = loads(HEAD + text).body
    assert isinstance(body, RuleSet)
    return body


def mistake(text: str) -> str:
    with pytest.raises(RulesError) as caught:
        loads(HEAD + text)
    return str(caught.value)


# ---------------------------------------------------------------- what tests mean

FIVE = (nextafter(5.0, -inf), 5.0, nextafter(5.0, inf))


@pytest.mark.parametrize(
    ("test", "where", "meets", "fails"),
    [
        ("humidity <= 5", HUMIDITY, [-inf, *FIVE[:2]], [FIVE[2], inf, None]),
        ("humidity ≤ 5 (or missing)", HUMIDITY, [5.0, None], [FIVE[2]]),
        ("humidity < 5", HUMIDITY, [FIVE[0]], [5.0, None]),
        ("humidity >= 5", HUMIDITY, FIVE[1:], [FIVE[0], None]),
        ("humidity > 5", HUMIDITY, [FIVE[2], inf], [5.0, None]),
        ("humidity = 5", HUMIDITY, [5.0], [FIVE[0], FIVE[2], None]),
        ("5 < humidity", HUMIDITY, [FIVE[2]], [5.0]),
        ("3 < humidity <= 5", HUMIDITY, [4.0, 5.0], [3.0, FIVE[2], None]),
        ("5 >= humidity > 3 (or missing)", HUMIDITY, [5.0, None], [3.0, 6.0]),
        ("humidity > -1.5e1", HUMIDITY, [-14.9], [-15.0]),
        ("humidity IS MISSING", HUMIDITY, [None], [0.0]),
        ("humidity is not missing", HUMIDITY, [0.0, inf], [None]),
        ("humidity IS PRESENT", HUMIDITY, [0.0], [None]),
        ("outlook = sunny", OUTLOOK, ["sunny"], ["rainy", "hail", None]),
        ("outlook == sunny", OUTLOOK, ["sunny"], ["Sunny"]),
        ('outlook = "sunny" (or missing)', OUTLOOK, ["sunny", None], ["hail"]),
        ("outlook = sunny (or any other)", OUTLOOK, ["sunny", "hail"], ["rainy", None]),
        (
            "outlook IN {sunny, rainy} (or any other, or missing)",
            OUTLOOK,
            ["sunny", "rainy", "hail", None],
            ["cloudy"],
        ),
        ("outlook != sunny", OUTLOOK, ["rainy", "hail"], ["sunny", None]),
        ("outlook not in {sunny, rainy}", OUTLOOK, ["cloudy", "hail"], ["rainy", None]),
        ("outlook IS KNOWN", OUTLOOK, ["cloudy", "hail"], [None]),
        ("size <= M", SIZE, ["S", "M"], ["L", "XL", None]),
        ("size > S (or any other, or missing)", SIZE, ["M", "XL", None], ["S"]),
        ("size > S (or missing)", SIZE, ["M", "XL", None], ["S"]),
        ("size < M", SIZE, ["S"], ["M", None]),
        ("size >= M", SIZE, ["M", "L"], ["S", "XL", None]),
        ("size >= S", SIZE, ["S", "M", "L"], ["XL", None]),
        ("size = M", SIZE, ["M"], ["S", "L", "XL", None]),
        ("size = S", SIZE, ["S"], ["M", None]),
        ("S < size <= L", SIZE, ["M", "L"], ["S"]),
        ("size IS MISSING", SIZE, [None, "XL"], ["S", "L"]),
        ("code = 1", CODE, [1], [2, 7, None]),
        ("windy != true", WINDY, [False], [True, None]),
    ],
)
def test_tests(test: str, where: int, meets: list[Value], fails: list[Value]) -> None:
    rules = rules_of(f"IF {test} THEN yes OTHERWISE no")
    tests = rules.rules[0].conditions
    feature = rules.features[where]
    assert {condition.feature for condition in tests} == {where}

    def held(value: Value) -> bool:
        return all(holds(condition, feature, value) for condition in tests)

    assert [value for value in meets if not held(value)] == []
    assert [value for value in fails if held(value)] == []


def test_statements() -> None:
    program = loads("""
        # a comment
        target "the answer" numeric
        MISSING {"?", NA}
        feature code integer in {}
        feature flag IN {true}
        R2: if flag = true
            and code is known  # another
            then 2.50
        always -1e3
        D: OTHERWISE 0
        """)
    assert program == Program(
        target="the answer",
        algorithm="rules",
        na_values=("?", "NA"),
        body=RuleSet(
            (
                Feature("code", Kind.CATEGORICAL, ValueType.INT),
                Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (True,)),
            ),
            (),
            (
                Rule(
                    "R2",
                    (
                        Condition(1, Op.IN, (True,), False),
                        Condition(0, Op.NOT_IN, (), False),
                    ),
                    2.5,
                    Moments(1.0, 2.5, None),
                    0.0,
                ),
                Rule("R3", (), -1000.0, Moments(1.0, -1000.0, None), 0.0),
            ),
            Rule("D", (), 0.0, Moments(1.0, 0.0, None), 0.0),
        ),
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("{no, yes}", ("no", "yes")),
        ('{"1", "true"}', ("1", "true")),
        ("{0, 1}", (0, 1)),
        ("{0.5, 1}", (0.5, 1.0)),
        ("{true, false}", (True, False)),
    ],
)
def test_the_form_of_labels_tells_their_type(
    labels: str, expected: tuple[object, ...]
) -> None:
    first = labels[1:].split(",")[0]
    body = loads(f"TARGET y IN {labels} OTHERWISE {first}").body
    assert body.labels == expected
    assert [type(a) for a in body.labels] == [type(a) for a in expected]


def test_new_rules_get_the_next_free_id() -> None:
    text = "IF humidity > 1 THEN no R7: ALWAYS yes ALWAYS no OTHERWISE no"
    assert [rule.id for rule in rules_of(text).rules] == ["R8", "R7", "R9"]


# ---------------------------------------------------------------- counts

COUNTED = Program(
    "play",
    "c45",
    RuleSet(
        (
            Feature("x", Kind.NUMERIC, ValueType.FLOAT),
            Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L")),
        ),
        ("no", "yes"),
        (
            Rule(
                "R1",
                (Condition(0, Op.GT, 75.0, False), Condition(1, Op.LE, "M", True)),
                "no",
                ClassCounts((3.0, 1.5)),
                4.5,
            ),
            Rule(
                "R2",
                (Condition(0, Op.LE, 3.0, False),),
                "yes",
                ClassCounts((0.0, 2.0)),
                0.0,
            ),
        ),
        Rule("default", (), "no", ClassCounts((1.0, 1.0)), 2.0),
    ),
)
TEXT = """\
TARGET play IN {no, yes}
FEATURE x NUMERIC
FEATURE size IN ORDER {S, M, L}

R1: IF x > 75 AND size <= M (or any other, or missing) THEN no [no: 3, yes: 1.5]
R2: IF x <= 3 THEN yes [yes: 2; reached: 0]

OTHERWISE no [no: 1, yes: 1]
"""


def test_printed() -> None:
    assert print_rules(COUNTED) == TEXT


def test_counts_are_the_authors_word() -> None:
    rules = rules_of("IF humidity > 3 THEN no [no: 4, yes: 1] OTHERWISE yes")
    assert rules.rules[0].stats == ClassCounts((4.0, 1.0))
    assert rules.rules[0].weight == 5
    assert rules.default.weight == 0


@pytest.mark.parametrize(
    ("value", "test"),
    [
        (nextafter(5.0, -inf), "x < 5"),
        (nextafter(0.0, -inf), "x < 0"),
        (nextafter(5.0, inf), "x <= 5.000000000000001"),
        (0.1 + 0.2, "x <= 0.30000000000000004"),
        (-0.0, "x <= -0"),
        (1e22, "x <= 1e+22"),
    ],
)
def test_thresholds_are_exact_and_short(value: float, test: str) -> None:
    text = print_rules(stump(value))
    assert f"R1: IF {test} THEN low" in text
    assert f"R2: IF {test.replace('<=', '>').replace('<', '>=')} (or missing)" in text
    body = loads(text).body
    for number in (value, nextafter(value, inf), nextafter(value, -inf)):
        assert predict(body, (number,)) == predict(stump(value).body, (number,))


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("R1: IF outlok = sunny THEN no", "7, column 8", "did you mean outlook?"),
        ("IF outlook = suny THEN no", "7, column 14", "did you mean sunny?"),
        ("IF outlook = Sunny THEN no", "7, column 14", "did you mean sunny?"),
        ("IF size = huge THEN no", "7, column 11", "there are S, M, L"),
        ("IF outlook = sunny THEN maybe", "7, column 25", "there are no, yes"),
        ("IF outlook = sunny THEN 1", "7, column 25", "expected text, found 1"),
        ("IF code = one THEN no", "7, column 11", "expected a whole number"),
        ("IF windy = 1 THEN no", "7, column 12", "expected true or false"),
        ("IF humidity > high THEN no", "7, column 15", "expected a number"),
        ("IF humidity > 1e999 THEN no", "7, column 15", "too large"),
        ("IF outlook = sunny AND THEN no", "7, column 24", "expected a value"),
        ("IF outlook = sunny no", "7, column 20", "expected THEN or AND"),
        ("IF outlook = very sunny THEN no", "7, column 19", '"very sunny"'),
        ("IF outlook = other THEN no", "7, column 14", 'in quotes: "other"'),
        ("IF outlook = 'sunny' THEN no", "7, column 14", "double quotes"),
        ('IF outlook = "sunny THEN no', "7, column 14", "end on the line"),
        ('IF outlook = "\\q" THEN no', "7, column 14", "not a valid JSON string"),
        ("IF humidity > 3,5 THEN no", "7, column 16", "decimals with a point"),
        ("IF humidity > 3x THEN no", "7, column 16", '"3x"'),
        ("IF outlook = 30-39 THEN no", "7, column 16", 'in quotes: "30-39"'),
        ("IF outlook IN {30-39} THEN no", "7, column 18", 'in quotes: "30-39"'),
        ("IF humidity > 3 OR humidity < 1 THEN no", "7, column 17", "two rules"),
        (
            "IF humidity > 3 && windy = true THEN no",
            "7, column 17",
            "join tests with AND",
        ),
        ("IF 3 < humidity > 5 THEN no", "7, column 17", "3 < x <= 5"),
        ("IF humidity IN {3} THEN no", "7, column 4", "3 < humidity <= 5"),
        ("IF humidity != 3 THEN no", "7, column 16", "the values below"),
        (
            "IF humidity = 3 (or any other) THEN no",
            "7, column 4",
            "with no other values",
        ),
        ("IF size <= M (or any other) THEN no", "7, column 4", "or missing)"),
        ("IF size < S THEN no", "7, column 11", "lowest value"),
        ("IF outlook > sunny THEN no", "7, column 12", "has no order"),
        ("IF outlook IN {} THEN no", "7, column 4", "at least one"),
        ("IF outlook != rainy (or any other) THEN no", "7, column 15", "already"),
        (
            "IF humidity > 75\n AND humidity <= 70 THEN no",
            "8, column 6",
            "could never hold",
        ),
        ("IF outlook = rainy AND outlook = sunny THEN no", "7, column 24", "never"),
        ("R1: ALWAYS no R1: ALWAYS no", "7, column 15", "already used in line 7"),
        ("default: ALWAYS no", "7, column 1", "already used"),
        ('"R 1": ALWAYS no', "7, column 1", "ASCII letters and digits"),
        ("R1 IF humidity > 3 THEN no", "7, column 4", 'expected ":", found IF'),
        ("FEATURE humidity NUMERIC", "7, column 9", "declared twice"),
        ("FEATURE z IN {a, b, a}", "7, column 21", "declared twice"),
        ("FEATURE z IN {a, 1}", "7, column 18", "must be of one type"),
        ("FEATURE z IN {1.5}", "7, column 15", "NUMERIC"),
        ("FEATURE z INTEGER IN {a}", "7, column 23", "a whole number"),
        ("FEATURE z IN (a)", "7, column 14", 'expected "{" or ORDER'),
        ("TARGET other", "7, column 8", "expected a name"),
        ("TARGET z NUMERIC", "7, column 8", "second TARGET"),
        ("ALWAYS no [maybe: 3]", "7, column 12", "there is no label maybe"),
        ("ALWAYS no [no: 0]", "7, column 16", "more than 0"),
        ("ALWAYS no [no: -1]", "7, column 16", "expected 0, or"),
        ("ALWAYS no [no: 1, no: 1]", "7, column 19", "counted twice"),
        ("ALWAYS no [no: 1; seen: 1]", "7, column 19", "expected reached"),
        ('ALWAYS no [no: 1, "no": 1]', "7, column 19", "counted twice"),
        ("ALWAYS no [no: 6e249, yes: 6e249]", "7, column 16", "more than 1e+250"),
        ("ALWAYS no [no: 1e999]", "7, column 16", "too large"),
        (f"IF humidity > {'1' * 10_000} THEN no", "7, column 15", "too large"),
        (f"FEATURE z IN {{{'1' * 10_000}}}", "7, column 15", "too large"),
        ('FEATURE z IN {"{{ x }}", "{{ x }}"}', "7, column 26", '"{{ x }}" is decl'),
        ('FEATURE "{}" NUMERIC FEATURE "{}" NUMERIC', "7, column 30", "leave one out"),
        ('FEATURE "\\ud800" NUMERIC', "7, column 9", "not Unicode text"),
        ('FEATURE z IN {"\ud800"}', "7, column 15", "not Unicode text"),
        ('FEATURE "\\u12" NUMERIC', "7, column 9", "not a valid JSON string"),
        ('FEATURE "\\q" NUMERIC', "7, column 9", "write a backslash as \\\\"),
        ("FEATURE \ufeff z NUMERIC", "7, column 9", "invisible character: delete"),
        ("ıf humidity > 3 THEN no", "7, column 4", 'expected ":"'),
        ("IF humidity iſ MISSING THEN no", "7, column 13", "expected"),
        ("IF humidity is \N{KELVIN SIGN}nown THEN no", "7, column 16", "expected"),
        ("IF humidity > ٣ THEN no", "7, column 15", "expected a number"),
        ("R²: ALWAYS no", "7, column 1", "ASCII letters and digits"),
    ],
)
def test_mistakes_are_reported_with_their_place(
    text: str, place: str, said: str
) -> None:
    message = mistake(f"{text}\nOTHERWISE no\n")
    assert message.startswith(f"line {place}: ")
    assert said in message
    assert "\n" not in message


def test_mistakes_at_the_end() -> None:
    assert mistake("ALWAYS no").startswith("line 7, column 10: expected")
    assert "OTHERWISE value" in mistake("ALWAYS no")
    assert "move it to the end" in mistake("OTHERWISE no\nALWAYS yes")
    assert "begins with OTHERWISE" in mistake("ELSE no")
    with pytest.raises(RulesError, match="line 1, column 1: expected"):
        loads("")
    with pytest.raises(RulesError, match="TARGET play IN"):
        loads("OTHERWISE no")
    with pytest.raises(RulesError, match="line 1, column 8: .* at least one label"):
        loads("TARGET y IN {} OTHERWISE no")
    with pytest.raises(RulesError, match="does not give its mean"):
        loads("TARGET y NUMERIC OTHERWISE 1 [cases: 3]")
    with pytest.raises(RulesError, match="expected cases or mean or sse"):
        loads("TARGET y NUMERIC OTHERWISE 1 [no: 3]")


def test_no_message_is_huge() -> None:
    name = "x" * 1_000_000
    known = f"TARGET y IN {{a}} FEATURE {name} NUMERIC"
    for text in (
        f"{known} IF {name}z > 3 THEN a OTHERWISE a",
        f"{known} FEATURE {name} NUMERIC OTHERWISE a",
        f"{known} {name} {name}",
        f'{known} "{name}',
    ):
        with pytest.raises(RulesError, match=r"^line 1, column \d+: ") as caught:
            loads(text)
        assert len(str(caught.value)) < 2000


# ---------------------------------------------------------------- size


def test_many_tests_in_one_rule() -> None:
    bounds = " AND ".join(f"x > {n}" for n in range(5_000))
    barred = " AND ".join(f"c != {n}" for n in range(1, 5_000))
    known = ", ".join(map(str, range(5_000)))
    text = f"TARGET y IN {{a, b}} FEATURE x NUMERIC FEATURE c IN {{{known}}}"
    body = loads(f"{text} IF {bounds} AND {barred} THEN a OTHERWISE b").body
    assert predict(body, (4999.5, 0)) == "a"
    assert predict(body, (4999.5, 1)) == "b"
    assert predict(body, (4998.5, 0)) == "b"


@pytest.mark.parametrize("order", ["", "ORDER "])
def test_many_categories(order: str) -> None:
    known = ", ".join(f"k{n}" for n in range(10_000))
    rules = "\n".join(f"IF c = k{n} THEN b" for n in range(0, 10_000, 20))
    text = f"TARGET y IN {{a, b}} FEATURE c IN {order}{{{known}}}\n{rules} OTHERWISE a"
    program = loads(text)
    for body in (program.body, loads(print_rules(program)).body):
        assert predict(body, ("k9980",)) == "b"
        assert predict(body, ("k9981",)) == "a"


def test_what_exceeds_the_memory_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = ", ".join(f"k{n}" for n in range(20_000))
    with pytest.raises(RulesError, match="line 1, column 8: .* limit is 10,000,000"):
        loads(f"TARGET y IN {{{labels}}} {'ALWAYS k1 ' * 1000} OTHERWISE k1")
    rule = f"IF c IN {{{labels}}} THEN 1 "
    monkeypatch.setattr(conditions, "MOST_NAMED", 50_000)
    with pytest.raises(RulesError, match=r"line 1, .* more than 50,000 categories"):
        loads(f"TARGET y NUMERIC FEATURE c IN {{{labels}}} {rule * 3} OTHERWISE 1")
    with pytest.raises(RulesError, match="limit is 33,554,432: divide them"):
        loads(" " * 33_554_433)


def test_suggestions_for_many_names_take_no_time() -> None:
    features = " ".join(f"FEATURE name_{n} NUMERIC" for n in range(10_000))
    with pytest.raises(RulesError, match="did you mean name_77"):
        loads(f"TARGET y IN {{a}} {features} IF nme_77 > 3 THEN a OTHERWISE a")


def test_weights_that_would_overflow_are_not_added() -> None:
    rules = (
        "IF humidity <= 1 THEN no [no: 1; reached: 6e249]"
        " IF 1 < humidity <= 2 THEN no [no: 1; reached: 6e249]"
        " OTHERWISE yes"
    )
    program = simplify(loads(HEAD + rules))
    assert read_model(dumps(program)) == program


# ---------------------------------------------------------------- documents

DOCUMENT = """\
# Title

```mermaid
flowchart TD
```

~~~~text
```rules
IF this is not it
```
~~~~

```rules
TARGET play IN {no, yes}
FEATURE x NUMERIC
IF x > 3 THEN no
OTHERWISE yes
```

After it.
"""


def test_the_block_of_a_document() -> None:
    body = loads(DOCUMENT, is_markdown=True).body
    assert predict(body, (4.0,)) == "no"
    kept = block(DOCUMENT).split("\n")
    assert len(kept) == len(DOCUMENT.split("\n"))
    assert kept[12:14] == ["", "TARGET play IN {no, yes}"]


def test_places_are_those_of_the_document() -> None:
    with pytest.raises(RulesError, match="^line 16, column 4: there is no feature y"):
        loads(DOCUMENT.replace("IF x", "IF y"), is_markdown=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no block", "line 1, column 1: the document has no block"),
        ("```rules\nTARGET", "line 1, column 1: the block of rules has no end"),
        ("```rules\n```\n\n```rules\n```", "line 4, column 1: a second block"),
        ("- a\n\n  - ```rules\n", "line 3, column 1: .* nothing else in a line"),
        ("1. a\n\n\t```rules\n", "line 3, column 1: .* nothing else in a line"),
        ("> ```rules\n> x\n> ```", "line 1, column 1: .* outside lists"),
        ("```\nopen\n\n```rules\nx\n```", "line 4, column 1: .* other blocks"),
        ("```Rules of today\n```", "line 1, column 1: .* nothing else"),
        ("`" * 100_000, "line 1, column 1: the document has no block"),
    ],
)
def test_documents_need_one_block(text: str, said: str) -> None:
    with pytest.raises(RulesError, match=said):
        loads(text, is_markdown=True)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_marks_of_other_systems(tmp_path: Path, end: str) -> None:
    path = tmp_path / "RULES.MD"
    commented = DOCUMENT.replace("NUMERIC", "NUMERIC  # a comment")
    path.write_bytes(b"\xef\xbb\xbf" + commented.replace("\n", end).encode())
    body = read_rules(path).body
    assert predict(body, (3.0,)) == "yes"
    path.write_bytes(commented.replace("IF x", "IF y").replace("\n", end).encode())
    with pytest.raises(RulesError, match="line 16, column 4: there is no feature y"):
        read_rules(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="cannot read"):
        read_rules(tmp_path / "absent.rules")
    path = tmp_path / "latin.rules"
    path.write_bytes("größe".encode("latin-1"))
    with pytest.raises(RulesError, match="not UTF-8"):
        read_rules(path)


# ---------------------------------------------------------------- names


def test_the_printer_knows_the_words_of_the_grammar() -> None:
    path = ROOT / "treecompile" / "rules" / "language" / "grammar.lark"
    grammar = Lark(path.read_text(encoding="utf-8"), parser="lalr", lexer="basic")
    patterns = {t.name: t.pattern.value for t in grammar.terminals}
    found = {text for text in patterns.values() if text.isalpha()}
    assert found == KEYWORDS
    assert patterns["NAME"].replace(r"\/", "/") == f"(?u:{BARE.pattern})"


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("İF")
@example("ıf")
@example("\N{KELVIN SIGN}nown")
@example("iſ")
@example("\0")
def test_any_text_can_be_a_name(text: str) -> None:
    shown = word(text)
    assert shown.isprintable()
    made = loads(f"TARGET {shown} IN {{{shown}}} OTHERWISE {shown}")
    assert (made.target, made.body.labels) == (text, (text,))


def test_the_example_in_the_docs_is_the_tennis_model() -> None:
    docs = (ROOT / "docs" / "rule-language.md").read_text(encoding="utf-8")
    shown = docs.split("```rules\n")[1].split("```")[0]
    made = (ROOT / "examples/tennis/out/RULES.md").read_text(encoding="utf-8")
    assert shown == made.split("```rules\n")[1].split("```")[0]
    assert loads(docs, is_markdown=True) == loads(made, is_markdown=True)
