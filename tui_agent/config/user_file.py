"""Edits of the user's configuration file: disabled plugins and readable secret files.

Invariant: only the lines of the changed keys change; comments and order stay. If that is not possible, the file is left
unchanged, and the error says what to write by hand.
"""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError

_TABLE = re.compile(r"\s*\[")


def save_disabled_plugins(path: Path, names: tuple[str, ...]) -> None:
    """Set the plugins that are not loaded. On failure raises `ConfigError` and leaves the file unchanged."""
    target, key = path.resolve(), "plugins_disabled"
    before = read_small(target) or ""
    line = f"{key} = {json.dumps(list(names), ensure_ascii=False)}"  # JSON's lists are valid TOML.
    after = _set_top_line(before, key, f"{line}\n" if names else "")
    fault = ConfigError(f"{path} could not be changed safely.", hint=f"Write it yourself: {line}")
    try:
        edited, expected = tomllib.loads(after), tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise fault from error
    expected.pop(key, None)
    if edited != expected | ({key: list(names)} if names else {}):
        raise fault
    _replace_file(target, after)


def save_readable_files(path: Path, files: Sequence[str]) -> None:
    """Let commands read the workspace files `files` in addition to those that the user's file lists already.

    On failure raises `ConfigError` and leaves the user's file unchanged.
    """
    target = path.resolve()
    before = read_small(target) or ""
    fault = ConfigError(
        f"{path} could not be changed safely.",
        hint=f"Write it yourself: [sandbox] readable = {json.dumps([escape(file) for file in files])}",
    )
    try:
        tree = tomllib.loads(before)
        table = tree.setdefault("sandbox", {})
        table["readable"] = list(dict.fromkeys((*table.get("readable", ()), *map(escape, files))))
        after = _set_readable(before, f"readable = {json.dumps(table['readable'])}\n")
        if tomllib.loads(after) != tree:
            raise fault
    except (tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        raise fault from error
    _replace_file(target, after)


def _set_readable(text: str, line: str) -> str:
    lines = text.splitlines(keepends=True)
    header = re.compile(r"\s*\[\s*sandbox\s*\]\s*(?:#.*)?$")
    start = next((index for index, current in enumerate(lines) if header.match(current)), -1)
    if start < 0:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[sandbox]\n{line}"
    end = next((index for index in range(start + 1, len(lines)) if _TABLE.match(lines[index])), len(lines))
    existing = next(
        (index for index in range(start + 1, end) if re.match(r"\s*readable\s*=", lines[index])), -1
    )
    if existing >= 0:
        lines[existing] = line
    else:
        lines[start] = lines[start].rstrip("\n") + "\n"
        lines[start + 1 : start + 1] = [line]
    return "".join(lines)


def _set_top_line(text: str, key: str, line: str) -> str:
    """Replace or add the line of a top-level key in a TOML text. If `line` is empty, remove the key."""
    lines = text.splitlines(keepends=True)
    end = next((index for index, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    existing = [index for index in range(end) if re.match(rf"{key}\s*=", lines[index])]
    replacement = [line] if line else []
    if existing:
        lines[existing[0] : existing[0] + 1] = replacement
    elif replacement:
        while end and not lines[end - 1].strip():
            end -= 1
        if end and not lines[end - 1].endswith("\n"):
            lines[end - 1] += "\n"
        lines[end:end] = replacement
    return "".join(lines)


def _replace_file(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Check the folder's permissions and free space.",
        ) from error
