"""The rule language: what rules mean, and what the errors say."""

from __future__ import annotations

from math import inf, nextafter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
from treecompile.model.words import KEYWORDS, word
from treecompile.rules.language import conditions
from treecompile.rules.language.document import block, loads
from treecompile.rules.language.document import read_model as read_rules
from treecompile.rules.language.printer import print_rules
from treecompile.rules.pruning import simplify

HEAD = """\
predict play: no, yes
from outlook: cloudy, rainy, sunny
from humidity: number
from size: S < M < L
from code: 1, 2
from windy: false, true
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
        ("humidity is missing", HUMIDITY, [None], [0.0]),
        ("humidity is not missing", HUMIDITY, [0.0, inf], [None]),
        ("humidity is known", HUMIDITY, [0.0], [None]),
        ("outlook = sunny", OUTLOOK, ["sunny"], ["rainy", "hail", None]),
        ("outlook == sunny", OUTLOOK, ["sunny"], ["Sunny"]),
        ('outlook = "sunny" (or missing)', OUTLOOK, ["sunny", None], ["hail"]),
        ("outlook = sunny (or any other)", OUTLOOK, ["sunny", "hail"], ["rainy", None]),
        (
            "outlook in {sunny, rainy} (or any other, or missing)",
            OUTLOOK,
            ["sunny", "rainy", "hail", None],
            ["cloudy"],
        ),
        ("outlook != sunny", OUTLOOK, ["rainy", "hail"], ["sunny", None]),
        ("outlook not in {sunny, rainy}", OUTLOOK, ["cloudy", "hail"], ["rainy", None]),
        ("outlook is known", OUTLOOK, ["cloudy", "hail"], [None]),
        ("size <= M", SIZE, ["S", "M"], ["L", "XL", None]),
        ("size > S (or any other, or missing)", SIZE, ["M", "XL", None], ["S"]),
        ("size > S (or missing)", SIZE, ["M", "XL", None], ["S"]),
        ("size < M", SIZE, ["S"], ["M", None]),
        ("size >= M", SIZE, ["M", "L"], ["S", "XL", None]),
        ("size >= S", SIZE, ["S", "M", "L"], ["XL", None]),
        ("size = M", SIZE, ["M"], ["S", "L", "XL", None]),
        ("size = S", SIZE, ["S"], ["M", None]),
        ("S < size <= L", SIZE, ["M", "L"], ["S"]),
        ("size is missing", SIZE, [None, "XL"], ["S", "L"]),
        ("code = 1", CODE, [1], [2, 7, None]),
        ("windy != true", WINDY, [False], [True, None]),
    ],
)
def test_tests(test: str, where: int, meets: list[Value], fails: list[Value]) -> None:
    rules = rules_of(f"if {test} then yes otherwise no")
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
        predict "the answer": number
        from code: integer
        from flag: true
        missing: "?", NA
        R2: if flag = true
            and code is known  # another
            then 2.50
        always -1e3
        D: otherwise 0
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
        ("no, yes", ("no", "yes")),
        ('"1", "true"', ("1", "true")),
        ("0, 1", (0, 1)),
        ("0.5, 1", (0.5, 1.0)),
        ("true, false", (True, False)),
    ],
)
def test_the_form_of_labels_tells_their_type(
    labels: str, expected: tuple[object, ...]
) -> None:
    first = labels.split(",")[0]
    body = loads(f"predict y: {labels} otherwise {first}").body
    assert body.labels == expected
    assert [type(a) for a in body.labels] == [type(a) for a in expected]


def test_new_rules_get_the_next_free_id() -> None:
    text = "if humidity > 1 then no R7: always yes always no otherwise no"
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
predict play: no, yes
from x: number
from size: S < M < L

R1: if x > 75 and size <= M (or any other, or missing)
    then no   [3 no, 1.5 yes]
R2: if x <= 3
    then yes  [2 of 2; reached by 0]
otherwise no   [1 of 2: 1 yes]
"""


def test_printed() -> None:
    assert print_rules(COUNTED) == TEXT


def test_counts_are_the_authors_word() -> None:
    rules = rules_of("if humidity > 3 then no [4 of 5: 1 yes] otherwise yes")
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
    assert f"R1: if {test}\n" in text
    assert f"R2: if {test.replace('<=', '>').replace('<', '>=')} (or missing)\n" in text
    body = loads(text).body
    for number in (value, nextafter(value, inf), nextafter(value, -inf)):
        assert predict(body, (number,)) == predict(stump(value).body, (number,))


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("R1: if outlok = sunny then no", "7, column 8", "did you mean outlook?"),
        ("if outlook = suny then no", "7, column 14", "did you mean sunny?"),
        ("if outlook = Sunny then no", "7, column 14", "did you mean sunny?"),
        ("if size = huge then no", "7, column 11", "there are S, M, L"),
        ("if outlook = sunny then maybe", "7, column 25", "there are no, yes"),
        ("if outlook = sunny then 1", "7, column 25", "expected text, found 1"),
        ("if code = one then no", "7, column 11", "expected a whole number"),
        ("if windy = 1 then no", "7, column 12", "expected true or false"),
        ("if humidity > high then no", "7, column 15", "expected a number"),
        ("if humidity > 1e999 then no", "7, column 15", "too large"),
        ("if outlook = sunny and then no", "7, column 24", "expected a value"),
        ("if outlook = sunny no", "7, column 20", "expected then or and"),
        ("if outlook = very sunny then no", "7, column 14", '"very sunny"'),
        ("if outlook = other then no", "7, column 14", 'in quotes: "other"'),
        ("if outlook = 'sunny' then no", "7, column 14", "double quotes"),
        ('if outlook = "sunny then no', "7, column 14", "end on the line"),
        ('if outlook = "\\q" then no', "7, column 14", "not a valid JSON string"),
        ("if humidity > 3,5 then no", "7, column 16", "decimals with a point"),
        ("if humidity > 3x then no", "7, column 15", '"3x"'),
        ("if outlook = 30-39 then no", "7, column 14", 'in quotes: "30-39"'),
        ("if outlook in {30-39} then no", "7, column 16", 'in quotes: "30-39"'),
        ("if humidity > 3 or humidity < 1 then no", "7, column 17", "two rules"),
        ("if humidity > 3 && windy = true then no", "7, column 17", "tests with and"),
        ("if 3 < humidity > 5 then no", "7, column 17", "3 < x <= 5"),
        ("if humidity in {3} then no", "7, column 4", "3 < humidity <= 5"),
        ("if humidity != 3 then no", "7, column 16", "the values below"),
        ("if humidity = 3 (or any other) then no", "7, column 4", "has an order"),
        ("if size <= M (or any other) then no", "7, column 4", "or missing)"),
        ("if size < S then no", "7, column 11", "lowest value"),
        ("if outlook > sunny then no", "7, column 12", "has no order"),
        ("if outlook in {} then no", "7, column 16", "expected a value"),
        ("if outlook != rainy (or any other) then no", "7, column 4", "already"),
        (
            "if humidity > 75\n and humidity <= 70 then no",
            "8, column 6",
            "could never hold",
        ),
        ("if outlook = rainy and outlook = sunny then no", "7, column 24", "never"),
        ("R1: always no R1: always no", "7, column 15", "already used in line 7"),
        ("default: always no", "7, column 1", "other than default"),
        ('"R 1": always no', "7, column 1", "ASCII letters and digits"),
        ("R1 if humidity > 3 then no", "7, column 1", "as in R1: if"),
        ("IF humidity > 3 then no", "7, column 1", "in lower case: if"),
        ("if humidity > 3 THEN no", "7, column 17", "in lower case: then"),
        ("from humidity: number", "7, column 6", "declared twice"),
        ("from z: a, b, a", "7, column 15", "declared twice"),
        ("from z: a, 1", "7, column 12", "must be of one type"),
        ("from z: 1.5", "7, column 9", "declare the column as a number"),
        ("from z: a b", "7, column 11", "commas between them"),
        ("from z: (a)", "7, column 9", "expected a value"),
        ("predict other", "7, column 1", "a second predict"),
        ("always no [3 maybe]", "7, column 14", "there is no label maybe"),
        ("always no [0 no]", "7, column 12", "more than 0"),
        ("always no [0 of 0]", "7, column 12", "more than 0"),
        ("always no [-1 no]", "7, column 12", "expected 0, or"),
        ("always no [1 no, 1 no]", "7, column 20", "counted twice"),
        ('always no [1 no, 1 "no"]', "7, column 20", "counted twice"),
        ("always no [1 of 2: 1 no]", "7, column 22", "counted twice"),
        ("always no [3 of 5]", "7, column 12", "add up to 3, not to 5"),
        ("always no [1 of 1; seen by 1]", "7, column 20", "expected reached"),
        ("always no [6e249 no, 6e249 yes]", "7, column 12", "more than 1e+250"),
        ("always no [1e999 no]", "7, column 12", "too large"),
        ("always no [few]", "7, column 12", "expected a number"),
        (f"if humidity > {'1' * 10_000} then no", "7, column 15", "too large"),
        (f"from z: {'1' * 10_000}", "7, column 9", "too large"),
        ('from z: "{{ x }}", "{{ x }}"', "7, column 20", '"{{ x }}" is decl'),
        ('from "{}": number from "{}": number', "7, column 24", "leave one out"),
        ('from "\\ud800": number', "7, column 6", "not Unicode text"),
        ('from z: "\ud800"', "7, column 9", "not Unicode text"),
        ('from "\\u12": number', "7, column 6", "not a valid JSON string"),
        ('from "\\q": number', "7, column 6", "write a backslash as \\\\"),
        ("from \ufeff z: number", "7, column 6", "invisible character: delete"),
        ("ıf humidity > 3 then no", "7, column 1", "found ıf"),
        ("if humidity iſ missing then no", "7, column 13", "expected"),
        ("if humidity is \N{KELVIN SIGN}nown then no", "7, column 16", "expected"),
        ("if humidity > ٣ then no", "7, column 15", "expected a number"),
        ("R²: always no", "7, column 1", "ASCII letters and digits"),
    ],
)
def test_mistakes_are_reported_with_their_place(
    text: str, place: str, said: str
) -> None:
    message = mistake(f"{text}\notherwise no\n")
    assert message.startswith(f"line {place}: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: expected a line such as predict play: no, yes"),
        ("otherwise no", "line 1, column 1: expected a line such as predict"),
        ("predict y: otherwise no", "line 1, column 12: expected a value"),
        ("predict y: a", "line 1, column 13: expected a rule"),
        ("predict y: number otherwise 1 [3]", "expected cases or case, found ]"),
        ("predict y: number otherwise 1 [3 of 3]", "expected cases or case, found of"),
        ("predict y: number always 1 [1 case, sse -1]", "expected a number from 0"),
        ("predict y: a otherwise a always a", "move it to the end"),
        ("predict y: a else a", "begins with otherwise"),
        (
            "TARGET y IN {a} OTHERWISE a",
            "line 1, column 1: expected a line such as predict",
        ),
    ],
)
def test_what_is_not_a_text_of_rules(text: str, said: str) -> None:
    with pytest.raises(RulesError, match=said):
        loads(text)


def test_no_message_is_huge() -> None:
    name = "x" * 1_000_000
    known = f"predict y: a from {name}: number"
    for text in (
        f"{known} if {name}z > 3 then a otherwise a",
        f"{known} from {name}: number otherwise a",
        f"{known} {name} {name}",
        f'{known} "{name}',
    ):
        with pytest.raises(RulesError, match=r"^line 1, column \d+: ") as caught:
            loads(text)
        assert len(str(caught.value)) < 2000


# ---------------------------------------------------------------- without otherwise


@pytest.mark.parametrize(
    "rules",
    [
        "always no",
        "if humidity > 5 (or missing) then no if humidity <= 5 then yes",
        "if windy = true then no if windy = false (or missing) then yes",
        "if size <= S then no if size > S (or missing) then yes",
        # Overlapping rules cover every case, too.
        "if humidity > 5 (or missing) then no if humidity < 7 then yes",
        "if outlook = sunny then no if humidity > 1 then yes always no",
    ],
)
def test_rules_that_cover_every_case_need_no_otherwise(rules: str) -> None:
    body = rules_of(rules)
    assert len(body.rules) == rules.count("then") + rules.count("always")
    assert not body.default.weight


@pytest.mark.parametrize(
    ("rules", "example"),
    [
        ("if humidity > 5 then no if humidity <= 5 then yes", '{"humidity": null}'),
        ("if windy = true then no if windy = false then yes", '{"windy": null}'),
        ("if outlook = sunny (or missing) then no", '{"outlook": "cloudy"}'),
        ("if code in {1, 2} (or missing) then no", '{"code": 0}'),
        ("if size <= M (or missing) then no", '{"size": "L"}'),
        # Counted twice here, left out there: as many cases as there are.
        (
            "if humidity <= 5 then no if humidity <= 5 (or missing) then no",
            '{"humidity": 6.0}',
        ),
    ],
)
def test_a_case_that_no_rule_takes_is_shown(rules: str, example: str) -> None:
    message = mistake(rules)
    assert f"no rule holds for a case such as {example}: " in message
    assert message.endswith("as in otherwise no")


# ---------------------------------------------------------------- size


def test_many_tests_in_one_rule() -> None:
    bounds = " and ".join(f"x > {n}" for n in range(5_000))
    barred = " and ".join(f"c != {n}" for n in range(1, 5_000))
    known = ", ".join(map(str, range(5_000)))
    text = f"predict y: a, b from x: number from c: {known}"
    body = loads(f"{text} if {bounds} and {barred} then a otherwise b").body
    assert predict(body, (4999.5, 0)) == "a"
    assert predict(body, (4999.5, 1)) == "b"
    assert predict(body, (4998.5, 0)) == "b"


@pytest.mark.parametrize("sign", [", ", " < "])
def test_many_categories(sign: str) -> None:
    known = sign.join(f"k{n}" for n in range(10_000))
    rules = "\n".join(f"if c = k{n} then b" for n in range(0, 10_000, 20))
    program = loads(f"predict y: a, b from c: {known}\n{rules} otherwise a")
    for body in (program.body, loads(print_rules(program)).body):
        assert predict(body, ("k9980",)) == "b"
        assert predict(body, ("k9981",)) == "a"


def test_a_large_tree_is_read_without_otherwise() -> None:
    rules = [
        f"if {n} < x <= {n + 1} then {'ab'[n % 2]} [1 of 1]" for n in range(20_000)
    ]
    text = "predict y: a, b from x: number if x <= 0 (or missing) then a\n"
    body = loads(f"{text}{' '.join(rules)} if x > 20000 then b").body
    assert predict(body, (19_999.5,)) == "b"


def test_what_exceeds_the_memory_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = ", ".join(f"k{n}" for n in range(20_000))
    with pytest.raises(RulesError, match="line 1, .* the limit is 10,000,000"):
        loads(f"predict y: {labels} {'always k1 ' * 1000} otherwise k1")
    rule = f"if c in {{{labels}}} then 1 "
    monkeypatch.setattr(conditions, "MOST_NAMED", 50_000)
    with pytest.raises(RulesError, match=r"line 1, .* more than 50,000 categories"):
        loads(f"predict y: number from c: {labels} {rule * 3} otherwise 1")
    with pytest.raises(RulesError, match="limit is 33,554,432: divide them"):
        loads(" " * 33_554_433)


def test_suggestions_for_many_names_take_no_time() -> None:
    columns = " ".join(f"from name_{n}: number" for n in range(10_000))
    with pytest.raises(RulesError, match="did you mean name_77"):
        loads(f"predict y: a {columns} if nme_77 > 3 then a otherwise a")


def test_weights_that_would_overflow_are_not_added() -> None:
    rules = (
        "if humidity <= 1 then no [1 of 1; reached by 6e249]"
        " if 1 < humidity <= 2 then no [1 of 1; reached by 6e249]"
        " otherwise yes"
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
if this is not it
```
~~~~

```rules
predict play: no, yes
from x: number
if x > 3 then no
otherwise yes
```

After it.
"""


def test_the_block_of_a_document() -> None:
    body = loads(DOCUMENT, is_markdown=True).body
    assert predict(body, (4.0,)) == "no"
    kept = block(DOCUMENT).split("\n")
    assert len(kept) == len(DOCUMENT.split("\n"))
    assert kept[12:14] == ["", "predict play: no, yes"]


def test_places_are_those_of_the_document() -> None:
    with pytest.raises(RulesError, match="^line 16, column 4: there is no column y"):
        loads(DOCUMENT.replace("if x", "if y"), is_markdown=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no block", "line 1, column 1: the document has no block"),
        ("```rules\npredict", "line 1, column 1: the block of rules has no end"),
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
    commented = DOCUMENT.replace("number", "number  # a comment")
    path.write_bytes(b"\xef\xbb\xbf" + commented.replace("\n", end).encode())
    body = read_rules(path).body
    assert predict(body, (3.0,)) == "yes"
    path.write_bytes(commented.replace("if x", "if y").replace("\n", end).encode())
    with pytest.raises(RulesError, match="line 16, column 4: there is no column y"):
        read_rules(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="cannot read"):
        read_rules(tmp_path / "absent.rules")
    path = tmp_path / "latin.rules"
    path.write_bytes("größe".encode("latin-1"))
    with pytest.raises(RulesError, match="not UTF-8"):
        read_rules(path)


# ---------------------------------------------------------------- names


@given(st.sampled_from(sorted(KEYWORDS)))
def test_keywords_are_quoted(text: str) -> None:
    assert word(text) == f'"{text}"'


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("İF")
@example("ıf")
@example("\N{KELVIN SIGN}nown")
@example("iſ")
@example("\0")
def test_any_text_can_be_a_name(text: str) -> None:
    shown = word(text)
    assert shown.isprintable()
    made = loads(f"predict {shown}: {shown} always {shown}")
    assert (made.target, made.body.labels) == (text, (text,))


def test_the_example_in_the_docs_is_the_tennis_model() -> None:
    docs = (ROOT / "docs" / "rule-language.md").read_text(encoding="utf-8")
    shown = docs.split("```rules\n")[1].split("```")[0]
    made = (ROOT / "examples/tennis/out/RULES.md").read_text(encoding="utf-8")
    assert shown == made.split("```rules\n")[1].split("```")[0]
    assert loads(docs, is_markdown=True) == loads(made, is_markdown=True)
