"""All files below a folder, what git ignores left out. Blocking, lazily: pulled in batches from threads.

Invariants: links are listed, never followed, so there are no loops; every folder is opened through the containment;
what cannot be read is left out.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_agent.errors import EnvironmentFault
from tui_agent.folds.text.gitignore import Rules
from tui_agent.ports.environment import FileInfo
from tui_agent.workspace.local.files import scan
from tui_agent.workspace.local.paths import MAX_DEPTH, Containment

NEVER = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
)
"""Folders that hold no one's work: left out always."""
INSTALLED = frozenset({"node_modules", ".venv", ".tox", ".nox", ".eggs"})
"""Folders of installed code: left out like ignored ones, also where no ignore file names them."""
_IGNORE_LIMIT = 1_000_000
_BATCH = 512
_BATCH_S = 0.05


def walk(contain: Containment, path: str, ignored: bool) -> Iterator[FileInfo]:
    """Files and links below `path`, in the order of their paths' names."""
    start = contain.parts(path)
    top, rules = _rules_above(contain, start) if not ignored else ("", Rules())
    stack = [_entries(contain, start, top, rules, ignored)]
    while stack:
        below = next(stack[-1], None)
        if below is None:
            stack.pop()
        elif isinstance(below, FileInfo):
            yield below
        elif len(below[0]) <= MAX_DEPTH:
            parts, inherited = below
            stack.append(_entries(contain, parts, top, inherited, ignored))


def _entries(
    contain: Containment, parts: tuple[str, ...], top: str, rules: Rules, ignored: bool
) -> Iterator[FileInfo | tuple[tuple[str, ...], Rules]]:
    """One folder's files, and its folders as what is to be entered."""
    base = "/".join(parts)
    try:
        with contain.folder(parts) as at:
            found = scan(at, base)
            if not ignored:
                text = _ignore_text(at, ".gitignore")
                rules = rules.below(top + (base + "/" if base else ""), text) if text else rules
    except OSError as error:
        if not parts:
            raise EnvironmentFault(f"The workspace cannot be read: {error.strerror}.") from error
        return
    for item in found:
        name = item.path[len(base) + 1 :] if base else item.path
        folder = item.kind == "directory"
        if folder and name in NEVER:
            continue
        if not ignored and ((folder and name in INSTALLED) or rules.ignores(top + item.path, folder)):
            continue
        if folder:
            yield (*parts, name), rules
        elif item.kind != "other":
            yield item


def _ignore_text(at: int, name: str) -> str:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return os.read(fd, _IGNORE_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _rules_above(contain: Containment, start: tuple[str, ...]) -> tuple[str, Rules]:
    """The rules of the folders above `start`, up to the repository's top.

    Returned with the workspace's own path as seen from that top (with a `/` at its end, or empty).
    """
    repository = _repository(contain.root)
    names = [name for name in contain.root[len(repository) :].split("/") if name]
    top = "".join(name + "/" for name in names)
    rules = Rules()
    here = repository
    base = ""
    for index, name in enumerate([*names, *start, None]):
        with suppress(OSError):
            at = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if index == 0:
                    rules = rules.below("", _ignore_text_in(at, ".git/info/exclude"))
                if name is not None:
                    rules = rules.below(base, _ignore_text(at, ".gitignore"))
            finally:
                os.close(at)
        if name is not None:
            here = f"{here.rstrip('/')}/{name}"
            base += name + "/"
    # Whoever looks into an ignored folder on purpose is to see what is there.
    return top, Rules() if base and rules.ignores_any_of(base.rstrip("/")) else rules


def _ignore_text_in(at: int, path: str) -> str:
    folder, _, name = path.rpartition("/")
    try:
        below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    except OSError:
        return ""
    try:
        return _ignore_text(below, name)
    finally:
        os.close(below)


def _repository(root: str) -> str:
    """The folder at or above `root` that holds `.git`; `root` itself where there is none."""
    for folder in (Path(root), *Path(root).parents):
        if (folder / ".git").exists():
            return str(folder)
    return root


def batch_of(found: Iterator[FileInfo]) -> list[FileInfo]:
    """The next files of a walk: as many as come in a short time, so that the first are there at once."""
    until = time.monotonic() + _BATCH_S
    batch: list[FileInfo] = []
    for item in islice(found, _BATCH):
        batch.append(item)
        if time.monotonic() > until:
            break
    return batch
