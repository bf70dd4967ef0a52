"""The site: `sphinx-build -W -c docs/site . build/site` writes it to build/site.

Its pages are the documents of the repository, where they are. It loads nothing from
elsewhere, and can be read, and searched, from a folder without a server.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import treecompile  # noqa: E402

project = "treecompile"
version = release = treecompile.__version__
copyright = "the treecompile authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    *("*.md", "docs/**.md", "benchmarks/*.md", "examples/**.md"),
]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # templates are not quite C or SQL

html_theme = "furo"
html_title = "treecompile"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_extra_path = ["top"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#14607c",
        "color-brand-content": "#14607c",
        "font-stack": "system-ui, Segoe UI, Roboto, Noto Sans, sans-serif",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4dd",
        "color-brand-content": "#7cc4dd",
    },
}

ENTRY = re.compile(r"(?m)^- \[(.*?)\]\((.*?)\.md\)")
MERMAID = re.compile(r"(?s)```mermaid\n.*?```")


def contents(index: str) -> str:
    """The navigation, from the links in the sections of the first page."""
    lines = []
    for section in index.split("\n## ")[1:]:
        pages = [f"{title} <{page}>" for title, page in ENTRY.findall(section)]
        lines += ["", "```{toctree}", ":hidden:"]
        lines += [f":caption: {section.splitlines()[0]}", "", *pages, "```"]
    return "\n".join(lines) + "\n"


def change(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the navigation to the first page, and pictures to documents of rules."""
    if name == root_doc:
        source[0] += contents(source[0])
    elif name.endswith("/out/RULES"):
        source[0] = "---\norphan: true\n---\n" + source[0]
        model = treecompile.load(ROOT / Path(name).parent / "model.json")
        picture = f'<div class="tree">\n{model.draw()}</div>'
        text = MERMAID.sub(lambda _: picture, source[0])
        source[0] = text.replace("From the top, follow the", "Follow the")
    elif re.fullmatch(r"examples/\w+/(README|out/MODEL)", name):
        source[0] = "---\norphan: true\n---\n" + source[0]


def setup(app: Sphinx) -> None:
    app.add_lexer("rules", TextLexer)
    app.connect("source-read", change)
