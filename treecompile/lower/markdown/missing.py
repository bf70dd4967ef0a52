"""What the rules do with missing and unseen values."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.ir import Kind, RuleSet
from treecompile.lower.markdown.text import shown_name

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


def missing(rules: RuleSet, na_values: Sequence[str], fractional: bool) -> list[str]:
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
