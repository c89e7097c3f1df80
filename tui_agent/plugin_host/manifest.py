"""The optional manifest `plugin.toml`, which describes a plugin before it is imported.

Invariant: reading it imports nothing; an invalid manifest is a `PluginError` that names the file and the field.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tui_agent.errors import PluginError

MANIFEST = "plugin.toml"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KNOWN = frozenset({"name", "version", "api", "description"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest. `api`: the version of `plugin_api` that the plugin was written for; None if not given."""

    name: str
    version: str = ""
    api: int | None = None
    description: str = ""


def usable_name(name: str) -> bool:
    """Return True for a valid plugin and module name: lower-case letters, digits, _, a letter first, at most 40."""
    return _NAME.fullmatch(name) is not None


def read_manifest(folder: Path, fallback: str) -> Manifest:
    """Read the manifest of a plugin's folder; without the file, return one with only the fallback name."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        return Manifest(fallback)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(set(values) - _KNOWN)
    if unknown:
        raise PluginError(f"{path} has unknown fields: {', '.join(unknown)}.")
    api = values.get("api")
    if api is not None and (not isinstance(api, int) or isinstance(api, bool)):
        raise PluginError(f"{path}: api must be a whole number.")
    for key in ("name", "version", "description"):
        if not isinstance(values.get(key, ""), str):
            raise PluginError(f"{path}: {key} must be text.")
    name = str(values.get("name", fallback))
    return Manifest(name, str(values.get("version", "")), api, str(values.get("description", "")))
