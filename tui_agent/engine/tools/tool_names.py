"""Foreign names of tools, put right at the edge where a model's answer is read, and nowhere else.

Invariant: `canonical` is idempotent; a name that is not in the table stays as it is.
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


def canonical(name: str, known: Iterable[str] = ()) -> str:
    """The name under which a tool is registered here. `known` names are never changed."""
    plain = name.strip()
    if plain in known:
        return plain
    bare = plain.removeprefix("functions.").removeprefix("default_api.")
    return ALIASES.get(bare, ALIASES.get(bare.lower(), bare))


def near(name: str, known: Iterable[str]) -> list[str]:
    """Up to three registered names that look like this one."""
    names = sorted(known)
    guessed = ALIASES.get(name.lower())
    found = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if guessed in names and guessed not in found:
        found.insert(0, guessed)
    return found[:3]
