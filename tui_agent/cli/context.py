"""Loading of the configuration and the session store for a command that runs without the app."""

import argparse

from tui_agent.cli.options import session_options
from tui_agent.wiring.startup_context import StartupContext, load_startup_context


def load_context(arguments: argparse.Namespace, *, interactive: bool = False) -> StartupContext:
    """Load the configuration and store that the parsed arguments select.

    If `interactive` is True, use the settings that the app would use. Raises `UsageError` and `ConfigError`.
    """
    return load_startup_context(session_options(arguments, client="headless", interactive=interactive))
