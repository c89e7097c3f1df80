"""Aliases of tool names, as other programs use them, replaced when a model's answer is read.

Invariant: `canonical_name` is idempotent; a name that is not in the table is returned unchanged.
"""

from collections.abc import Iterable
from difflib import get_close_matches

ALIASES: dict[str, str] = {
    "bash": "run_command",
    "cat": "read_file",
    "create_file": "write_file",
    "edit": "edit_file",
    "execute_command": "run_command",
    "execute_shell": "run_command",
    "find_files": "glob",
    "list": "list_directory",
    "list_dir": "list_directory",
    "list_files": "list_directory",
    "ls": "list_directory",
    "read": "read_file",
    "replace": "edit_file",
    "run_shell_command": "run_command",
    "search": "grep",
    "search_code": "grep",
    "search_files": "grep",
    "shell": "run_command",
    "str_replace": "edit_file",
    "todo_read": "read_todos",
    "todo_write": "write_todos",
    "update_todos": "write_todos",
    "view": "read_file",
    "write": "write_file",
}


def canonical_name(name: str, known: Iterable[str] = ()) -> str:
    """Return the name under which a tool is registered. Names in `known` are never changed."""
    stripped = name.strip()
    if stripped in known:
        return stripped
    unprefixed = stripped.removeprefix("functions.").removeprefix("default_api.")
    return ALIASES.get(unprefixed, ALIASES.get(unprefixed.lower(), unprefixed))


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three names in `known` that are similar to `name`."""
    names = sorted(known)
    alias = ALIASES.get(name.lower())
    similar = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if alias in names and alias not in similar:
        similar.insert(0, alias)
    return similar[:3]
