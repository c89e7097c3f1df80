"""L3: the check of a table file that somebody wrote, its examples judged as the policy `ask` would judge them.

Invariant: a file of any size and content is answered with faults, never with an exception.
"""

from pathlib import Path

from tui_agent.policy.catalog.catalog import Catalog
from tui_agent.policy.catalog.check import Problem, check_table
from tui_agent.policy.catalog.model import Decision
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.toml_text import MAX_CHARACTERS
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs


def check_table_path(path: Path) -> list[Problem]:
    """Return the faults of a table file, each with its line; none if it is valid."""
    if path.exists() and not path.is_file():
        return [Problem(str(path), "it cannot be read: it is no file")]
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        return [Problem(str(path), f"it cannot be read: {error}")]
    return check_table(text, str(path), _judge)


def _judge(line: str, catalog: Catalog) -> tuple[Decision, str]:
    facts = PolicyFacts("/workspace", "ask")
    decision = RulePolicy(catalog=catalog).decide("run_command", (Runs(script=line),), facts)
    return decision.verdict, decision.reason
