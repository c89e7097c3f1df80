"""L2: whether a project's own files may be used: only when the user listed the folder with exactly this content.

Invariant: asking never writes, never follows a link out of the folder, and never opens anything but a regular file.
"""

import hashlib
import json
import os
from pathlib import Path

from tui_agent.config.files import read_regular, write_private
from tui_agent.config.paths import PROJECT_FOLDER, Paths
from tui_agent.errors import ConfigError

LONE_FILES = (".env", ".mcp.json")
"""Files beside `.tui_agent/` whose content trust is bound to."""

MAX_FILES = 2_000
MAX_BYTES = 32 << 20


def hooks_of(folder: Path) -> tuple[Path, ...]:
    """The files of a project that can steer the program, sorted; links are listed and never followed."""
    found = [folder / name for name in LONE_FILES if os.path.lexists(folder / name)]
    for root, dirs, files in os.walk(folder / PROJECT_FOLDER):
        dirs.sort()
        found += [Path(root, name) for name in files]
        found += [Path(root, name) for name in dirs if Path(root, name).is_symlink()]
        if len(found) > MAX_FILES:
            break
    return tuple(sorted(found))


def digest(folder: Path) -> str | None:
    """SHA-256 over the names and contents of what can steer the program. None where it cannot be bound to content:
    too many or too large files, links, devices, or an unreadable file."""
    found = hooks_of(folder)
    if len(found) > MAX_FILES:
        return None
    total = hashlib.sha256()
    room = MAX_BYTES
    for path in found:
        try:
            content = read_regular(path, room + 1, os.O_NOFOLLOW)
        except OSError:
            return None
        if content is None:
            return None
        room -= len(content)
        if room < 0:
            return None
        name = os.fsencode(path.relative_to(folder))
        total.update(b"%d:%b%d:" % (len(name), name, len(content)))
        total.update(content)
    return total.hexdigest()


def is_trusted(folder: Path, paths: Paths) -> bool:
    """Whether `folder` is listed in the user's trust file with the digest that it has now."""
    if not hooks_of(folder):
        return str(folder.resolve()) in _listed(paths)
    now = digest(folder)
    return now is not None and _listed(paths).get(str(folder.resolve())) == now


def trust(folder: Path, paths: Paths) -> None:
    """List a folder with its present content, because the user said so. Raises `ConfigError`."""
    now = digest(folder)
    if now is None:
        raise ConfigError(
            f"{folder} cannot be trusted: its {PROJECT_FOLDER} folder, .env or .mcp.json holds links, special or"
            " unreadable files, or too many of them.",
            hint="Make them plain files.",
        )
    write_private(paths.trust, json.dumps({**_listed(paths), str(folder.resolve()): now}, indent=1))


def distrust(folder: Path, paths: Paths) -> None:
    """Take a folder off the list."""
    listed = _listed(paths)
    if listed.pop(str(folder.resolve()), None) is not None:
        write_private(paths.trust, json.dumps(listed, indent=1))


def _listed(paths: Paths) -> dict[str, str]:
    try:
        listed = json.loads(paths.trust.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return {}  # a damaged list trusts nothing
    if not isinstance(listed, dict):
        return {}
    return {str(folder): str(found) for folder, found in listed.items()}
