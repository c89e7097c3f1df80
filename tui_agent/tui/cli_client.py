"""Questions that the command line answers, asked as a program beside the app: sessions, models, doctor.

Invariant: nothing here blocks the loop or touches the terminal; what the program says comes back as text or JSON lines.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from pydantic import JsonValue

from tui_agent.config.options import SessionOptions
from tui_agent.tui.text import clean_line

PATIENCE_S = 30.0
JsonRow: TypeAlias = dict[str, JsonValue]


class Ask(Protocol):
    """Runs the product's own command line and gives its exit status and everything it said."""

    async def __call__(self, *words: str) -> tuple[int, str]: ...


class CommandLine:
    """`Ask` by a child process, which ends where the question is cancelled. `environ` is the child's."""

    def __init__(self, environ: Mapping[str, str], cwd: str) -> None:
        self._environ = {**environ, "NO_COLOR": "1"}
        self._cwd = cwd

    async def __call__(self, *words: str) -> tuple[int, str]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # the folder that is worked in is no place to import from
            "-m",
            "tui_agent",
            *words,
            cwd=self._cwd,
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            said, _ = await asyncio.wait_for(child.communicate(), PATIENCE_S)
        except asyncio.CancelledError:  # nobody waits for the answer any more
            child.kill()
            raise
        except TimeoutError:
            child.kill()
            await child.wait()
            return 1, f"tui-agent {' '.join(words)} did not end within {PATIENCE_S:.0f} s."
        return child.returncode or 0, said.decode("utf-8", "replace")


def command_line(options: SessionOptions, environ: Mapping[str, str]) -> CommandLine:
    """The command line in the place and with the keys of these options."""
    moved = {"TUI_AGENT_HOME": str(options.data_dir)} if options.data_dir is not None else {}
    return CommandLine({**environ, **moved, **dict(options.keys)}, str(options.cwd))


def place(options: SessionOptions) -> list[str]:
    """Words that tell the command line where to look, so that it finds what these options' sessions have."""
    folders = [("--plugin-dir", folder) for folder in options.plugin_dirs]
    return [*words_of([("--cwd", options.cwd), *folders]), *(["--no-plugins"] * options.no_plugins)]


def json_rows(text: str) -> list[JsonRow]:
    """The JSON objects among the lines; anything else is passed over."""
    rows: list[JsonRow] = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            rows.append(value)
    return rows


def beside_json(text: str) -> str:
    """What was said for a person beside the JSON objects, as one line."""
    words = " ".join(" ".join(line.split()) for line in text.splitlines() if not json_rows(line))
    return words.strip().removeprefix("tui-agent: ")


def text_of(row: JsonRow, *names: str) -> str:
    """The first of these fields that is a text or a number."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
    return ""


def number_of(row: JsonRow, name: str) -> float:
    """A number, or 0."""
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def words_of(options: Sequence[tuple[str, object]]) -> list[str]:
    """Options as words: those that were said."""
    return [word for name, value in options if value for word in (name, str(value))]


async def run_export(ask: Ask, *words: str) -> tuple[str, Literal["done", "error"]]:
    """Ask the command line for an export; return what to say of it, and how it ended."""
    status, said = await ask(*words)
    path = text_of(next(iter(json_rows(said)), {}), "path")
    if status == 0 and path:
        return f"Exported to {clean_line(path)}", "done"
    return clean_line(" ".join(said.split())) or "The session could not be exported.", "error"
