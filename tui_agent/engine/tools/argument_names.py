"""Foreign names of arguments, as other programs' tools call them, put right at the edge and nowhere else.

Invariant: an argument that the tool has itself is never touched; where two names mean one argument and say different
things, nothing is guessed.
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
"""Foreign name -> ours, the first that the tool has. Only names with one meaning: no other unit, no other count."""
REMARKS = frozenset({"description", "explanation"})
"""What other programs' tools take beside the call, to say what it is for; it changes nothing and is left out."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def ours(arguments: JsonMap, known: Collection[str]) -> JsonMap:
    """The arguments under the names that the tool has (`known`); what has no name of ours stays as it is."""
    found = {key: value for key, value in arguments.items() if key in known}
    for key, value in arguments.items():
        if key in known or key in REMARKS:
            continue
        name = _name(key, known)
        if found.setdefault(name, value) != value:
            found[key] = value
    return found


def _name(key: str, known: Collection[str]) -> str:
    plain = _HUMP.sub("_", key).replace("-", "_").lower()
    return next((name for name in (plain, *ALIASES.get(plain, ())) if name in known), key)
