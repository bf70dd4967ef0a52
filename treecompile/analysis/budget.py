"""How much searching is left."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.errors import OptionError

STEPS = 100_000  # a step takes less than a millisecond


@dataclass(slots=True)
class Budget:
    left: int = STEPS

    def __post_init__(self) -> None:
        if self.left < 1:
            raise OptionError(f"--budget {self.left}: expected 1 or more")

    def spend(self, steps: int = 1) -> bool:
        """Take the steps, if there are that many."""
        if steps > self.left:
            self.left = 0
            return False
        self.left -= steps
        return True
