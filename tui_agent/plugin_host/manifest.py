"""`plugin.toml`, what a plugin says of itself before anything of it is imported. Optional.

Invariant: reading it never imports; a wrong manifest is a `PluginError` that names the file and the field.
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
    """`api` is the version of `plugin_api` that the plugin was written for; None: it does not say."""

    name: str
    version: str = ""
    api: int | None = None
    description: str = ""


def usable_name(name: str) -> bool:
    """A plugin's name is also a module name: small letters, digits and _, at most 40, beginning with a letter."""
    return _NAME.fullmatch(name) is not None


def read_manifest(folder: Path, fallback: str) -> Manifest:
    """The manifest of a plugin's folder; without a file, one that has only the folder's name."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        return Manifest(fallback)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"{path} cannot be read: {error}.") from error
    unknown = sorted(set(found) - _KNOWN)
    if unknown:
        raise PluginError(f"{path} has unknown fields: {', '.join(unknown)}.")
    api = found.get("api")
    if api is not None and (not isinstance(api, int) or isinstance(api, bool)):
        raise PluginError(f"{path}: api must be a whole number.")
    for key in ("name", "version", "description"):
        if not isinstance(found.get(key, ""), str):
            raise PluginError(f"{path}: {key} must be text.")
    name = str(found.get("name", fallback))
    return Manifest(name, str(found.get("version", "")), api, str(found.get("description", "")))
