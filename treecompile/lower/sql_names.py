"""Names in SQL: quoted whatever is in them, or refused where a database has no such."""

from __future__ import annotations

import re
from collections.abc import Mapping

from treecompile.errors import OptionError, TargetError
from treecompile.ir import Body
from treecompile.literals import is_unicode
from treecompile.semantics import required_features
from treecompile.targets import Dialect

RENAME = "give it another with --column NAME=NEW_NAME"


class Quoting:
    """Quotes names, whatever is in them."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def name(self, text: str) -> str:
        names = self.dialect.names
        if not text and not names.empty:
            raise TargetError(
                f"{self.dialect.name} has no empty column names:"
                " give the column another with --column =NEW_NAME"
            )
        if "\0" in text or not is_unicode(text):
            raise TargetError(
                f"{self.dialect.name} cannot hold the name {text!r}:"
                " give the column another with --column NAME=NEW_NAME"
            )
        size = len(text.encode() if names.counted_in == "bytes" else text)
        if 0 < names.longest < size:
            raise TargetError(
                f"{self.dialect.name} has names of {names.longest} {names.counted_in}"
                f" at most and cannot hold {text!r}: {RENAME}"
            )
        if names.barred and (found := re.search(names.barred, text)):
            raise TargetError(
                f"{self.dialect.name} cannot hold the name {text!r}, because of"
                f" {found[0]!r}: {RENAME}"
            )
        if names.backslash:
            text = text.replace("\\", "\\\\")
        opening, closing = names.quote[0], names.quote[-1]
        return f"{opening}{text.replace(closing, closing * 2)}{closing}"

    def path(self, option: str, text: str) -> str:
        """A table, perhaps with its schema: dots separate, unless within quotes."""
        part = r'"(?:[^"]|"")+"|[^."]+'
        if not re.fullmatch(rf"(?:{part})(?:\.(?:{part}))*", text):
            raise OptionError(
                f"{option} {text!r}: expected NAME or SCHEMA.NAME, names with dots or"
                ' quotes as "NAME"'
            )
        names = re.findall(part, text)
        return ".".join(
            self.name(name[1:-1].replace('""', '"') if name[0] == '"' else name)
            for name in names
        )


def column_names(
    body: Body, dialect: Dialect, renamed: Mapping[str, str]
) -> dict[int, str]:
    """The quoted column of each required feature."""
    known = {feature.name for feature in body.features}
    for name in renamed:
        if name not in known:
            raise OptionError(f"--column {name!r}: the model has no such feature")
    actual = [renamed.get(feature.name, feature.name) for feature in body.features]
    required = required_features(body)
    if dialect.names.fold_case:
        for position in required:
            twins = [n for n in actual if n.casefold() == actual[position].casefold()]
            if len(twins) > 1:
                raise TargetError(
                    f"{dialect.name} takes {twins[0]!r} and {twins[1]!r} for one name,"
                    " so a table has only one: rename one with --column NAME=NEW_NAME"
                )
    quoting = Quoting(dialect)
    return {position: quoting.name(actual[position]) for position in required}
