"""Turns, cost, title, model and outcome of a session, from its log or from the index."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.stubs.golden import GOLDEN
from tests.stubs.store import said, store
from tui_agent.cli.sessions.preview import read_log_part
from tui_agent.folds.projection import fold
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import SessionHeadMoved, SessionStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnEnd, TurnFinished, TurnStarted
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_index_rows import SCHEMA, index_log
from tui_agent.store.session_search import SearchHit
from tui_agent.store.session_stats import MAX_BYTES
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import SessionSummary, summarise_session

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
STARTED = SessionStarted(workspace="/work", product="p", settings=SETTINGS)


def answer(cost: float | None, arguments: Mapping[str, object] | None = None) -> ModelResponded:
    call = ToolCallPart(call_id=CallId("c"), name="t", arguments=dict(arguments or {}))
    return ModelResponded(
        request_id=RequestId("r"),
        first_part=0,
        parts=(call,),
        finish="stop",
        usage=Usage(),
        cost_usd=cost,
        duration_ms=1.0,
    )


def asked() -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId("r"), call_id=CallId("c"), tool="run", verb="run", target="ls",
        effects=(), digest="", preview=(), choices=(),
    )  # fmt: skip


def decided() -> PermissionDecided:
    return PermissionDecided(
        call_id=CallId("c"), request_id=None, decision="allow", decided_by="user", policy="ask",
        rule_id="", reason="", digest="", effects=(),
    )  # fmt: skip


def closed() -> ToolFinished:
    return ToolFinished(
        call_id=CallId("c"), name="run", status="interrupted", part=None, content=(), summary=""
    )


def made(root: Path, *payloads: Payload, name: str = "ses_1") -> SessionStore:
    sessions = store(root)
    log = sessions.create(name)
    for payload in payloads:
        log.append(payload)
    log.close()
    return sessions


def shown(sessions: SessionStore, name: str = "ses_1") -> SessionSummary:
    return sessions.index.summary(sessions.folder(name))


def searched(sessions: SessionStore, text: str, workspace: str | None = None) -> list[SearchHit]:
    return sessions.index.search_sessions(sessions.log_states(), text, workspace)


def of(sessions: SessionStore, name: str = "ses_1") -> tuple[int, float | None, str]:
    found = shown(sessions, name)
    assert found.stats is not None
    return found.stats.turns, found.stats.cost_usd, found.state


STOPPED = TurnFinished(turn=2, reason="interrupted")


def moved(to_seq: int, from_seq: int) -> SessionHeadMoved:
    return SessionHeadMoved(to_seq=to_seq, from_seq=from_seq, reason="revert")


def ended(reason: TurnEnd) -> tuple[Payload, ...]:
    return STARTED, said("go"), TurnStarted(turn=1), TurnFinished(turn=1, reason=reason)


@pytest.mark.parametrize(
    ("payloads", "state"),
    [
        ((STARTED,), "empty"),
        (ended("finished"), "done"),
        (ended("model_error"), "failed"),
        (ended("rejected"), "failed"),
        (ended("interrupted"), "stopped"),
        (ended("cost_limit"), "stopped"),
        ((STARTED, said("go"), TurnStarted(turn=1)), "stopped"),
        ((STARTED, said("go")), "stopped"),
        ((*ended("finished"), moved(2, 3), STOPPED), "stopped"),
        ((*ended("finished"), moved(2, 3), STOPPED, moved(3, 5)), "done"),
        ((*ended("finished"), said("more"), TurnStarted(turn=2), STOPPED, moved(3, 6)), "done"),
        ((*ended("finished"), moved(0, 3)), "empty"),
        ((STARTED, said("go"), TurnStarted(turn=1), asked()), "waiting"),
        ((STARTED, said("go"), TurnStarted(turn=1), asked(), decided()), "stopped"),
        ((STARTED, said("go"), TurnStarted(turn=1), asked(), STOPPED), "waiting"),
        ((STARTED, said("go"), TurnStarted(turn=1), asked(), decided(), STOPPED), "stopped"),
        ((STARTED, said("go"), TurnStarted(turn=1), asked(), closed(), STOPPED), "stopped"),
    ],
)
def test_a_session_stands_as_its_newest_turn_does(
    tmp_path: Path, payloads: tuple[Payload, ...], state: str
) -> None:
    assert shown(made(tmp_path, *payloads), "ses_1").state == state


@pytest.mark.parametrize("back", [3, 20])
def test_a_session_stands_as_the_branch_does_also_where_it_went_far_back(tmp_path: Path, back: int) -> None:
    before = [said("x" * 2_000) for _ in range(100)]
    off = [said("y" * 2_000) for _ in range(100)]
    again = [TurnStarted(turn=2), STOPPED]
    log = [*ended("finished")[:3], *before[: back - 3], TurnFinished(turn=1, reason="finished")]
    payloads = [*log, *again, *off, *before, moved(back, len(log) + 201)]
    assert shown(made(tmp_path, *payloads)).state == "done"


def test_a_turn_without_an_end_runs_while_someone_holds_the_session(tmp_path: Path) -> None:
    sessions = made(tmp_path, STARTED, said("go"), TurnStarted(turn=1))
    log = sessions.open("ses_1")
    assert shown(sessions, "ses_1").state == "running"
    log.close()
    assert shown(sessions, "ses_1").state == "stopped"


def test_turns_and_costs_are_those_of_the_fold(tmp_path: Path) -> None:
    folder = store(tmp_path).folder("ses_0000night0shift")
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    metrics = fold(Metrics(), read_records(folder))
    found = summarise_session(folder)
    assert found is not None and found.stats is not None and metrics.cost_usd is not None
    assert found.stats.turns == metrics.turns
    assert found.stats.cost_usd == pytest.approx(metrics.cost_usd)
    assert (found.outcome, found.model) == ("done", "claude-sonnet-4-5")


def test_words_of_a_model_are_not_taken_for_a_cost_nor_a_turn(tmp_path: Path) -> None:
    trap = {"cost_usd": 7.0, "payload": {"kind": "turn.started", "turn": 9}}
    huge = {f"k{number}": "x" * 40 for number in range(4_000)}
    sessions = made(tmp_path, STARTED, answer(0.25, trap), answer(0.5, huge), answer(None, trap))
    assert of(sessions) == (0, 0.75, "empty")


def test_the_index_counts_on_where_it_stopped_and_says_what_the_log_says(tmp_path: Path) -> None:
    sessions = made(tmp_path, STARTED, SessionTitled(title="one", titled_by="auto"), *ended("finished")[1:])
    sessions.index.refresh(sessions.log_states())
    log = sessions.open("ses_1")
    for payload in (answer(0.5), SessionTitled(title="two", titled_by="user"), *ended("interrupted")[1:]):
        log.append(payload)
    log.close()
    (listed,) = sessions.list()
    assert listed == summarise_session(sessions.folder("ses_1"))
    assert (of(sessions), listed.title) == ((2, 0.5, "stopped"), "two")


def test_a_fork_counts_what_it_did_itself_also_when_it_was_made_whole(tmp_path: Path) -> None:
    sessions = made(tmp_path, STARTED, answer(0.5), *ended("finished")[1:])
    sessions.fork("ses_1", 4, "ses_2")
    assert of(sessions, "ses_2") == (0, None, "empty")
    found = shown(sessions, "ses_2")
    assert (found.parent, found.forked_at) == ("ses_1", 4)
    log = sessions.open("ses_2")
    for payload in (*ended("rejected")[1:], answer(0.25)):
        log.append(payload)
    log.close()
    assert of(sessions, "ses_2") == (1, 0.25, "failed")
    sessions.remove("ses_1")
    found = shown(sessions, "ses_2")
    assert (of(sessions, "ses_2"), found.parent, found.forked_at) == ((1, 0.25, "failed"), "", None)


def long_log(root: Path) -> SessionStore:
    early = (STARTED, SessionTitled(title="long", titled_by="auto"), *ended("finished")[1:], answer(0.5))
    sessions = made(root, *early, *ended("rejected")[1:], answer(0.5))
    path = sessions.folder("ses_1") / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join(
            (*lines[: len(early)], (b"x" * 4_095 + b"\n") * (MAX_BYTES // 4_096 + 1), *lines[len(early) :])
        )
    )
    return sessions


def test_a_long_log_is_listed_without_being_counted_and_counted_when_the_index_reads_it(
    tmp_path: Path,
) -> None:
    sessions = long_log(tmp_path)
    found = shown(sessions, "ses_1")
    assert (found.stats, found.title, found.state, found.model) == (None, "long", "failed", "m")
    sessions.index.search(sessions.log_states(), "go")
    assert of(sessions) == (2, 1.0, "failed")
    assert shown(sessions, "ses_1").title == "long"


def test_a_glimpse_of_a_long_log_is_its_end_and_its_first_message(tmp_path: Path) -> None:
    sessions = long_log(tmp_path)
    folder = sessions.folder("ses_1")
    seen = read_log_part(folder, (folder / "events.jsonl").stat().st_size, max_bytes=4096)
    assert not seen.is_complete and seen.first_message is not None
    assert seen.first_message.payload.text == "go"
    assert seen.records[-1].seq == shown(sessions, "ses_1").events - 1
    short = made(tmp_path / "b", *ended("finished"))
    assert read_log_part(short.folder("ses_1"), 2_000).is_complete


def test_a_search_for_sessions_gives_each_once_with_its_newest_place(tmp_path: Path) -> None:
    sessions = made(tmp_path, STARTED, said("the night shift"), said("a shift more"))
    made(tmp_path, STARTED, said("nothing here"), name="ses_2")
    (found,) = searched(sessions, "shif")
    assert (found.session, found.seq, found.hit_count, found.snippet) == ("ses_1", 2, 2, "a shift more")
    sessions.index.path.write_bytes(b"not a database at all" * 500)
    assert searched(sessions, "shif") == [found]
    assert searched(sessions, "shif", "/elsewhere") == []


def test_a_long_log_is_taken_in_bit_by_bit(tmp_path: Path) -> None:
    sessions = made(
        tmp_path, *ended("finished"), *(said(f"word{number} " + "x" * 300) for number in range(40))
    )
    (stand,) = sessions.log_states()
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        rounds = 1
        while index_log(db, stand, max_bytes=2_000):
            rounds += 1
            assert db.execute("SELECT read_to FROM sessions").fetchone() < (stand.size,)
        assert rounds > 5
        assert db.execute("SELECT read_to FROM sessions").fetchone() == (stand.size,)
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (41,)
