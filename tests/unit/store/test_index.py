"""The index answers as the logs do, keeps up with them, and is never needed."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.engine.tools.large_results import MAX_READ_BYTES
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import UserShellFinished, UserSteered
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextContent, TextPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.store.session_index import INDEX_FILE, SessionIndex
from tui_agent.store.session_search import scan_logs
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import SessionSummary, summarise_session

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))


def started(workspace: str) -> SessionStarted:
    return SessionStarted(workspace=workspace, product="p", settings=SETTINGS)


def talked(root: Path, count: int = 4) -> SessionStore:
    sessions = store(root)
    for number in range(count):
        log = sessions.create(f"ses_{number:03}")
        log.append(started(f"/work/{number % 2}"))
        log.append(SessionTitled(title=f"title {number}", titled_by="auto"))
        log.append(said(f"Warum fällt test_login_{number} durch? " + "x " * 6_000 + f"needle{number}"))
        log.append(
            ToolCalled(
                call_id=CallId("c"), name="edit", arguments={}, iteration=1, verb="edit", target="src/app.py"
            )
        )
        content = (TextContent(text=f"Traceback: KeyError {number}"),)
        log.append(ToolFinished(call_id=CallId("c"), name="edit", status="ok", part=0, content=content))
        log.append(
            ModelResponded(
                request_id=RequestId("r"),
                first_part=1,
                parts=(TextPart(text="The login is mended."),),
                finish="stop",
                usage=Usage(),
                cost_usd=None,
                duration_ms=1.0,
            )
        )
        log.close()
    return sessions


def hits(sessions: SessionStore, text: str, workspace: str | None = None) -> list[tuple[str, int]]:
    return [
        (found.session, found.seq) for found in sessions.index.search(sessions.log_states(), text, workspace)
    ]


def plain(sessions: SessionStore) -> list[SessionSummary]:
    found = [summarise_session(folder) for folder in sessions.folders()]
    return sorted((one for one in found if one), key=lambda one: (-one.updated, one.id))


def test_messages_answers_calls_and_results_are_found_newest_session_first(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    assert hits(sessions, "mended") == [(f"ses_{number:03}", 5) for number in (3, 2, 1, 0)]
    assert hits(sessions, "mended", "/work/1") == [("ses_003", 5), ("ses_001", 5)]
    assert hits(sessions, "mended", "/nowhere") == []
    assert hits(sessions, "app.py") == [(f"ses_{number:03}", 3) for number in (3, 2, 1, 0)]
    assert hits(sessions, "keyerror 2") == [("ses_002", 4)]
    assert hits(sessions, "FALLT login_1") == [("ses_001", 2)]
    assert hits(sessions, "needle2") == [("ses_002", 2)]
    assert hits(sessions, "title 3") == [("ses_003", 1)]
    (found,) = sessions.index.search(sessions.log_states(), "keyerror 2")
    assert (found.title, found.workspace, found.kind) == ("title 2", "/work/0", "tool.finished")
    assert "KeyError 2" in found.snippet


def test_all_text_of_a_result_that_was_sent_or_shown_is_found(tmp_path: Path) -> None:
    sessions = talked(tmp_path, 1)
    log = sessions.open("ses_000")
    first, second, third = (
        log.append(
            ToolFinished(
                call_id=CallId("d"), name="n", status="ok", part=1, full_output=output, content=content
            )
        ).seq
        for content, output in (
            ((TextContent(text="x " * 3_000 + "shortend"),), None),
            (
                (TextContent(text="x " * (MAX_READ_BYTES // 2 - 5) + "readend"), TextContent(text="note")),
                None,
            ),
            ((TextContent(text="3 failed"),), "x " * 100_000 + "outputend"),
        )
    )
    log.close()
    for word, seq in (("shortend", first), ("readend", second), ("note", second), ("outputend", third)):
        assert hits(sessions, word) == [("ses_000", seq)]
        (logged,) = scan_logs(sessions.log_states(), [word], None)
        assert logged.seq == seq


def test_the_text_of_an_edit_and_a_command_of_the_user_with_its_output_are_found(tmp_path: Path) -> None:
    sessions = talked(tmp_path, 1)
    log = sessions.open("ses_000")
    edits: JsonMap = {
        "path": "a.py",
        "edits": [{"old_text": "self._sep.join", "new_text": "Pairs are joined"}],
    }
    called = ToolCalled(
        call_id=CallId("d"), name="edit_file", arguments=edits, iteration=1, verb="edit", target="a.py"
    )
    shell = UserShellFinished(command="echo precious", output="shellout", exit_code=0, duration_ms=1.0)
    first, second = (log.append(payload).seq for payload in (called, shell))
    log.close()
    for words, seq in (
        ("self._sep.join", first),
        ("pairs joined", first),
        ("precious", second),
        ("shellout", second),
    ):
        assert hits(sessions, words) == [("ses_000", seq)]


def test_a_message_sent_while_the_agent_works_is_found_also_after_an_upgrade(tmp_path: Path) -> None:
    sessions = talked(tmp_path, 1)
    log = sessions.open("ses_000")
    seq = log.append(UserSteered(text="also check the zanzibar module")).seq
    log.close()
    assert hits(sessions, "zanzibar") == [("ses_000", seq)]
    (logged,) = scan_logs(sessions.log_states(), ["zanzibar"], None)
    assert (logged.seq, logged.kind) == (seq, "user.steered")
    with sqlite3.connect(sessions.index.path) as db:  # as version 9, which did not index these messages
        db.execute("DELETE FROM words WHERE rowid IN (SELECT number FROM texts WHERE kind = 'user.steered')")
        db.execute("DELETE FROM texts WHERE kind = 'user.steered'")
        db.execute("PRAGMA user_version = 9")
    db.close()
    assert hits(sessions, "zanzibar") == [("ses_000", seq)]


@pytest.mark.parametrize(
    "text", ["", '"', "'", "*", "a*", "NEAR(", "text:x", "-", "\x00", "AND OR", "(", "% _"]
)
def test_any_text_can_be_searched_for(tmp_path: Path, text: str) -> None:
    assert hits(talked(tmp_path, 1), text) in ([], hits(talked(tmp_path / "b", 1), text))


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    assert hits(sessions, "later") == []
    log = sessions.open("ses_001")
    seq = log.append(said("said later")).seq
    assert hits(sessions, "later") == [("ses_001", seq)]
    log.close()
    with sqlite3.connect(sessions.index.path) as db:
        before = db.execute("SELECT count(*) FROM texts").fetchone()
    db.close()
    assert hits(sessions, "later") == [("ses_001", seq)]
    sessions.remove("ses_002")
    assert hits(sessions, "needle2") == []
    with sqlite3.connect(sessions.index.path) as db:
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (before[0] - 5,)
    db.close()


def test_a_log_that_was_cut_or_replaced_is_read_again(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    assert len(hits(sessions, "mended")) == 4
    path = sessions.folder("ses_001") / "events.jsonl"
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(b"\n", 0, -1) + 1])
    assert hits(sessions, "mended") == [("ses_003", 5), ("ses_002", 5), ("ses_000", 5)]
    path.unlink()
    path.write_bytes(data)
    assert ("ses_001", 5) in hits(sessions, "mended")


def test_a_log_that_lost_its_end_in_a_crash_and_grew_again_is_read_again(tmp_path: Path) -> None:
    sessions = talked(tmp_path, 1)
    assert hits(sessions, "mended") == [("ses_000", 5)]
    path = sessions.folder("ses_000") / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-1])  # what was not on the disk yet
    log = sessions.open("ses_000")
    for number in range(6):
        log.append(said(f"again{number}"))
    log.close()
    assert sessions.list() == plain(sessions)
    assert [len(hits(sessions, f"again{number}")) for number in range(6)] == [1] * 6
    assert hits(sessions, "mended") == []


def garbage(index: SessionIndex) -> None:
    index.path.write_bytes(b"not a database at all" * 500)


def torn(index: SessionIndex) -> None:
    data = index.path.read_bytes()
    index.delete()
    index.path.write_bytes(data[:4_096] + b"\xff" * 8_192)


def other_version(index: SessionIndex) -> None:
    db = sqlite3.connect(index.path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def absent(index: SessionIndex) -> None:
    index.delete()


@pytest.mark.slow_variants
@pytest.mark.parametrize("harm", [absent, garbage, torn, other_version])
def test_an_index_that_is_no_use_is_made_again(tmp_path: Path, harm: Callable[[SessionIndex], None]) -> None:
    sessions = talked(tmp_path, 60)
    assert sessions.list() == plain(sessions)
    assert sessions.index.path.exists()
    assert len(hits(sessions, "mended")) == 50
    for _ in range(2):
        harm(sessions.index)
        assert sessions.list() == plain(sessions)
        harm(sessions.index)
        assert hits(sessions, "needle33") == [("ses_033", 2)]
        sessions.open("ses_001").close()
    assert sessions.list() == plain(sessions)


@pytest.mark.slow
def test_a_locked_index_keeps_nothing_from_being_listed_and_found(tmp_path: Path) -> None:
    sessions = talked(tmp_path, 60)
    assert sessions.list() == plain(sessions)
    blocker = sqlite3.connect(sessions.index.path, isolation_level=None)
    blocker.execute("PRAGMA locking_mode = EXCLUSIVE")
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        assert sessions.list() == plain(sessions)
        log = sessions.create("ses_new")
        log.append(said("quite new"))
        log.close()
        assert sessions.list() == plain(sessions)
    finally:
        blocker.close()
    assert hits(sessions, "quite new") == [("ses_new", 0)]


def test_a_search_tells_where_another_process_keeps_the_index_from_what_is_new(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    told: list[str] = []

    def found(text: str) -> list[str]:
        stands, behind = sessions.log_states(), lambda: told.append(text)
        both = sessions.index.search(stands, text, on_stale=behind)
        assert len(sessions.index.search_sessions(stands, text, on_stale=behind)) == len(both)
        return [one.session for one in both]

    assert found("needle2") == ["ses_002"] and told == []
    writer = sqlite3.connect(sessions.index.path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        assert found("needle2") == ["ses_002"] and told == [], "nothing is new: nothing is missing"
        log = sessions.create("ses_new")
        log.append(said("quite new"))
        log.close()
        assert found("quite new") == [] and told == ["quite new"] * 2
    finally:
        writer.close()
    assert found("quite new") == ["ses_new"] and len(told) == 2


def test_a_folder_without_place_for_an_index_is_read_through(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    (sessions.root / INDEX_FILE).mkdir()
    assert sessions.list() == plain(sessions)
    assert hits(sessions, "keyerror 2") == [("ses_002", 4)]
    assert hits(sessions, "mended", "/work/1") == [("ses_003", 5), ("ses_001", 5)]


def test_few_sessions_are_listed_without_leaving_an_index(tmp_path: Path) -> None:
    sessions = talked(tmp_path)
    assert sessions.list() == plain(sessions)
    assert not sessions.index.path.exists()
    shutil.rmtree(sessions.root)
    assert hits(sessions, "x") == []
