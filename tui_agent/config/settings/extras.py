"""Import of optional packages at their first use, and the command that installs a missing package's extra."""

import json
import shlex
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Final

from tui_agent.errors import ConfigError

EXTRAS: Final = {
    "aiohttp": "web",
    "boto3": "s3",
    "duckdb": "parquet",
    "e2b": "e2b",
    "modal": "modal",
    "ray": "ray",
    "textual_serve": "web",
}
"""Maps a package to the extra of tui-agent that installs the package."""
_RECEIPTS: Final = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}
"""Maps a file that an installer leaves in the environment to the command of this installer."""


def load_package(name: str) -> ModuleType:
    """Import one of the packages in `EXTRAS`. Raises `ConfigError` with the command that installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as fault:
        if fault.name != name:
            raise
        message = f"This needs the package {name}, which is not installed."
        raise ConfigError(message, hint=install_hint(EXTRAS[name])) from fault


def install_hint(extra: str) -> str:
    """Return a hint with the command that installs an extra. The command depends on how the program was installed."""
    prefix = Path(sys.prefix)
    install = next((command for file, command in _RECEIPTS.items() if (prefix / file).is_file()), "")
    install = install or f"{shlex.quote(sys.executable)} -m pip install"
    return f"Install it: {install} {shlex.quote(_requirement_with_extra(extra))}"


def _requirement_with_extra(extra: str) -> str:
    """Return the requirement that adds an extra, such as `tui-agent[web]`.

    If tui-agent was installed from a source folder, the folder replaces the package's name.
    """
    try:
        source = json.loads(distribution("tui-agent").read_text("direct_url.json") or "{}").get("url", "")
    except (PackageNotFoundError, ValueError):
        source = ""
    folder = source.removeprefix("file://")
    return f"{folder}[{extra}]" if source != folder and Path(folder).is_dir() else f"tui-agent[{extra}]"
