"""The check of a user's TOML table of programs, including its examples.

Invariant: a file of any size and content yields faults, never an exception.
"""

from pathlib import Path

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.check import Problem, check_table
from tui_agent.policy.catalog.model import Decision
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect


def check_table_path(path: Path) -> list[Problem]:
    """Check a TOML file that describes programs. Return its faults, each with its line."""
    try:
        text = read_small(path)
    except ConfigError as error:
        return [Problem(str(path), str(error).replace(str(path), "it", 1))]
    if text is None:
        return [Problem(str(path), "there is no such file")]
    return check_table(text, str(path), _judge)


def _judge(line: str, catalog: Catalog) -> tuple[Decision, str]:
    facts = PolicyFacts("/workspace", "ask")
    decision = RulePolicy(catalog=catalog).decide("run_command", (RunEffect(script=line),), facts)
    return decision.verdict, decision.reason
