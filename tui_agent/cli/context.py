"""Loading of the configuration and the session store for a command that runs without the app."""

import argparse
from collections.abc import Callable
from pathlib import Path

from tui_agent.cli.options import session_options
from tui_agent.config.settings import Config
from tui_agent.wiring.startup_context import StartupContext, load_startup_context


def load_context(arguments: argparse.Namespace, *, interactive: bool = False) -> StartupContext:
    """Load the configuration and the session store that the parsed arguments select.

    If `interactive` is True, use the settings that the app would use. Raises `UsageError` or `ConfigError` if the
    arguments or the configuration are not valid.
    """
    return load_startup_context(session_options(arguments, client="headless", interactive=interactive))


def ignored_file_notices(config: Config, is_meant: Callable[[Path], bool] = lambda path: True) -> list[str]:
    """Return a sentence for each project file that is ignored because its folder is not trusted.

    Only files for which `is_meant` returns True are included.
    """
    return [
        f"{path} is not used, because its folder is not trusted. To trust the folder: tui-agent trust"
        for path in config.ignored_files
        if is_meant(path)
    ]
