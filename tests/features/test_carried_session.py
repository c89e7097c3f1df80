"""A fresh session that carries on from an earlier one: told in its log, its state, its chat, and to its model."""

from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, SessionNotFound, UsageError
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.session.headless_turn import run_turn
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

OLD, NEW = "ses_0000000000000001", "ses_0000000000000002"
SCRIPT = """\
answers:
  - text: We keep the hours in SQLite.
  - expect: {last_user: [go on]}
    text: As we said.
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return SessionOptions(
        cwd=tmp_path / "work",
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        model=f"scripted:{tmp_path / 'script.yaml'}",
    )


async def turn(options: SessionOptions, text: str) -> str:
    async with open_session(options) as opened:
        return (await run_turn(opened, text, lambda record: None)).answer


def events(options: SessionOptions, session_id: str) -> list[Envelope]:
    records = read_records(load_startup_context(options).store.folder(session_id))
    return [record for record in records if isinstance(record, Envelope)]


async def test_a_fresh_session_begins_with_what_the_earlier_one_came_to(options: SessionOptions) -> None:
    await turn(replace(options, session=OLD), "where do we keep the hours?")
    before = events(options, OLD)
    await turn(replace(options, session=NEW, carry_from=OLD), "tell me again")
    new = events(options, NEW)
    kinds = [event.payload.kind for event in new[:3]]
    assert kinds == ["session.started", "run.started", "session.context_loaded"]
    loaded = new[2].payload
    assert isinstance(loaded, SessionContextLoaded) and (loaded.from_session, loaded.turns) == (OLD, 1)
    assert "where do we keep the hours?" in str(loaded.summary)
    assert "We keep the hours in SQLite." in str(loaded.summary)
    assert fold(SessionState(), new).session_context == loaded.summary
    row = fold(Transcript(), new).entries[0]
    assert getattr(row, "is_summary", False) and OLD in row.lines[0]  # type: ignore[union-attr]
    assert events(options, OLD) == before


async def test_what_was_carried_over_is_in_every_request_and_survives_a_resume(
    options: SessionOptions,
) -> None:
    await turn(replace(options, session=OLD), "where do we keep the hours?")
    await turn(replace(options, session=NEW, carry_from=OLD), "tell me again")
    await turn(replace(options, session=NEW), "go on")
    new = events(options, NEW)
    assert "run.resumed" in [event.payload.kind for event in new]
    packed = [event.payload for event in new if isinstance(event.payload, ContextPacked)]
    assert len(packed) == 2 and all(one.session_context_injected for one in packed)
    summary = next(event.payload for event in new if isinstance(event.payload, SessionContextLoaded)).summary
    for one in packed:
        section = next(each for each in one.sections if each.name == "session_context")
        assert section.chars == len(str(summary))
    assert fold(SessionState(), new).session_context == summary
    assert fold(ModelMessages(), new)[0].role == "summary"


@pytest.mark.slow
async def test_a_session_that_was_carried_on_once_is_carried_on_again(options: SessionOptions) -> None:
    await turn(replace(options, session=OLD), "where do we keep the hours?")
    await turn(replace(options, session=NEW, carry_from=OLD), "tell me again")
    third = "ses_0000000000000003"
    await turn(replace(options, session=third, carry_from=NEW), "and once more")
    loaded = next(e.payload for e in events(options, third) if isinstance(e.payload, SessionContextLoaded))
    assert "tell me again" in str(loaded.summary) and "where do we keep the hours?" in str(loaded.summary)


@pytest.mark.slow
async def test_only_a_new_session_carries_on_and_only_from_one_in_which_something_was_said(
    options: SessionOptions,
) -> None:
    with pytest.raises(SessionNotFound):
        await turn(replace(options, carry_from="ses_nowhere"), "hello")
    await turn(replace(options, session=OLD), "where do we keep the hours?")
    with pytest.raises(ConfigError, match="only a new session"):
        await turn(replace(options, session=OLD, carry_from=OLD), "hello")
    async with open_session(replace(options, session=NEW)):
        pass
    with pytest.raises(UsageError, match="no messages"):
        await turn(replace(options, carry_from=NEW), "hello")
