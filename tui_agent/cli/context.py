"""Start of a command that runs without the app: loads the configuration and the store that its options select."""

import argparse

from tui_agent.cli.options import session_options
from tui_agent.wiring.startup_context import StartupContext, load_startup_context


def load_context(arguments: argparse.Namespace, *, interactive: bool = False) -> StartupContext:
    """Load the configuration and store for a command's options.

    `interactive` applies the settings of an interactive start.

    Raises `UsageError` and `ConfigError`.
    """
    return load_startup_context(session_options(arguments, client="headless", interactive=interactive))
