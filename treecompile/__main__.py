"""`python -m treecompile` is `treecompile`."""

from treecompile.cli import main

main(prog_name="treecompile")
