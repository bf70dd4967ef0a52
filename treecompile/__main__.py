"""`python -m treecompile` is `treecompile`."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command. Ctrl-C while it loads ends it like Ctrl-C later."""
    try:
        from treecompile.cli import main

        main(prog_name="treecompile")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        exec("")  # see `cli.CommandGroup`
        sys.exit(130)


if __name__ == "__main__":
    run()
