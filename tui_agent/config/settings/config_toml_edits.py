"""Edits of the user's configuration file.

Invariant: only the edited keys change, and an invalid configuration is never written.
"""

import tomllib
from collections.abc import Callable, Sequence
from glob import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tui_agent.config.small_files import read_small, write_private
from tui_agent.errors import ConfigError

Value: TypeAlias = str | bool | int | float | list[str]


def save_value(
    path: Path, key: tuple[str, ...], value: Value | None, check: Callable[[str, Path], object] | None = None
) -> None:
    """Set a key of the user's file, such as `("sandbox", "mode")`. If the value is None, remove the key.

    `check`: called with the new text and the path. Raises `ConfigError` if the text is not valid.

    On failure, raise `ConfigError` and leave the file unchanged.
    """
    # Imported here, because it is slow and rarely needed.
    tomlkit = import_module("tomlkit")
    broken: type[Exception] = import_module("tomlkit.exceptions").TOMLKitError
    target = path.resolve()
    before = read_small(target) or ""
    try:
        document = tomlkit.parse(before)
        _set(document, key, value)
        after = _move_above_next_comment(before, document.as_string())
        expected = tomllib.loads(before)
        _set(expected, key, value)
        if tomllib.loads(after) != expected:
            raise TypeError
    except (broken, tomllib.TOMLDecodeError, TypeError, RecursionError) as error:
        line = ".".join(key) + ("" if value is None else f" = {tomlkit.item(value).as_string()}")
        hint = f"Remove the line yourself: {line}" if value is None else f"Write the line yourself: {line}"
        raise ConfigError(f"{path} could not be changed safely.", hint=hint) from error
    if check is not None:
        check(after, path)
    if after != before:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        write_private(target, after, mode)


def save_plugin_names(
    path: Path, key: Literal["plugins_disabled", "plugins_enabled"], names: Sequence[str]
) -> None:
    """Set a list of plugins. On failure, raise `ConfigError` and leave the file unchanged."""
    save_value(path, (key,), list(names) or None)


def save_readable_files(path: Path, files: Sequence[str]) -> None:
    """Add workspace files to `sandbox.readable`, so that commands can read these secret files.

    On failure, raise `ConfigError` and leave the user's file unchanged.
    """
    try:
        before = tomllib.loads(read_small(path.resolve()) or "").get("sandbox", {}).get("readable", [])
        readable = list(dict.fromkeys([*before, *map(escape, files)]))
    except (tomllib.TOMLDecodeError, AttributeError, TypeError):
        readable = list(map(escape, files))  # What is wrong with the file is reported below.
    save_value(path, ("sandbox", "readable"), readable)


def _move_above_next_comment(before: str, after: str) -> str:
    """Return the text `after` with its new lines moved above a comment, if the comment belongs to the next table.

    `before`: the text without the new lines.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = next((row for row, (mine, other) in enumerate(zip(old, new, strict=False)) if mine != other), 0)
    added, rest = new[start : len(new) - len(old) + start], old[start:]
    if new[start + len(added) :] != rest or not rest or not rest[0].startswith("["):
        return after
    comment = start
    while comment and old[comment - 1].startswith("#"):
        comment -= 1
    if comment == start:
        return after
    place = comment
    while place and not old[place - 1].strip():
        place -= 1
    lines = [line for line in added if line.strip()]
    if not place or old[place - 1].startswith("#"):  # nothing but a comment on the whole file is above
        return "".join([*old[:comment], *lines, "\n", *old[comment:]])
    return "".join([*old[:place], *lines, *old[place:]])


def _set(tree: dict[str, Any], key: tuple[str, ...], value: Value | None) -> None:
    for name in key[:-1]:
        tree = tree.setdefault(name, {}) if value is not None else tree.get(name, {})
        if not isinstance(tree, dict):
            raise TypeError
    if value is None:
        tree.pop(key[-1], None)
    else:
        tree[key[-1]] = value
