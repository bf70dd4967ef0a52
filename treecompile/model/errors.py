"""Every error a user can cause, under one root.

The command line prints the message as one line and exits with 2, so a message says
what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from treecompile.model.unicode import visible

LONGEST = 1000  # characters of a message


def shortened(message: str) -> str:
    """A message in which a huge value from the input is cut in the middle."""
    cut = len(message) - LONGEST
    if cut <= 0:
        return message
    half = LONGEST // 2
    return f"{message[:half]} [{cut:,} characters left out] {message[-half:]}"


class TreecompileError(Exception):
    """The base class: a fault of the input, not a bug in treecompile."""

    def __init__(self, message: str = "") -> None:
        super().__init__(visible(shortened(message)))


class DataError(TreecompileError):
    """The data cannot be read, or cannot be used as requested."""


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
