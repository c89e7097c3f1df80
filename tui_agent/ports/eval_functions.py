"""Types of plugin functions for evaluations: an oracle solves a test case, a verifier judges the resulting workspace."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.envelope import Record


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a verifier; a reward of 1.0 or more is success."""

    reward: float
    output: str = ""


Oracle: TypeAlias = Callable[[Path], Awaitable[object]]
"""Function that writes the solution of a case into a workspace."""
Verifier: TypeAlias = Callable[[Path, Sequence[Record]], Awaitable[Verdict]]
"""Function that judges a workspace and the events of its session."""
