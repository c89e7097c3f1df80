"""L3: whether a repository's own configuration makes git run programs: then git is no more to be trusted than they are.

Invariant: looks only, and at bounded files; what cannot be read counts as naming one. A user's own configuration does not
count, only what lies with the repository.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

_LARGEST = 1_000_000
_MOST_MODULES = 200
_SECTION = re.compile(r'^\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_RUNS = {
    "core": frozenset(("fsmonitor", "alternaterefscommand")),
    "diff": frozenset(("external", "command", "textconv")),
    "filter": frozenset(("clean", "smudge", "process")),
    "gpg": frozenset(("program",)),
    "include": frozenset(("path",)),
    "includeif": frozenset(("path",)),
}
"""What of a configuration is run, or leads to more configuration, where git only looks."""
_HARMLESS = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))
_LARGE_FILES = frozenset(("git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"))
_HOOKS = ("post-index-change",)
"""Hooks that a look at the repository runs."""


def runs_programs(root: str) -> bool:
    """Whether git would run programs that the repository around a folder names, also where it only looks."""
    top = _top(Path(root))
    if top is None:
        return False
    folders = list(_folders(top))
    return any(_configured(folder) or _hooked(folder) for folder in folders)


def _top(folder: Path) -> Path | None:
    return next((one / ".git" for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)


def _folders(git: Path) -> Iterator[Path]:
    """The repository's own folder, the one that it shares with others, and those of its submodules."""
    own = git
    if not git.is_dir():
        named = (_read(git) or "").strip().removeprefix("gitdir:").strip()
        own = Path(git.parent, named)
    yield own
    common = _read(own / "commondir")
    shared = own if common is None else Path(own, common.strip())
    if shared != own:
        yield shared
    modules = shared / "modules"
    if modules.is_dir():
        for at, config in enumerate(modules.rglob("config")):
            if at >= _MOST_MODULES:
                return
            yield config.parent


def _configured(folder: Path) -> bool:
    return any(_names_a_program(folder / name) for name in ("config", "config.worktree"))


def _names_a_program(config: Path) -> bool:
    if not os.path.lexists(config):
        return False
    text = _read(config)
    if text is None:
        return True
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        rest = line
        if found := _SECTION.match(line):
            section, rest = found[1].partition(".")[0].lower(), line[found.end() :]
        setting = _SETTING.match(rest)
        if setting is None or setting[1].lower() not in _RUNS.get(section, ()):
            continue
        value = (setting[2] or "").split("#")[0].split(";")[0].strip().strip('"')
        if value.lower() not in _HARMLESS and value not in _LARGE_FILES:
            return True
    return False


def _hooked(folder: Path) -> bool:
    """Whether a hook is there that runs at a look."""
    return any(os.access(folder / "hooks" / name, os.X_OK) for name in _HOOKS)


def _read(path: Path) -> str | None:
    """A small regular file as text; None where it is anything else."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
