"""Locations of the user's and the project's files.

Invariant: computing a path creates nothing and reads no file.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass

APP_NAME = "tui-agent"
PROJECT_FOLDER = ".tui_agent"


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths of the folders of the user and of the project. The folders need not exist."""

    config_dir: Path
    data_dir: Path
    cache_dir: Path
    project: Path
    """The project's folder: the nearest repository or folder with `.tui_agent/`.

    The search goes upwards from the working folder. If it finds nothing, this is the working folder.
    """
    home: Path

    @property
    def user_config(self) -> Path:
        return self.config_dir / "config.toml"

    @property
    def project_config(self) -> Path:
        return self.project / PROJECT_FOLDER / "config.toml"

    @property
    def secrets(self) -> Path:
        """File with the user's saved keys, on systems without a key ring (mode 0600)."""
        return self.config_dir / "keys.json"

    @property
    def mcp_logins(self) -> Path:
        """Folder with the logins of MCP servers, one file each (mode 0600)."""
        return self.config_dir / "mcp_logins"

    @property
    def trust(self) -> Path:
        """File with the user's trust decisions about project files."""
        return self.config_dir / "trusted.json"

    @property
    def repo_maps(self) -> Path:
        """Folder of cached repository maps, which can be deleted at any time."""
        return self.cache_dir / "repomap"

    @property
    def trusted_copies(self) -> Path:
        """Folder with copies of trusted project files, in the trusted version."""
        return self.config_dir / "trusted"


def local_repo_maps(data_dir: Path) -> Path:
    """Return the folder for repository maps inside the data folder `data_dir`."""
    return data_dir / "repomap"


def screen_error_log(data_dir: Path) -> Path:
    """Return the path of the log of errors on the app's screen."""
    return data_dir / "reports" / "screen.log"


def private_folders(data_dir: Path) -> tuple[Path, ...]:
    """Return the files and folders with copies of the user's files and prompts. The sandbox hides them from commands."""
    return tuple(
        data_dir / name
        for name in (
            "sessions",
            "trajectories",
            "sandbox",
            "drafts",
            "reports",
            "exports",
            "prompts.jsonl",
        )
    )


def find_paths(cwd: Path, environ: Mapping[str, str], data_dir: Path | None = None) -> Paths:
    """Return the paths for a start in `cwd`; the option `data_dir` wins over `TUI_AGENT_HOME`."""
    home = _home_user_folder(environ)
    return Paths(
        config_dir=user_config_dir(environ),
        data_dir=data_dir if data_dir is not None else user_data_dir(environ),
        cache_dir=_user_folder("cache", environ, home),
        project=project_root(cwd, home),
        home=home,
    )


def user_config_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder for the user's configuration. Raise `ConfigError` if the home folder is unknown."""
    return _user_folder("config", environ, _home_user_folder(environ))


def user_data_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder for sessions. Raise `ConfigError` if the home folder is unknown."""
    home, override = _home_user_folder(environ), environ.get("TUI_AGENT_HOME", "")
    return _expand_home(override, home) if override else _user_folder("data", environ, home)


def project_root(cwd: Path, home: Path) -> Path:
    """Return the nearest folder at or above `cwd` with `.tui_agent/` or `.git`; otherwise return `cwd`.

    The home folder and its parents are skipped. Raise `ConfigError` if `cwd` is unreadable.
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
                    hint="Check the folder's permissions, or choose another folder with --cwd.",
                ) from error
            break
    return start


def _home_user_folder(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    if home:
        return Path(home)
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigError("The home folder is unknown.", hint="Set HOME, or XDG_CONFIG_HOME.") from error


def _user_folder(kind: str, environ: Mapping[str, str], home: Path) -> Path:
    override = environ.get(f"XDG_{kind.upper()}_HOME", "")
    # The XDG specification says that relative paths must be ignored.
    if override and Path(override).is_absolute():
        return Path(override) / APP_NAME
    if sys.platform == "darwin":
        dirs = platformdirs.PlatformDirs(APP_NAME, appauthor=False)
        return Path(
            {"config": dirs.user_config_dir, "data": dirs.user_data_dir}.get(kind, dirs.user_cache_dir)
        )
    return home / {"config": ".config", "data": ".local/share", "cache": ".cache"}[kind] / APP_NAME


def _expand_home(text: str, home: Path) -> Path:
    return home / text[2:] if text.startswith("~/") else Path(text).absolute()


def is_session_stored(folder: Path | None) -> bool:
    """Return True if the session in `folder` has a log on disk."""
    return folder is not None and (folder / "events.jsonl").is_file()
