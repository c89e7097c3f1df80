"""A pytest plugin for authors of plugins: runs a plugin in a session with a scripted model.

Add `pytest_plugins = ["tui_agent.testing"]` to the plugin's `conftest.py`; then tests can use the fixture
`plugin_session`.

Invariant: a session does not read or write the user's own files. Home, configuration and data are temporary folders.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import pytest

from tui_agent.api import open_session
from tui_agent.cli.plugin_trial import SIDE_WIDTH, pane_rows
from tui_agent.errors import PluginError, TuiAgentError
from tui_agent.plugin_host.bundled import golden_log
from tui_agent.plugin_host.discover import plugins_at
from tui_agent.protocol.base import JsonMap, Payload, text_preview
from tui_agent.protocol.display import DisplayBlock
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.tool import ToolFinished, ToolStatus
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import PolicyName
from tui_agent.store.log_repair import EVENTS_FILE

TIME_LIMIT_S = 60.0


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
    """Runs sessions with one plugin. Every method call runs a new session in the same workspace."""

    def __init__(self, plugin: Path, folder: Path) -> None:
        self.plugin = plugin
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        self._folder = folder
        self._log: Path | None = None
        """The folder of the log that `pane` reads."""

    def call(self, tool: str, *, policy: PolicyName = "bypass", **arguments: object) -> CallResult:
        """Let the model call a tool, and return the call's result.

        The default policy `bypass` allows every call that it can analyse.
        """
        events = self.run([{"calls": [{tool: arguments}]}, {"text": "Done."}], policy=policy)
        end = next(event for event in events if isinstance(event, ToolFinished))
        text = "\n".join(text_preview(part.text) for part in end.content if isinstance(part, TextContent))
        return CallResult(end.status, text, end.summary, end.display, end.data)

    def run(
        self,
        answers: Sequence[Mapping[str, object]],
        prompt: str = "go",
        *,
        policy: PolicyName = "bypass",
    ) -> list[Payload]:
        """Send a message or slash command, let a scripted model give `answers`, and return the session's events.

        An answer is a dict such as `{"text": "Hi."}`. Raises `PluginError` if the plugin fails.
        """
        script = self._folder / "answers.yaml"
        script.write_text(json.dumps({"answers": list(answers)}), encoding="utf-8")  # JSON is YAML
        events = anyio.run(partial(self._play, script, prompt, policy))
        for event in events:
            if isinstance(event, PluginFailed):
                raise PluginError(f"{event.plugin}: {event.message} ({event.where})")
        return events

    def pane(self, name: str, *, width: int = SIDE_WIDTH) -> list[str]:
        """Return the rows of the plugin's pane after the last session.

        If no session has run, the pane is drawn for a log that contains every kind of event.

        Raises `PluginError` if the fold or the pane fails.
        """
        log = self._log
        if log is None:
            log = self._folder / "log"
            log.mkdir()
            shutil.copy(golden_log(), log / EVENTS_FILE)
            self._log = log
        return pane_rows(self.plugin, name, log, width)

    async def _play(self, script: Path, prompt: str, policy: PolicyName) -> list[Payload]:
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
        return [record.payload for record in records if isinstance(record, Envelope)]


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
    """A `PluginSession` with a new workspace, for the plugin in the test's folder or in the folder above."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        home = tmp_path / name.lower()
        home.mkdir()
        monkeypatch.setenv(name, str(home))
    return PluginSession(find_plugin(request.path), tmp_path)
