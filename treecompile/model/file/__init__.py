"""Program <-> JSON: versioned, canonical, and validated.

A model file is untrusted input. Reading one either gives a program that satisfies every
invariant of the IR, or raises ModelFileError with the place of the first fault. Nothing
in it is executed.
"""

from treecompile.model.file.read import (
    loads,
    loads_any,
    read_any_program,
    read_program,
)
from treecompile.model.file.write import dumps, sha256

__all__ = [
    "dumps",
    "loads",
    "loads_any",
    "read_any_program",
    "read_program",
    "sha256",
]
