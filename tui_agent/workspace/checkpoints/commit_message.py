"""The lines at the end of a checkpoint's commit message, such as `Before: "notes.txt"`: formatted and parsed.

The lines `Mode` and `Usual` are formatted and parsed in `file_modes`.
"""

import json
from collections.abc import Iterable, Mapping

BEFORE_KEY = "Before"
LEFT_KEY = "Left"


def format_before_lines(paths: Iterable[str]) -> list[str]:
    """Return one `Before` line for each path, such as `Before: "notes.txt"`."""
    return [f"{BEFORE_KEY}: {json.dumps(path)}" for path in sorted(paths)]


def parse_before_lines(message: str) -> set[str]:
    """Return the paths in a commit's `Before` lines."""
    lines = (line.partition(": ") for line in trailer_lines(message))
    return {str(json.loads(value)) for key, _, value in lines if key == BEFORE_KEY}


def format_left_lines(paths: Iterable[str], first_kept: Mapping[str, str]) -> list[str]:
    """Return the `Left` lines of a commit message, such as `Left: ["path", "commit"]`.

    Each line names a path that a restore left unchanged, or that has contested changes.

    `first_kept`: maps a path to the commit that first saved it. For other paths, the commit in the line is empty.
    """
    return [f"{LEFT_KEY}: {json.dumps([path, first_kept.get(path, '')])}" for path in sorted(paths)]


def parse_left_lines(message: str) -> dict[str, str]:
    """Read the `Left` lines of a commit message (see `format_left_lines`), and return a map from path to commit."""
    lines = (line.partition(": ") for line in trailer_lines(message))
    pairs = (json.loads(value) for key, _, value in lines if key == LEFT_KEY)
    return {str(path): str(commit) for path, commit in pairs}


def trailer_lines(message: str) -> list[str]:
    """Return the lines of a commit message's last paragraph."""
    return message.strip("\n").rsplit("\n\n", 1)[-1].split("\n")
