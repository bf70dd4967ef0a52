"""IR -> finished strings, one module for each kind of target.

A lowering decides everything: names, quoting, order, line breaks. What it returns is
the context of a template, and the template only loops over it and places it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treecompile.glossary import Glossary
from treecompile.ir import Program
from treecompile.targets import Target


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What a user can ask of an artefact."""

    style: str = "standard"  # python: standard (one row) or numpy (whole columns)
    dialect: str = "sqlite"  # sql: the database
    form: str = "expression"  # sql: a key of sql_forms.FORMS
    table: str = ""  # sql: the table that a query reads
    name: str = ""  # sql: the name of the view, the function or the dbt model
    output: str = "label"  # sql: label, probability or rule, or several with commas
    label: str = ""  # sql: whose probability; "" is the predicted label's
    columns: Mapping[str, str] = field(default_factory=dict)  # sql: feature -> column
    alias: str = ""  # sql: what the table is called in the query around it
    comments: bool = True  # sql: whether there are any
    templates: str = ""  # a folder whose templates replace those built in
    glossary: Glossary = field(default_factory=dict)  # markdown: what columns mean


@dataclass(frozen=True, slots=True)
class Source:
    """What a lowering starts from: the program, the identity it stamps on, and where
    it goes."""

    program: Program
    sha256: str
    version: str  # of the tool
    target: Target


Context = dict[str, object]
Lowering = Callable[[Source, EmitOptions], Context]
