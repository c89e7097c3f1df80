"""L3: commands that run what the workspace puts in place of, or behind, the program that they name.

Invariant: pure; the judgement and the rows of an approval ask here, so that they cannot say different things.
"""

from tui_agent.policy.programs.part import GIT, Part, started
from tui_agent.ports.policy import PolicyFacts

STEERED = "this repository's configuration names programs that git would run"


def is_steered(part: Part, facts: PolicyFacts) -> bool:
    """It is git, and runs programs that the repository names."""
    return facts.git_steered and started(part) == GIT


def is_own(part: Part, facts: PolicyFacts) -> bool:
    """A program of the workspace has the name that it calls."""
    return (part.words[0] if part.words else part.program) in facts.own_programs
