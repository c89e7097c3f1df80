"""L5: what is told of faults beside the log, without secrets.

Invariant: where the configuration cannot be read, what the environment itself says is a secret is still left out, and
what looks like one.
"""

from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.layers import environment
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import find
from tui_agent.config.secrets import Keys
from tui_agent.errors import TuiAgentError
from tui_agent.store.redaction.redactor import Redactor


def fault_redactor(environ: Mapping[str, str], cwd: Path) -> Redactor:
    """What leaves out the secrets that a process in this place knows: of the environment, a trusted `.env`, the user's
    own store."""
    try:
        variables = environment(SessionOptions(cwd=cwd), environ)
        return Redactor(secrets=Keys(variables, find(cwd, environ).secrets).secrets())
    except (TuiAgentError, OSError):  # told by whoever needs them
        return Redactor(secrets=Keys(environ, cwd / "none").secrets())


def without_secrets(text: str, environ: Mapping[str, str], cwd: Path) -> str:
    """A text about a fault, as it may be shown."""
    return fault_redactor(environ, cwd).text(text)
