"""Redaction of errors that are reported outside the log.

Invariant: secrets are redacted even if the configuration cannot be read.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.settings.layers import load_config, merge_environment
from tui_agent.config.settings.settings import Config
from tui_agent.errors import TuiAgentError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.user_rules import configured_redactor


def redaction_options(options: SessionOptions, config: Config, keys: Keys) -> RedactionOptions:
    """Return the settings for redaction: the values of all known API keys, and the user's table `[redaction]`."""
    named = {profile.api_key_env for profile in config.models.values()} | dict(options.typed_keys).keys()
    table, config_file = config.redaction, str(config.paths.user_config)
    return RedactionOptions(
        keys.collect_redacted(named), table.rules, table.allow, table.disable, config_file
    )


def load_redaction_options(environ: Mapping[str, str], cwd: Path) -> RedactionOptions:
    """Return the redaction settings for the folder `cwd`.

    Raise `TuiAgentError` if the configuration cannot be read.
    """
    options = SessionOptions(cwd=cwd)
    config = load_config(options, environ)
    return redaction_options(options, config, Keys(merge_environment(options, environ), config.paths.secrets))


def _environment_keys(environ: Mapping[str, str], cwd: Path) -> RedactionOptions:
    """Return settings for redaction from environment variables and stored keys alone, without the configuration files."""
    variables = merge_environment(SessionOptions(cwd=cwd), environ)
    return RedactionOptions(Keys(variables, find_paths(cwd, environ).secrets).collect_redacted())


def build_fault_redactor(environ: Mapping[str, str], cwd: Path) -> Redactor:
    """Return a redactor with the settings for the folder `cwd`."""
    # Each attempt needs less than the one before: all files, then the stored keys, then the environment alone.
    for read in (load_redaction_options, _environment_keys):
        with suppress(TuiAgentError, OSError):
            return configured_redactor(read(environ, cwd))
    return Redactor(secrets=Keys(environ, cwd / "none").collect_secrets())


def redact_text(text: str, environ: Mapping[str, str], cwd: Path) -> str:
    """Return `text`, for example an error message, with secrets redacted."""
    return build_fault_redactor(environ, cwd).redact_text(text)
