"""The start model, the plugins that are off and the files with secrets that commands may read, written into the
user's configuration file as the user said.

Invariant: only the lines of those keys differ afterwards; comments, order and everything else stay. What
cannot be changed so is left as it was, with words about what to write by hand.
"""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from tui_agent.config.files import read_small
from tui_agent.errors import ConfigError

_TABLE = re.compile(r"\s*\[")


def model_lines(model: str, base_url: str) -> list[str]:
    """The lines that make this the model to start with."""
    return [f"{key} = {_text(value)}" for key, value in _wanted(model, base_url) if value]


def keep_model(path: Path, model: str, base_url: str) -> None:
    """Make this the model to start with. Raises `ConfigError`; the file is as it was then."""
    target = path.resolve()
    before = read_small(target) or ""
    after = before
    for key, value in _wanted(model, base_url):
        after = _set(after, key, value)
    try:
        said, tree = tomllib.loads(after), tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise _by_hand(path, model, base_url) from error
    for key, value in _wanted(model, base_url):
        tree.pop(key, None)
        if value:
            tree[key] = value
    if said != tree:
        raise _by_hand(path, model, base_url)
    _replace(target, after)


def keep_disabled(path: Path, names: tuple[str, ...]) -> None:
    """Make these the plugins that are not loaded. Raises `ConfigError`; the file is as it was then."""
    target = path.resolve()
    before = read_small(target) or ""
    line = f"plugins_disabled = {json.dumps(names)}"
    after = _put(before, "plugins_disabled", f"{line}\n" if names else "")
    fault = ConfigError(f"{path} could not be changed safely.", hint=f"Write it yourself: {line}")
    try:
        said, tree = tomllib.loads(after), tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise fault from error
    tree.pop("plugins_disabled", None)
    if said != ({**tree, "plugins_disabled": list(names)} if names else tree):
        raise fault
    _replace(target, after)


def keep_readable(path: Path, files: Sequence[str]) -> None:
    """Open these files of workspaces to commands, beside those that are open. Raises `ConfigError`; the file is as it was
    then."""
    target = path.resolve()
    before = read_small(target) or ""
    fault = ConfigError(
        f"{path} could not be changed safely.",
        hint=f"Write it yourself: [sandbox] readable = {json.dumps([escape(one) for one in files])}",
    )
    try:
        tree = tomllib.loads(before)
        table = tree.setdefault("sandbox", {})
        table["readable"] = list(dict.fromkeys((*table.get("readable", ()), *map(escape, files))))
        after = _put_in(before, "sandbox", "readable", f"readable = {json.dumps(table['readable'])}\n")
        if tomllib.loads(after) != tree:
            raise fault
    except (tomllib.TOMLDecodeError, AttributeError, TypeError) as error:
        raise fault from error
    _replace(target, after)


def _put_in(text: str, table: str, key: str, line: str) -> str:
    """The text with this line for a key of a table, which is made where it is missing."""
    lines = text.splitlines(keepends=True)
    header = re.compile(rf"\s*\[\s*{table}\s*\]\s*(?:#.*)?$")
    start = next((at for at, each in enumerate(lines) if header.match(each)), -1)
    if start < 0:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{line}"
    end = next((at for at in range(start + 1, len(lines)) if _TABLE.match(lines[at])), len(lines))
    held = next((at for at in range(start + 1, end) if re.match(rf"\s*{key}\s*=", lines[at])), -1)
    if held >= 0:
        lines[held] = line
    else:
        lines[start] = lines[start].rstrip("\n") + "\n"
        lines[start + 1 : start + 1] = [line]
    return "".join(lines)


def _wanted(model: str, base_url: str) -> tuple[tuple[str, str], ...]:
    return ("model", model), ("base_url", base_url)


def _by_hand(path: Path, model: str, base_url: str) -> ConfigError:
    lines = ", ".join(model_lines(model, base_url))
    return ConfigError(f"{path} could not be changed safely.", hint=f"Write it yourself: {lines}")


def _set(text: str, key: str, value: str) -> str:
    """The text with one key of the top table set, or without it where the value is empty."""
    return _put(text, key, f"{key} = {_text(value)}\n" if value else "")


def _put(text: str, key: str, line: str) -> str:
    """The text with this line for a key of the top table, or without the key where the line is empty."""
    lines = text.splitlines(keepends=True)
    end = next((at for at, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    held = [at for at in range(end) if re.match(rf"{key}\s*=", lines[at])]
    fresh = [line] if line else []
    if held:
        lines[held[0] : held[0] + 1] = fresh
    elif fresh:
        while end and not lines[end - 1].strip():
            end -= 1
        if end and not lines[end - 1].endswith("\n"):
            lines[end - 1] += "\n"
        lines[end:end] = fresh
    return "".join(lines)


def _text(value: str) -> str:
    """A TOML string: JSON's spelling is one."""
    return json.dumps(value, ensure_ascii=False)


def _replace(path: Path, text: str) -> None:
    """The whole file at once, with the permissions that it had."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.write_text(text, encoding="utf-8")
        if path.exists():
            fresh.chmod(path.stat().st_mode & 0o777)
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", hint="Check the folder's permissions and space."
        ) from error
