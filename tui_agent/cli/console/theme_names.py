"""Check that a theme exists. Only file names are compared, because loading themes is slow."""

import os
from importlib import import_module

from tui_agent.config.paths import find_paths
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import UsageError
from tui_agent.plugin_host.bundled_files import bundled_folder


def require_theme(options: SessionOptions) -> None:
    """Raise a `UsageError` if the theme in `options` does not exist; the error lists the existing themes."""
    folders = (
        bundled_folder("themes"),
        find_paths(options.cwd, os.environ, options.data_dir).config_dir / "themes",
    )
    names = {path.stem for folder in folders if folder is not None for path in folder.glob("*.toml")}
    if options.theme in names:
        return
    find_plugin_themes = import_module("tui_agent.tui.theme.first_frame").find_plugin_themes
    names |= {path.stem for _, path in find_plugin_themes(options, os.environ)}
    if options.theme not in names:
        raise UsageError(f"Unknown theme {options.theme!r}.", hint=f"Available: {', '.join(sorted(names))}.")
