"""Import of optional packages at their first use, with the install command for a missing package."""

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
"""Maps the marker file of an installer (uv or pipx) in an environment to the installer's command."""
_PIP_INSTALL: Final = f"{shlex.quote(sys.executable)} -m pip install"


def load_package(name: str) -> ModuleType:
    """Import a package in `EXTRAS`. If the package is missing, raise `ConfigError` with the command to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as fault:
        if fault.name != name:
            raise
        message = f"This needs the package {name}, which is not installed."
        raise ConfigError(message, hint=install_hint(EXTRAS[name])) from fault


def install_hint(extra: str) -> str:
    """Return a hint with the command that installs an extra."""
    install = _RECEIPTS.get(_find_receipt(), _PIP_INSTALL)
    return f"Install it: {install} {shlex.quote(f'{_requirement()}[{extra}]')}"


def package_install_command(package: str) -> str:
    """Return the command that adds `package` to this installation of tui-agent.

    Use this function for packages that belong to no extra (see `EXTRAS`).
    """
    match _find_receipt():
        case "uv-receipt.toml":
            return f"uv tool install --with {package} {shlex.quote(_requirement())}"
        case "pipx_metadata.json":
            return f"pipx inject tui-agent {package}"
        case _:
            return f"{_PIP_INSTALL} {package}"


def _find_receipt() -> str:
    """Return the name of the file that an installer left in this environment; empty if there is none."""
    return next((file for file in _RECEIPTS if Path(sys.prefix, file).is_file()), "")


def _requirement() -> str:
    """Return `tui-agent`, or the source folder from which it was installed."""
    try:
        source = json.loads(distribution("tui-agent").read_text("direct_url.json") or "{}").get("url", "")
    except (PackageNotFoundError, ValueError):
        source = ""
    folder = source.removeprefix("file://")
    return folder if source != folder and Path(folder).is_dir() else "tui-agent"
