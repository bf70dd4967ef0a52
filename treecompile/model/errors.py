"""Every error a user can cause, under one root.

The command line prints the message as one line and exits with 2, so a message says
what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TreecompileError(Exception):
    """The root: a fault of the input, not a bug of ours."""


class DataError(TreecompileError):
    """The data cannot be read, or cannot be used as asked."""


class OptionError(TreecompileError):
    """An option is unknown, out of range, or contradicts another."""


class ModelFileError(TreecompileError):
    """A model file is damaged, of an unknown version, or breaks an invariant."""


class TargetError(TreecompileError):
    """A target or a dialect does not exist, or cannot express this model exactly."""


class EngineError(TreecompileError):
    """An engine is not installed, or refuses to run an artefact."""


class RulesError(TreecompileError):
    """Text in the rule language does not parse, or does not fit its declarations."""


@contextmanager
def reading(
    path: str | Path, error: type[TreecompileError], option: str = ""
) -> Iterator[None]:
    """Turn the errors of reading a text file into one of ours, perhaps of an option."""
    try:
        yield
    except OSError as cause:
        raise error(f"{option}cannot read {path}: {cause.strerror}") from None
    except UnicodeDecodeError:
        raise error(f"{option}{path} is not UTF-8 text") from None
