"""Program <-> JSON: versioned, canonical, and validated before it is believed.

A model file is untrusted input. Reading one either gives a program that satisfies every
invariant of the IR or raises ModelFileError with the place of the first fault; nothing
in it is ever executed. The format is published as `docs/model.schema.json`.
"""

from treecompile.model_file.read import loads, read_program
from treecompile.model_file.write import dumps, sha256

__all__ = ["dumps", "loads", "read_program", "sha256"]
