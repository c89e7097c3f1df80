"""Check of a theme's name by file names alone, to reject a wrong one before anything slow is loaded."""

import os
from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.errors import UsageError
from tui_agent.plugin_host.bundled import bundled_folder


def require_theme(name: str, cwd: Path, data_dir: Path | None) -> None:
    """Raise a `UsageError` that lists the themes if there is none of this name."""
    folders = (bundled_folder("themes"), find_paths(cwd, os.environ, data_dir).config_dir / "themes")
    names = sorted({path.stem for folder in folders if folder is not None for path in folder.glob("*.toml")})
    if name not in names:
        raise UsageError(f"Unknown theme {name!r}.", hint=f"Available: {', '.join(names)}.")
