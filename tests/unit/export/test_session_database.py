"""All sessions as tables for SQL: their rows, what keeps them current, and that a query only reads."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.golden import golden_session
from tests.stubs.rows import rows
from tests.stubs.small_disk import small_disk
from tests.stubs.store import said, store
from tests.stubs.story import requested, responded
from tui_agent.errors import StoreError, UsageError
from tui_agent.export.tables.session_database import DATABASE, DatabaseBusy, SessionDatabase
from tui_agent.export.tables.session_tables import TABLES
from tui_agent.folds.projection import fold
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_store import SessionStore

PAGE = Path(__file__).parents[3] / "docs" / "query.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def golden_store(root: Path, names: dict[str, str]) -> SessionStore:
    """A store with golden logs under the ids of sessions."""
    for session, name in names.items():
        golden_session(root, name).rename(root / "sessions" / session)
    return store(root)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> SessionStore:
    """Two golden sessions, read into the database."""
    names = {"ses_1": "night_shift", "ses_2": "every_kind"}
    recorded = golden_store(tmp_path_factory.mktemp("tables"), names)
    SessionDatabase(recorded.root).refresh(recorded.log_states())
    return recorded


def query(sessions: SessionStore, sql: str) -> list[tuple[Any, ...]]:
    return SessionDatabase(sessions.root).query(sql).rows


def test_the_tables_have_the_figures_of_the_trace(recorded: SessionStore) -> None:
    records = read_records(recorded.folder("ses_1"))
    metrics = fold(Metrics(), records)
    found = query(
        recorded,
        """SELECT (SELECT count(*) FROM parts WHERE session = 'ses_1'), count(*), sum(input_tokens),
                  sum(output_tokens), round(sum(cost_usd), 6) FROM costs WHERE session = 'ses_1'""",
    )
    assert metrics.cost_usd is not None
    assert found == [
        (
            metrics.parts,
            metrics.model_calls,
            metrics.input_tokens,
            metrics.output_tokens,
            round(metrics.cost_usd, 6),
        )
    ]
    kinds = dict(query(recorded, "SELECT kind, count(*) FROM events WHERE session = 'ses_1' GROUP BY kind"))
    assert kinds == {kind: count for kind, count in metrics.kinds.items() if kind != "model.delta"}
    [(title, turns, outcome)] = query(
        recorded, "SELECT title, turns, outcome FROM sessions WHERE session = 'ses_1'"
    )
    assert (title, turns, outcome) == ("night-shift-hours", 2, "done")
    assert query(recorded, "SELECT count(*) FROM parts WHERE session = 'ses_2' AND NOT on_branch") == [(3,)]


def test_the_page_documents_every_column_and_ten_queries_that_have_rows(recorded: SessionStore) -> None:
    lines = {line.split("`")[1]: line for line in PAGE.read_text().splitlines() if line.startswith("| `")}
    for table, columns in TABLES.items():
        assert set(re.findall(r"`(\w+)`", lines[table])) >= set(columns), table
        described = query(recorded, f"SELECT column_name FROM (DESCRIBE {table})")
        assert [name for (name,) in described] == list(columns)
    assert len(QUERIES) == 10
    without_rows = [sql for sql in QUERIES if not query(recorded, sql)]
    assert without_rows == []


@rows(
    "sql, reason",
    [
        ("COPY events TO 'out.csv'", "COPY is not allowed"),
        ("COPY (SELECT 1) TO '/dev/stdout'", "COPY is not allowed"),
        ("SELECT * FROM read_csv('/etc/passwd')", "cannot use files"),
        ("SELECT * FROM read_text('/etc/passwd')", "cannot use files"),
        ("SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')", "cannot use files"),
        ("SELECT * FROM glob('/etc/*')", "cannot use files"),
        ("SELECT * FROM read_parquet('http://127.0.0.1:1/x')", "cannot use files"),
        ("SELECT * FROM read_duckdb('/other.duckdb')", "cannot use files"),
        ("SELECT * FROM duckdb_secrets()", "cannot use files"),
        ("SELECT * FROM '/etc/passwd'", "There is no table '/etc/passwd'"),
        ("INSTALL httpfs", "INSTALL is not allowed"),
        ("LOAD httpfs", "LOAD is not allowed"),
        ("ATTACH 'other.duckdb'", "ATTACH is not allowed"),
        ("DELETE FROM events", "DELETE is not allowed"),
        ("INSERT INTO cache.events SELECT * FROM events", "INSERT is not allowed"),
        ("CREATE TABLE t AS SELECT 1", "CREATE is not allowed"),
        ("SET enable_external_access = true", "SET is not allowed"),
        ("PRAGMA database_list", "PRAGMA is not allowed"),
        ("EXPLAIN ANALYZE DELETE FROM cache.events", "read-only mode"),
        ("SELECT 1; DROP TABLE cache.events", "2 statements were given"),
        ("", "The statement is empty"),
        ("SELECT * FROM nosuch", "There is no table 'nosuch'"),
        ("SELCT 1", "syntax error"),
        ("SELECT nothing FROM parts", "Candidate bindings"),
    ],
)
def test_a_query_only_reads_the_sessions(sql: str, reason: str, recorded: SessionStore) -> None:
    before = (recorded.root / DATABASE).read_bytes()
    with pytest.raises(UsageError) as refused:
        query(recorded, sql)
    assert reason in str(refused.value)
    assert (recorded.root / DATABASE).read_bytes() == before


def test_a_changed_session_is_read_again_and_a_removed_one_is_gone(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("ses_a")
    log.append(said("go"))
    log.append(TurnStarted(turn=1))
    other = sessions.create("ses_b")
    other.append(said("words"))
    other.close()
    database, seen = SessionDatabase(sessions.root), []

    def refresh() -> list[tuple[Any, ...]]:
        seen.clear()
        database.refresh(sessions.log_states(), lambda done, total: seen.append((done, total)))
        return database.query("SELECT session, count(*) FROM events GROUP BY 1 ORDER BY 1").rows

    assert (refresh(), seen) == ([("ses_a", 2), ("ses_b", 1)], [(0, 2), (2, 2)])
    assert (refresh(), seen) == ([("ses_a", 2), ("ses_b", 1)], [])
    for payload in (
        requested("r0"),
        responded("r0", "hello"),
        SessionHeadMoved(to_seq=1, from_seq=3, reason="undo"),
    ):
        log.append(payload)
    log.close()
    shutil.rmtree(other.folder)
    assert (refresh(), seen) == ([("ses_a", 5)], [(0, 1), (1, 1)])
    assert database.query("SELECT seq, on_branch FROM events ORDER BY seq").rows == [
        (0, True),
        (1, True),
        (2, False),
        (3, False),
        (4, True),
    ]
    assert database.query("SELECT model, turn, cost_usd FROM costs").rows == [("fast-1", 1, 0.5)]


def test_a_forks_own_events_alone_are_counted(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("ses_a")
    for payload in (said("go"), requested("r0"), responded("r0", "hello")):
        log.append(payload)
    log.close()
    sessions.fork("ses_a", 2, "ses_b")
    database = SessionDatabase(sessions.root)
    database.refresh(sessions.log_states())
    assert database.query("SELECT session, sum(cost_usd) FROM costs GROUP BY 1").rows == [("ses_a", 0.5)]
    assert database.query("SELECT seq, kind FROM events WHERE session = 'ses_b'").rows == [
        (3, "session.forked")
    ]
    assert database.query("SELECT parent FROM sessions WHERE session = 'ses_b'").rows == [("ses_a",)]


@pytest.mark.slow
def test_a_damaged_or_older_database_is_made_again(tmp_path: Path) -> None:
    sessions = golden_store(tmp_path, {"ses_1": "night_shift"})
    database = SessionDatabase(sessions.root)
    for damage in (b"", b"no database" * 1000, b"\0" * 20_000):
        (sessions.root / DATABASE).write_bytes(damage)
        database.refresh(sessions.log_states())
        assert database.query("SELECT count(*) > 100 FROM events").rows == [(True,)]
    with database._connect(read_only=False) as connection:
        connection.execute("UPDATE cache.format SET version = 0")
        connection.execute("DELETE FROM cache.events")
    database.refresh(sessions.log_states())
    assert database.query("SELECT count(*) > 100 FROM events").rows == [(True,)]


def test_a_query_waits_for_another_program_and_tells_if_it_takes_too_long(recorded: SessionStore) -> None:
    holder = (
        "import duckdb, sys\n"
        f"connection = duckdb.connect({str(recorded.root / DATABASE)!r})\n"
        "print('open', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(DatabaseBusy, match="Another query uses"):
            SessionDatabase(recorded.root, wait_s=0.1).query("SELECT 1")
        other.communicate("")
    assert query(recorded, "SELECT 1") == [(1,)]


def test_a_full_disk_is_named_and_the_sessions_stay_as_they_are(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        sessions = golden_store(disk, {"ses_1": "night_shift"})
        log = (sessions.folder("ses_1") / "events.jsonl").read_bytes()
        (disk / "filler").write_bytes(b"x" * (os.statvfs(disk).f_bavail * 4096 - 40_000))
        database = SessionDatabase(sessions.root)
        with pytest.raises(StoreError, match=r"query\.duckdb could not be written: No space left on device"):
            database.refresh(sessions.log_states())
        assert (sessions.folder("ses_1") / "events.jsonl").read_bytes() == log
        assert [path.name for path in sessions.root.iterdir() if path.name.startswith(".query")] == []
        (disk / "filler").unlink()
        database.refresh(sessions.log_states())
        assert database.query("SELECT count(*) > 100 FROM events").rows == [(True,)]
