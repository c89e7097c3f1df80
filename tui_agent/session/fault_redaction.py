"""The secrets that a process knows, and faults told beside the log without them.

Invariant: where the configuration cannot be read, what the environment itself says is a secret is still left out, and
what looks like one.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui_agent.config.layers import environment, load
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import find
from tui_agent.config.secrets import Keys
from tui_agent.config.settings import Config
from tui_agent.errors import TuiAgentError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.user_rules import configured_redactor


def redaction_options(options: SessionOptions, config: Config, keys: Keys) -> RedactionOptions:
    """Return what one start of the program redacts with: its keys, and the user's table."""
    named = {profile.api_key_env for profile in config.models.values()} | dict(options.keys).keys()
    table, place = config.redaction, str(config.paths.user_config)
    return RedactionOptions(keys.secrets(named), table.rules, table.allow, table.disable, place)


def known_redaction(environ: Mapping[str, str], cwd: Path) -> RedactionOptions:
    """Return what a process in this folder redacts with. Raises `TuiAgentError` where the configuration cannot be read."""
    options = SessionOptions(cwd=cwd)
    config = load(options, environ)
    return redaction_options(options, config, Keys(environment(options, environ), config.paths.secrets))


def _known_keys(environ: Mapping[str, str], cwd: Path) -> RedactionOptions:
    """Return the secrets of the environment, a trusted `.env` and the user's own store alone."""
    variables = environment(SessionOptions(cwd=cwd), environ)
    return RedactionOptions(Keys(variables, find(cwd, environ).secrets).secrets())


def fault_redactor(environ: Mapping[str, str], cwd: Path) -> Redactor:
    """Return a redactor with all that can be read of the configuration; its faults are told by whoever needs it."""
    for read in (known_redaction, _known_keys):
        with suppress(TuiAgentError, OSError):
            return configured_redactor(read(environ, cwd))
    return Redactor(secrets=Keys(environ, cwd / "none").secrets())


def without_secrets(text: str, environ: Mapping[str, str], cwd: Path) -> str:
    """Return a text about a fault as it may be shown."""
    return fault_redactor(environ, cwd).text(text)
