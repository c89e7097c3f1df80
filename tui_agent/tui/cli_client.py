"""Runs `tui-agent` itself as a child process, e.g. to list sessions or models, or to export a session.

Invariant: a call never blocks the event loop or touches the terminal.
"""

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from tui_agent.config.session_options import SessionOptions
from tui_agent.json_text import parse_json
from tui_agent.units import format_time_limit

PATIENCE_S: Final = 30.0
"""Time limit of a child process, in seconds. A child that writes a file (`--output`) has no limit."""
JsonRow: TypeAlias = dict[str, JsonValue]
RowT = TypeVar("RowT")


class Ask(Protocol):
    """A function that runs `tui-agent` and returns its exit status and output.

    `stdin`: standard input, for text that is too long for an argument.
    """

    async def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]: ...


class CommandLine:
    """Runs `tui-agent` in a child process, and kills it when the caller is cancelled."""

    def __init__(self, options: SessionOptions, environ: Mapping[str, str]) -> None:
        moved = {"TUI_AGENT_HOME": str(options.data_dir)} if options.data_dir is not None else {}
        # Keys go into the environment, because all users of the machine can see the arguments of a process.
        self._environ = {
            **environ,
            **moved,
            **dict(options.typed_keys),
            "NO_COLOR": "1",
            "PYTHONIOENCODING": "utf-8",
        }
        self._cwd = options.cwd

    async def __call__(self, *words: str, stdin: str = "") -> tuple[int, str]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # do not import from the work folder
            "-m",
            "tui_agent",
            *words,
            cwd=self._cwd,
            env=self._environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        limit_s = None if "--output" in words else PATIENCE_S
        try:
            output, _ = await asyncio.wait_for(child.communicate(stdin.encode("utf-8", "replace")), limit_s)
        except asyncio.CancelledError:
            _kill(child)
            raise
        except TimeoutError:
            _kill(child)
            await child.wait()
            return 1, f"tui-agent {' '.join(words[:2])} did not end within {format_time_limit(PATIENCE_S)}."
        return child.returncode or 0, output.decode("utf-8", "replace")


def _kill(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):  # the process has just ended
        child.kill()


def json_rows(text: str) -> list[JsonRow]:
    """Return the JSON objects in `text`, one per line; skip all other lines."""
    rows: list[JsonRow] = []
    for line in text.splitlines():
        try:
            value = parse_json(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(value)
    return rows


def read_rows(row_type: type[RowT], text: str) -> list[RowT]:
    """Parse each JSON line of `text` as a `row_type`; skip lines that do not match this dataclass."""
    adapter: TypeAdapter[RowT] = _adapter(row_type)  # type: ignore[arg-type]  # every class can be hashed
    rows: list[RowT] = []
    for row in json_rows(text):
        try:
            rows.append(adapter.validate_python(row))
        except ValidationError:
            continue
    return rows


@cache
def _adapter(row_type: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(row_type)


def non_json_text(text: str) -> str:
    """Join the lines that are not JSON into one message for the user."""
    words = " ".join(" ".join(line.split()) for line in text.splitlines() if not json_rows(line))
    return words.strip().removeprefix("tui-agent: ")


def text_of(row: JsonRow, *names: str) -> str:
    """Return the first non-empty field among `names` as text. If all are empty or missing, return an empty string."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
    return ""


def number_of(row: JsonRow, name: str) -> float:
    """Return the number in a field; 0 if the field is missing or not a number."""
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def words_of(options: Sequence[tuple[str, object]]) -> list[str]:
    """Return the command-line arguments for these (option, value) pairs. Options without a value are left out."""
    return [word for name, value in options if value for word in (name, str(value))]
