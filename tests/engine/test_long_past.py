"""A long session is taken up from the fold that was kept beside its log, and is the same as without it."""

import pickle
from pathlib import Path

import pytest

from tests.stubs.store import store
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.protocol.commands import SubmitPrompt, Undo
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.local_session import LocalSession
from tui_agent.store.blobs import BlobStore
from tui_agent.store.fold_cache import CACHE_FILE, MIN_EVENTS
from tui_agent.store.log_reader import iterate_records
from tui_agent.store.log_scan import read_records_from
from tui_agent.wiring.session import open_session

SESSION = "ses_0123456789ab"
CUTS = 12
SCRIPT = "answers:\n  - text: The next answer.\n  - text: And one more.\n"
MODEL = ModelInfo(profile="scripted", provider="scripted", model="scripted", window=10_000)


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of a log that is long enough, but for its beginning, which names the workspace."""
    data = tmp_path_factory.mktemp("long")
    log = store(data).create(SESSION)
    log.append(_started(data))
    for turn in range(1, MIN_EVENTS // 3 + 2):
        log.append(UserMessageReceived(text=f"question {turn}"))
        log.append(TurnStarted(turn=turn))
        log.append(TurnFinished(turn=turn, reason="finished"))
    log.close()
    return (data / "sessions" / SESSION / "events.jsonl").read_bytes().splitlines(keepends=True)[1:]


def _started(workspace: Path) -> SessionStarted:
    return SessionStarted(workspace=str(workspace), product="test", settings=SessionSettings(model=MODEL))


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long_log: list[bytes]) -> SessionOptions:
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    script = tmp_path / "script.yaml"
    script.write_text(SCRIPT)
    log = store(tmp_path / "data").create(SESSION)
    log.append(_started(workspace))
    log.close()
    with (tmp_path / "data" / "sessions" / SESSION / "events.jsonl").open("ab") as file:
        file.writelines(long_log)
    return SessionOptions(
        cwd=workspace,
        client="headless",
        model=f"scripted:{script}",
        policy="bypass",
        data_dir=tmp_path / "data",
        session=SESSION,
    )


def _folder(options: SessionOptions) -> Path:
    assert options.data_dir is not None
    return options.data_dir / "sessions" / SESSION


async def _until(opened: LocalSession, kind: str) -> None:
    follower = opened.follow(opened.log.previous_last_seq)
    while batch := await follower.next_batch():
        if any(getattr(record, "payload", None) and record.payload.kind == kind for record in batch):  # type: ignore[union-attr]
            break
    follower.close()


def _equals_the_log(opened: LocalSession, folder: Path) -> None:
    whole = list(iterate_records(folder, current_branch_only=True))
    recorder = opened._recorder
    assert recorder.state == fold(SessionState(), whole)
    assert recorder.messages() == fold(ModelMessages(), whole)


@pytest.mark.slow
async def test_it_is_kept_at_the_first_opening_and_taken_up_at_the_next(options: SessionOptions) -> None:
    folder = _folder(options)
    async with open_session(options) as first:
        assert (folder / CACHE_FILE).is_file()
        first.submit(SubmitPrompt(text="go on"))
        await _until(first, "turn.finished")
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    lines[5] = b"damaged" + lines[5][7:]  # what lies before it is not read again
    (folder / "events.jsonl").write_bytes(b"".join(lines))
    async with open_session(options) as second:
        assert "question 2" in str(second._recorder.messages()[:3])
        assert second._recorder.state.turn == MIN_EVENTS // 3 + 2
        assert not second._recorder.state.turn_running
        second.submit(SubmitPrompt(text="and on"))
        await _until(second, "turn.finished")
        assert "and on" in str(second._recorder.messages()[-2:])


@pytest.mark.slow
async def test_with_it_the_state_is_that_of_the_whole_log(options: SessionOptions) -> None:
    for _ in range(2):
        async with open_session(options) as opened:
            _equals_the_log(opened, _folder(options))
            opened.submit(SubmitPrompt(text="go on"))
            await _until(opened, "turn.finished")
            _equals_the_log(opened, _folder(options))


@pytest.mark.slow
async def test_after_a_crash_the_records_behind_it_are_folded_on(options: SessionOptions) -> None:
    folder = _folder(options)
    async with open_session(options) as first:
        early = (folder / CACHE_FILE).read_bytes()
        first.submit(SubmitPrompt(text="go on"))
        await _until(first, "turn.finished")
    lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    before = list(iterate_records(folder, current_branch_only=True))[:-CUTS]
    folds = SessionState(), ModelMessages()
    for each in folds:
        fold(each, before)
    kept = pickle.dumps(folds)  # quicker to copy than by deepcopy
    for cut in range(1, CUTS):  # somewhere in the last turn, with the fold that was kept before it
        (folder / "events.jsonl").write_bytes(b"".join(lines[:-cut]))
        (folder / CACHE_FILE).write_bytes(early)
        async with open_session(options) as again:
            written = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
            behind = list(read_records_from(b"".join(written[len(before) :]), BlobStore(folder)))
            assert behind
            state, messages = pickle.loads(kept)
            assert again._recorder.state == fold(state, behind), cut
            assert again._recorder.messages() == fold(messages, behind), cut


@pytest.mark.slow
async def test_a_turn_that_was_kept_can_still_be_undone(options: SessionOptions) -> None:
    async with open_session(options) as first:
        first.submit(SubmitPrompt(text="go on"))
        await _until(first, "turn.finished")
    async with open_session(options) as second:
        second.submit(Undo())
        await _until(second, "session.head_moved")
        _equals_the_log(second, _folder(options))
        assert "go on" not in str(second._recorder.messages()[-2:])
    async with open_session(options) as third:
        _equals_the_log(third, _folder(options))


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", b"{}\n", b"\x00" * 5_000])
async def test_a_damaged_one_is_ignored_and_written_anew(options: SessionOptions, data: bytes) -> None:
    folder = _folder(options)
    (folder / CACHE_FILE).write_bytes(data)
    async with open_session(options) as opened:
        _equals_the_log(opened, folder)
    assert len((folder / CACHE_FILE).read_bytes()) > 10_000
