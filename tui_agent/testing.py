"""A pytest plugin for authors of plugins: runs a plugin in a session with a scripted model.

To use the fixture `plugin_session`, add `pytest_plugins = ["tui_agent.testing"]` to the plugin's `conftest.py`.

Invariant: a session does not read or write the user's own files.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tui_agent.api import open_session
from tui_agent.cli.plugins.trial import SIDE_WIDTH, pane_rows
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_host.bundled_files import golden_log
from tui_agent.plugin_host.discover import plugins_at
from tui_agent.protocol.display_blocks import DisplayBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.parts import text_previews
from tui_agent.protocol.settings import PolicyName
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.store.log_repair import EVENTS_FILE

TIME_LIMIT_S = 60.0
UPDATE_GOLDEN = "UPDATE_GOLDEN"
"""Environment variable. If it is set, `check_golden_log` writes the golden log instead of comparing it."""
_LEFT_OUT = frozenset(
    {
        "agent.state_changed",
        "checkpoint.planned",
        "checkpoint.taken",
        "context.packed",
        "memory.updated",
        "model.delta",
        "model.requested",
        "session.titled",
    }
)
"""Kinds of events that a golden log does not contain. They depend more on tui-agent than on the plugin."""
_VARYING = frozenset({"digest", "duration_ms", "first_token_ms", "provider_id", "usage"})
"""Fields of events that a golden log does not contain. They differ between runs or versions."""
_ID = re.compile(r"\b([a-z]{3,4})_[0-9a-f]{12}\b")


@dataclass(frozen=True)
class CallResult:
    """The result of a tool call, in the forms for the model, the user and programs."""

    status: ToolStatus
    """`ok`, `failed`, `denied`, `invalid` or `interrupted`."""
    text: str
    summary: str
    display: tuple[DisplayBlock, ...]
    data: JsonMap


class PluginSession:
    """Runs sessions with one plugin. Each call of `call` or `run` opens a new session in the same workspace."""

    def __init__(self, plugin: Path, folder: Path, golden: Path) -> None:
        self.plugin = plugin
        self.golden = golden
        """The folder of the golden logs."""
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self._folder = folder
        self._log: Path | None = None
        """The folder of the session shown by `pane`."""
        self._events: list[Envelope] = []
        """The events of the last session."""

    def call(self, tool: str, *, policy: PolicyName = "bypass", **arguments: object) -> CallResult:
        """Let the model call a tool, and return the call's result.

        The default policy `bypass` allows every call that it can analyse.
        """
        events = self.run([{"calls": [{tool: arguments}]}, {"text": "Done."}], policy=policy)
        end = next(event.payload for event in events if isinstance(event.payload, ToolFinished))
        text = "\n".join(text_previews(end.content))
        return CallResult(end.status, text, end.summary, end.display, end.data)

    def run(
        self,
        answers: Sequence[Mapping[str, object]],
        prompt: str = "go",
        *,
        policy: PolicyName = "bypass",
    ) -> list[Envelope]:
        """Send a message or slash command, let a scripted model give `answers`, and return the session's events.

        An answer is a dict such as `{"text": "Hi."}`. Raise `PluginError` if the plugin fails.
        """
        script = self._folder / "answers.yaml"
        script.write_text(json.dumps({"answers": list(answers)}), encoding="utf-8")  # JSON is YAML
        self._events = anyio.run(partial(self._play, script, prompt, policy))
        for event in self._events:
            match event.payload:
                case PluginFailed(plugin=plugin, message=message, where=where):
                    raise PluginError(f"{plugin}: {message} ({where})")
        return self._events

    def check_golden_log(self, name: str) -> None:
        """Compare the last session's events, from its message on, with `golden/NAME.jsonl` beside the tests.

        In the file, ids are replaced by numbers. Times, paths of temporary folders and events of tui-agent itself are
        left out. Raise `AssertionError` with the differences.

        The environment variable `UPDATE_GOLDEN` makes this method write the file instead.
        """
        file = self.golden / f"{name}.jsonl"
        lines = _golden_lines(self._events, self._folder)
        if os.environ.get(UPDATE_GOLDEN):
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(lines), encoding="utf-8")
            return
        if not file.is_file():
            raise AssertionError(
                f"There is no golden log {file}. To write it, run the test once with {UPDATE_GOLDEN}=1."
            )
        expected = file.read_text(encoding="utf-8").splitlines(keepends=True)
        if lines != expected:
            difference = "".join(unified_diff(expected, lines, str(file), "this session"))
            raise AssertionError(
                f"The session differs from its golden log. If the new session is right, run the test once with {UPDATE_GOLDEN}=1.\n"
                f"{difference}"
            )

    def pane(self, name: str, *, width: int = SIDE_WIDTH) -> list[str]:
        """Return the rows of the plugin's pane after the last session.

        Without a session, the pane is drawn for a log with every kind of event. Raise `PluginError` if the fold or the
        pane fails.
        """
        log = self._log
        if log is None:
            log = self._folder / "log"
            log.mkdir()
            shutil.copy(golden_log(), log / EVENTS_FILE)
            self._log = log
        return pane_rows(self.plugin, name, log, width)

    async def _play(self, script: Path, prompt: str, policy: PolicyName) -> list[Envelope]:
        opened = open_session(
            self.workspace,
            model=f"scripted:{script}",
            policy=policy,
            plugin_dirs=(self.plugin,),
            data_dir=self._folder / "data",
        )
        with anyio.fail_after(TIME_LIMIT_S):
            async with opened as session:
                async for _ in session.run(prompt):
                    pass
                records = await session.follow().next_batch()
                self._log = self._folder / "data" / "sessions" / session.id
        return [record for record in records if isinstance(record, Envelope)]


def _golden_lines(events: Sequence[Envelope], folder: Path) -> list[str]:
    """Return the lines of a golden log, one JSON line per event. Events without a cause are left out."""
    numbers: dict[str, str] = {}

    # Ids are random, so each gets a number in the order of appearance.
    def number(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[1]}_{len(numbers) + 1}")

    lines = []
    for event in events:
        if event.cause is None or event.payload.kind in _LEFT_OUT:
            continue
        fields = event.payload.model_dump(mode="json", exclude=set(_VARYING))
        line = json.dumps({"agent": event.agent, **_without_empty_fields(fields)}, ensure_ascii=False)
        lines.append(_ID.sub(number, line.replace(str(folder), "…")) + "\n")
    return lines


def _without_empty_fields(value: Any) -> Any:
    """Return a JSON value without empty and false fields, so that a new, unused field does not change a golden log."""
    match value:
        case dict():
            return {
                key: _without_empty_fields(field)
                for key, field in value.items()
                if field is not False and field not in (None, "", [], {})
            }
        case list():
            return [_without_empty_fields(item) for item in value]
    return value


def find_plugin(test: Path) -> Path:
    """Return the folder of a test file's plugin: the file's folder, or the folder above `tests/`."""
    folder = test.parent.parent if test.parent.name == "tests" else test.parent
    if not plugins_at(folder):
        raise TuiAgentError(f"There is no plugin in {folder}.")
    return folder


@pytest.fixture
def plugin_session(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> PluginSession:
    """A `PluginSession` with a new workspace, for the plugin in the test's folder or its parent."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        home = tmp_path / name.lower()
        home.mkdir()
        monkeypatch.setenv(name, str(home))
    return PluginSession(find_plugin(request.path), tmp_path, request.path.parent / "golden")
