"""`python -m treecompile` is `treecompile`."""

from __future__ import annotations

import sys


def run() -> None:
    """The command; an interrupt of its loading is told as any later one is."""
    try:
        from treecompile.cli import main

        main(prog_name="treecompile")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        exec("")  # see `cli.CommandGroup`
        sys.exit(130)


if __name__ == "__main__":
    run()
