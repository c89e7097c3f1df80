"""A session opened from another folder uses what belongs to its own workspace: notes, settings and trusted files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.config.extensions.note_files import notes_folder
from tui_agent.config.project.trust import current_trust_keys
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

SESSION = "ses_0000000000000001"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    """Options of a start in the folder `here`, for a session in the folder `there`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("here", "there"):
        (tmp_path / name / ".tui_agent").mkdir(parents=True)
    return SessionOptions(
        cwd=tmp_path / "here",
        client="headless",
        interactive=False,
        ignore_project=True,
        data_dir=tmp_path / "data",
        session=SESSION,
    )


async def play(options: SessionOptions, script: Path) -> list[ToolFinished]:
    finished: list[ToolFinished] = []

    def collect(record: object) -> None:
        payload = getattr(record, "payload", None)
        if isinstance(payload, ToolFinished):
            finished.append(payload)

    async with open_session(replace(options, model=f"scripted:{script}")) as opened:
        await run_turn(opened, "go on", collect)
    return finished


@pytest.mark.slow
async def test_notes_and_settings_are_those_of_the_sessions_workspace(
    options: SessionOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, script = tmp_path / "there", tmp_path / "script.yaml"
    for name, symbols in (("here", "ascii"), ("there", "unicode")):
        (tmp_path / name / ".tui_agent" / "config.toml").write_text(f'symbols = "{symbols}"\n')
        folder = notes_folder(
            load_startup_context(replace(options, session=None, cwd=tmp_path / name)).config
        )
        folder.mkdir(parents=True)
        (folder / "lint.md").write_text(f"# Lint\n\nThe linter of {name}.\n")
    search = {"text": "I look.", "calls": [{"search_notes": {"query": "linter"}}]}
    script.write_text(json.dumps({"answers": [{"text": "Yes."}, search, {"text": "Found."}]}))
    await play(replace(options, cwd=there), script)

    keys = (*current_trust_keys(there), *current_trust_keys(tmp_path / "here"))
    base = load_startup_context(replace(options, trusted_once=keys))
    assert base.options.cwd == there and base.config.symbols == "unicode"
    [found] = await play(options, script)
    assert "The linter of there." in str(found.content)


def test_a_new_session_and_one_whose_workspace_is_gone_use_the_folder_of_the_start(
    options: SessionOptions, tmp_path: Path
) -> None:
    assert load_startup_context(options).options.cwd == tmp_path / "here"
    assert load_startup_context(replace(options, session="latest")).options.cwd == tmp_path / "here"
    assert load_startup_context(replace(options, session="../x")).options.cwd == tmp_path / "here"
