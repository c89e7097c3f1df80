"""L3: whether a repository's own configuration makes git run programs: then git is no more to be trusted than they are.

Invariant: looks only, and at bounded files; what cannot be read counts as naming one. A user's own configuration does not
count, only what lies with the repository.
"""

import glob
import os
import re
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

_LARGEST = 1_000_000
_MOST_MODULES = 200
_MOST_MEANT = 200
"""Folders that one pattern stands for."""
_LARGEST_INDEX = 50_000_000
_LINK = re.compile(rb"\0\0\xe0\0.{34}([^\0]{1,4096})\0", re.DOTALL)
"""An entry of an index that stands for a repository: its kind, numbers, digest and name."""
_SECTION = re.compile(r'^\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_RUNS = {
    "core": frozenset(("fsmonitor", "alternaterefscommand")),
    "diff": frozenset(("external", "command", "textconv")),
    "extensions": frozenset(("partialclone",)),
    "filter": frozenset(("clean", "smudge", "process")),
    "gpg": frozenset(("program",)),
    "include": frozenset(("path",)),
    "includeif": frozenset(("path",)),
    "remote": frozenset(("promisor",)),
}
"""What of a configuration is run, or leads to more configuration, where git only looks."""
_OFF = frozenset(("false", "no", "off", "0"))
_HARMLESS = _OFF | {"", "true", "yes", "on", "1"}
_FETCHES = "promisor"
"""A remote from which git fetches a missing object whenever it looks for one, by a program that the configuration may name."""
_LARGE_FILES = frozenset(("git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"))
_HOOKS = ("post-index-change",)
"""Hooks that a look at the repository runs."""


def runs_programs(root: str, folders: Collection[str] = ()) -> bool:
    """Whether git would run programs that the repository around a folder names, also where it only looks; or one around any of
    `folders`, as seen from there."""
    tops: dict[Path, None] = {}
    for folder in (".", *folders):
        found = _meant(root, folder)
        if found is None:
            return True
        tops |= dict.fromkeys(top for one in found if (top := _top(one)) is not None)
    tops |= dict.fromkeys(inner for top in list(tops) for inner in _linked(top))
    return any(_configured(one) or _hooked(one) for top in tops for one in _folders(top))


def _meant(root: str, folder: str) -> list[Path] | None:
    """The folders that a name or a pattern stands for, with links and as it is written; None: too many, or any."""
    path = os.path.join(root, os.path.expanduser(folder))  # noqa: PTH111, PTH118 - as a shell reads it
    if "**" in folder:
        return None
    found = glob.iglob(path, include_hidden=True) if glob.has_magic(path) else ()  # noqa: PTH207 - of any root
    names = list(islice(found, _MOST_MEANT + 1))
    if len(names) > _MOST_MEANT:
        return None
    return [Path(one) for name in (*names, path) for one in (os.path.normpath(name), os.path.realpath(name))]


def _top(folder: Path) -> Path | None:
    """The repository's folder as git finds it from here: `.git`, or a bare one."""
    for one in (folder, *folder.parents):
        if os.path.lexists(one / ".git"):
            return one / ".git"
        if (one / "HEAD").is_file() and (one / "objects").is_dir() and (one / "refs").is_dir():
            return one
    return None


def _linked(git: Path) -> Iterator[Path]:
    """Repositories in the working tree that the index links to, whatever says so: git looks at them with it."""
    own = next(_folders(git))
    try:
        with (own / "index").open("rb") as file:
            index = file.read(_LARGEST_INDEX)
    except OSError:
        return
    for found in islice(_LINK.finditer(index), _MOST_MODULES):
        inner = Path(git.parent, os.fsdecode(found[1]), ".git")
        if os.path.lexists(inner):
            yield inner


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
        harmless = _OFF if setting[1].lower() == _FETCHES else _HARMLESS
        if value.lower() not in harmless and value not in _LARGE_FILES:
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
