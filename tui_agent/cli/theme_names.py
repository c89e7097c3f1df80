"""Check that a theme exists, by file names only, because loading themes is slow."""

import os
from pathlib import Path

from tui_agent.config.paths import find_paths
from tui_agent.errors import UsageError
from tui_agent.plugin_host.bundled import bundled_folder


def require_theme(name: str, cwd: Path, data_dir: Path | None) -> None:
    """Raise a `UsageError` that lists the existing themes if there is no theme `name`."""
    folders = (bundled_folder("themes"), find_paths(cwd, os.environ, data_dir).config_dir / "themes")
    names = sorted({path.stem for folder in folders if folder is not None for path in folder.glob("*.toml")})
    if name not in names:
        raise UsageError(f"Unknown theme {name!r}.", hint=f"Available: {', '.join(names)}.")
