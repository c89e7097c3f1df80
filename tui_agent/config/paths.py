"""Where the user's files lie.

Invariant: computing a path creates nothing and reads no file; the environment is a mapping that the caller gives.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tui_agent.errors import ConfigError

APP = "tui-agent"
PROJECT_FOLDER = ".tui_agent"


@dataclass(frozen=True, slots=True)
class Paths:
    """The user's folders and the project's. None of them need exist."""

    config_dir: Path
    data_dir: Path
    cache_dir: Path
    project: Path
    """The folder whose `.tui_agent/` counts: the nearest one upwards of the working folder that has it or is a
    repository, else the working folder itself."""

    @property
    def user_config(self) -> Path:
        return self.config_dir / "config.toml"

    @property
    def project_config(self) -> Path:
        return self.project / PROJECT_FOLDER / "config.toml"

    @property
    def secrets(self) -> Path:
        """Keys that the user asked to keep, where there is no key ring (mode 0600)."""
        return self.config_dir / "keys.json"

    @property
    def trust(self) -> Path:
        """What the user decided about the files of projects."""
        return self.config_dir / "trusted.json"

    @property
    def repo_maps(self) -> Path:
        """What is kept of repositories for their maps, one file each; can be deleted at any time."""
        return self.cache_dir / "repomap"

    @property
    def trusted_copies(self) -> Path:
        """Copies of what is loaded from trusted projects, as it was when it was trusted."""
        return self.config_dir / "trusted"


def beside_sessions(data_dir: Path) -> Path:
    """As `repo_maps`, where the sessions have a place of their own."""
    return data_dir / "repomap"


def screen_faults(data_dir: Path) -> Path:
    """Where the app writes down what broke on its screen: the newest last, each after a line with time and session."""
    return data_dir / "reports" / "screen.log"


def private_data(data_dir: Path) -> tuple[Path, ...]:
    """What of the data folder holds copies of the user's files and words, and no command needs."""
    return tuple(data_dir / name for name in ("sessions", "sandbox", "drafts", "reports", "prompts.jsonl"))


def find(cwd: Path, environ: Mapping[str, str], data_dir: Path | None = None) -> Paths:
    """The paths of a start in `cwd`. `data_dir` (the option) wins over `TUI_AGENT_HOME`."""
    home = _home(environ)
    moved = environ.get("TUI_AGENT_HOME", "")
    if data_dir is None and moved:
        data_dir = _expand(moved, home)
    return Paths(
        config_dir=_folder("config", environ, home),
        data_dir=data_dir if data_dir is not None else _folder("data", environ, home),
        cache_dir=_folder("cache", environ, home),
        project=project_root(cwd, home),
    )


def project_root(cwd: Path, home: Path) -> Path:
    """The nearest folder at or above `cwd` that has `.tui_agent/` or `.git`, but never the home folder's parents.

    Raises `ConfigError` where `cwd` itself cannot be looked into.
    """
    start = cwd.absolute()
    for folder in (start, *start.parents):
        if folder == home or folder.parent == folder:
            break
        try:
            if (folder / PROJECT_FOLDER).is_dir() or (folder / ".git").exists():
                return folder
        except OSError as error:
            if folder == start:
                raise ConfigError(
                    f"The folder {folder} cannot be read: {error.strerror}.",
                    hint="Check its permissions, or give another one with --cwd.",
                ) from error
            break
    return start


def _home(environ: Mapping[str, str]) -> Path:
    given = environ.get("HOME", "")
    if given:
        return Path(given)
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigError("The home folder is unknown.", hint="Set HOME, or XDG_CONFIG_HOME.") from error


def _folder(kind: str, environ: Mapping[str, str], home: Path) -> Path:
    given = environ.get(f"XDG_{kind.upper()}_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / APP
    if sys.platform == "darwin":
        dirs = platformdirs.PlatformDirs(APP, appauthor=False)
        return Path(
            {"config": dirs.user_config_dir, "data": dirs.user_data_dir}.get(kind, dirs.user_cache_dir)
        )
    return home / {"config": ".config", "data": ".local/share", "cache": ".cache"}[kind] / APP


def _expand(text: str, home: Path) -> Path:
    return home / text[2:] if text.startswith("~/") else Path(text).absolute()


def is_session_stored(folder: Path | None) -> bool:
    """Return True if a session has a log on the disk, which it gets with its first message."""
    return folder is not None and (folder / "events.jsonl").is_file()
