"""What a start knows before any session: configuration, keys, time, and where sessions lie.

Invariant: reads configuration only; creates nothing, opens nothing, imports nothing slow.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config.layers import environment, load
from tui_agent.config.options import SessionOptions
from tui_agent.config.secrets import Keys
from tui_agent.config.settings import Config
from tui_agent.errors import ConfigError
from tui_agent.ports.clock import Clock, Ids
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.session.clock import RandomIds, SystemClock
from tui_agent.session.fault_redaction import redaction_options
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.user_rules import configured_redactor
from tui_agent.store.sessions import SessionStore

NAMED = 4
"""Files that are named where it is refused to go on without them."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground that sessions are opened on."""

    options: SessionOptions
    config: Config
    keys: Keys
    clock: Clock
    ids: Ids
    store: SessionStore
    redaction: RedactionOptions
    redactor: Redactor


def ground(
    options: SessionOptions,
    environ: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Ground:
    """Read the configuration. Raises `ConfigError`."""
    here = Path.cwd() if environ is None else options.cwd
    given = os.environ if environ is None else environ
    variables = environment(options, given, here=here)
    config = load(options, given, here=here)
    keys = Keys({**variables, **dict(options.keys)}, config.paths.secrets)
    clock = clock or SystemClock()
    redaction = redaction_options(options, config, keys)
    redactor = configured_redactor(redaction)
    store = SessionStore(config.data_dir / "sessions", clock, redactor)
    return Ground(options, config, keys, clock, ids or RandomIds(), store, redaction, redactor)


def require_decision(base: Ground) -> None:
    """Where nobody can be asked, nothing begins that would silently go without a project's files. Raises `ConfigError`."""
    left = [one.folder / file.name for one in base.config.undecided for file in one.files]
    if not left:
        return
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    raise ConfigError(
        "This folder has files that could steer the program, and nobody trusted them as they are: "
        f"{', '.join(map(str, left[:NAMED]))}{more}.",
        hint="--ignore-project goes on without them, --trust-project uses them for this run; "
        "tui-agent trust shows them and decides for good.",
    )
