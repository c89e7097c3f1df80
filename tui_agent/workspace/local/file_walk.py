"""Walks over the files below a folder. Files that git ignores are left out.

The functions block: call them in a thread.

Invariant: links are listed but never followed.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_agent.config.project.generated_folders import CACHE_FOLDERS, INSTALLED_FOLDERS, REPOSITORY_FOLDERS
from tui_agent.config.small_files import read_regular
from tui_agent.errors import EnvironmentFault
from tui_agent.folds.text.gitignore import IgnoreRules
from tui_agent.ports.environment import FileInfo
from tui_agent.workspace.local.containment import MAX_DEPTH, Containment
from tui_agent.workspace.local.local_files import scan_folder

ALWAYS_SKIPPED = REPOSITORY_FOLDERS | CACHE_FOLDERS
"""A walk always leaves out these folders, such as `.git`, because they have no user content."""
_MAX_IGNORE_BYTES = 1_000_000
_BATCH_SIZE = 512
_MAX_BATCH_S = 0.05


def walk_files(containment: Containment, path: str, include_ignored: bool) -> Iterator[FileInfo]:
    """Yield the files and links below `path`, sorted by name within each folder."""
    start = containment.resolve_parts(path)
    top, rules = _rules_above(containment, start) if not include_ignored else ("", IgnoreRules())
    stack = [_list_entries(containment, start, top, rules, include_ignored)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif isinstance(entry, FileInfo):
            yield entry
        elif len(entry[0]) <= MAX_DEPTH:
            parts, inherited = entry
            stack.append(_list_entries(containment, parts, top, inherited, include_ignored))


def _list_entries(
    contain: Containment, parts: tuple[str, ...], top: str, rules: IgnoreRules, ignored: bool
) -> Iterator[FileInfo | tuple[tuple[str, ...], IgnoreRules]]:
    """Yield the files of one folder, and for each subfolder its path and its ignore rules."""
    base = "/".join(parts)
    try:
        with contain.open_folder(parts) as folder_fd:
            entries = scan_folder(folder_fd, base)
            if not ignored:
                text = _read_ignore_file(folder_fd, ".gitignore")
                rules = rules.with_file(top + (base + "/" if base else ""), text) if text else rules
    except OSError as error:
        if not parts:
            raise EnvironmentFault(f"The workspace cannot be read: {error.strerror}.") from error
        return
    for item in entries:
        name = item.path[len(base) + 1 :] if base else item.path
        is_folder = item.kind == "directory"
        if is_folder and name in ALWAYS_SKIPPED:
            continue
        if not ignored and (
            (is_folder and name in INSTALLED_FOLDERS) or rules.is_ignored(top + item.path, is_folder)
        ):
            continue
        if is_folder:
            yield (*parts, name), rules
        elif item.kind != "other":
            yield item


def _read_ignore_file(folder_fd: int, path: str) -> str:
    try:
        data = read_regular(path, _MAX_IGNORE_BYTES, os.O_NOFOLLOW, folder_fd=folder_fd)
    except OSError:
        return ""
    return (data or b"").decode("utf-8", "replace")


def _rules_above(contain: Containment, start: tuple[str, ...]) -> tuple[str, IgnoreRules]:
    """Return (prefix, rules) for the folder `start`.

    - `prefix`: the workspace's path from the repository's top, empty or with `/` at the end
    - `rules`: rules from the ignore files above `start`
    """
    repository = _repository_top(contain.root)
    names = [name for name in contain.root[len(repository) :].split("/") if name]
    top = "".join(name + "/" for name in names)
    rules = IgnoreRules()
    folder = repository
    base = ""
    for index, name in enumerate([*names, *start, None]):
        with suppress(OSError):
            folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if index == 0:
                    rules = rules.with_file("", _read_ignore_file(folder_fd, ".git/info/exclude"))
                if name is not None:
                    rules = rules.with_file(base, _read_ignore_file(folder_fd, ".gitignore"))
            finally:
                os.close(folder_fd)
        if name is not None:
            folder = f"{folder.rstrip('/')}/{name}"
            base += name + "/"
    # A walk that starts in an ignored folder lists its files.
    return top, IgnoreRules() if base and rules.is_inside_ignored(base.rstrip("/")) else rules


def _repository_top(root: str) -> str:
    for folder in (Path(root), *Path(root).parents):
        if (folder / ".git").exists():
            return str(folder)
    return root


def next_batch(files: Iterator[FileInfo]) -> list[FileInfo]:
    """Return the next files of a walk: at most `_BATCH_SIZE`, or as many as are found in `_MAX_BATCH_S` seconds."""
    deadline = time.monotonic() + _MAX_BATCH_S
    batch: list[FileInfo] = []
    for item in islice(files, _BATCH_SIZE):
        batch.append(item)
        if time.monotonic() > deadline:
            break
    return batch
