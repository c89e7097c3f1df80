"""L7: the parts of a start that commands need which only read: configuration and the store, without an engine."""

import os

from tui_agent.config.layers import environment, load
from tui_agent.config.options import SessionOptions
from tui_agent.config.settings import Config
from tui_agent.session.clock import SystemClock
from tui_agent.store.redact import Redactor
from tui_agent.store.sessions import SessionStore


def configuration(options: SessionOptions) -> Config:
    """The effective configuration. Raises `ConfigError`."""
    return load(options, environment(options, os.environ))


def session_store(options: SessionOptions) -> SessionStore:
    """The sessions of the configured data folder, for reading."""
    return SessionStore(configuration(options).data_dir / "sessions", SystemClock(), Redactor())
