"""The objects that every start of the program needs: configuration, keys, clock and session store.

Invariant: this module reads only configuration files and the log of a chosen session, writes no file and imports
nothing slow.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.settings.layers import load_config, merge_environment
from tui_agent.config.settings.settings import Config
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.ports.clock import Clock, Ids
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.protocol.ids import is_session_id
from tui_agent.protocol.unicode_text import list_first
from tui_agent.session.clock import RandomIds, SystemClock
from tui_agent.session.fault_redaction import redaction_options
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.user_rules import configured_redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import summarise_session

MAX_NAMED_FILES = 4
"""Maximum number of untrusted files in an error message."""


@dataclass(frozen=True, slots=True)
class StartupContext:
    """Configuration, keys, clock and session store for one start of the program."""

    options: SessionOptions
    config: Config
    keys: Keys
    clock: Clock
    ids: Ids
    store: SessionStore
    redaction: RedactionOptions
    redactor: Redactor
    load_config: Callable[[], Config]
    """Function that reads the configuration again."""


def load_startup_context(
    options: SessionOptions,
    environ: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> StartupContext:
    """Read the configuration and build the objects that all sessions need.

    If the options select a session, the project configuration is read from this session's workspace.

    If `environ` is None, use the process's variables and working folder. Raise `ConfigError` if the configuration
    is not valid.
    """
    base = _load(options, environ, clock, ids)
    workspace = _session_workspace(base)
    if workspace in (None, options.cwd.resolve()):
        return base
    there = _load(replace(options, cwd=workspace), environ, base.clock, base.ids)
    # A trusted `.env` can set the data folder. The session is in the first one.
    return there if there.store.root == base.store.root else base


def _load(
    options: SessionOptions, environ: Mapping[str, str] | None, clock: Clock | None, ids: Ids | None
) -> StartupContext:
    cwd = Path.cwd() if environ is None else options.cwd
    environ_or_default = os.environ if environ is None else environ
    variables = merge_environment(options, environ_or_default, here=cwd)
    load = partial(load_config, options, environ_or_default, here=cwd)
    config = load()
    keys = Keys({**variables, **dict(options.typed_keys)}, config.paths.secrets)
    clock = clock or SystemClock()
    redaction = redaction_options(options, config, keys)
    redactor = configured_redactor(redaction, may_hold_secrets)
    store = SessionStore(config.data_dir / "sessions", clock, redactor)
    return StartupContext(options, config, keys, clock, ids or RandomIds(), store, redaction, redactor, load)


def _session_workspace(base: StartupContext) -> Path | None:
    """Return the workspace of the session in the options. None if there is no such session or workspace."""
    session = base.options.session
    if session == "latest":
        session = base.store.latest_session_id(None)
    if session is None or not is_session_id(session):
        return None
    summary = summarise_session(base.store.folder(session))
    workspace = Path(summary.workspace) if summary is not None and summary.workspace else None
    return workspace if workspace is not None and workspace.is_dir() else None


def require_trust_decision(base: StartupContext) -> None:
    """Raise `ConfigError` if a project has files that are neither trusted nor ignored."""
    # Used for runs without a user, so that they do not silently ignore a project's files.
    undecided = [
        str(project.folder / file.name)
        for project in base.config.undecided_projects
        for file in project.files
    ]
    if not undecided:
        return
    raise ConfigError(
        "This folder has files that change how tui-agent works, and you have not trusted them yet: "
        f"{list_first(undecided, MAX_NAMED_FILES)}.",
        hint="Use --ignore-project to run without them, --trust-project to use them for this run, "
        "or `tui-agent trust` to see them and decide.",
    )
