"""Aliases of argument names, as tools of other programs use them, replaced before a call is checked.

Invariant: an argument that the tool itself has is never changed. If two names mean the same argument but have different
values, nothing is guessed.
"""

import re
from collections.abc import Collection

from tui_agent.protocol.base import JsonMap

ALIASES: dict[str, tuple[str, ...]] = {
    "absolute_path": ("path",),
    "cmd": ("command",),
    "contents": ("content",),
    "dir": ("path", "cwd"),
    "dir_path": ("path", "cwd"),
    "directory": ("path", "cwd"),
    "file": ("path",),
    "file_content": ("content",),
    "file_path": ("path",),
    "file_text": ("content",),
    "filename": ("path",),
    "filepath": ("path",),
    "folder": ("path", "cwd"),
    "glob_pattern": ("pattern",),
    "include": ("glob",),
    "include_pattern": ("glob",),
    "items": ("todos",),
    "new_str": ("new_text",),
    "new_string": ("new_text",),
    "new_content": ("content",),
    "old_str": ("old_text",),
    "old_string": ("old_text",),
    "query": ("pattern",),
    "regex": ("pattern",),
    "relative_path": ("path",),
    "replace_string": ("new_text",),
    "search_path": ("path",),
    "search_string": ("old_text", "pattern"),
    "shell_command": ("command",),
    "target_directory": ("path",),
    "target_file": ("path",),
    "text": ("content",),
    "todo_list": ("todos",),
    "workdir": ("cwd",),
    "working_directory": ("cwd",),
}
"""Alias -> our names, of which the first that the tool has is used. Only aliases with the same unit and meaning."""
REMARKS = frozenset({"description", "explanation"})
"""Arguments that tools of other programs take to explain a call. They have no effect and are dropped."""
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def ours(arguments: JsonMap, known: Collection[str]) -> JsonMap:
    """Return the arguments with aliases replaced by the tool's names (`known`); unknown names stay."""
    renamed = {key: value for key, value in arguments.items() if key in known}
    for key, value in arguments.items():
        if key in known or key in REMARKS:
            continue
        name = _canonical_name(key, known)
        if renamed.setdefault(name, value) != value:
            renamed[key] = value
    return renamed


def _canonical_name(key: str, known: Collection[str]) -> str:
    plain = _CAMEL_CASE_BOUNDARY.sub("_", key).replace("-", "_").lower()
    return next((name for name in (plain, *ALIASES.get(plain, ())) if name in known), key)
