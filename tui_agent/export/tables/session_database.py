"""A database of all sessions for SQL queries, in one DuckDB file beside the sessions.

Invariant: the file is derived from the logs and can be deleted at any time.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic_core import to_json

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import SessionNotFound, SessionVersionError, StoreFull, StoreUnusable, UsageError
from tui_agent.export.tables.session_tables import TABLES, read_session_rows
from tui_agent.fast_dataclass import dataclass
from tui_agent.store.session_index_rows import LogState

DATABASE: Final = "query.duckdb"
VERSION: Final = 2
BATCH: Final = 200
"""Maximum number of sessions added in one transaction."""
WAIT_S: Final = 10.0
"""Maximum seconds to wait for another program that uses the database."""
_PAUSE_S: Final = 0.05
_UNKNOWN_TABLE: Final = re.compile(r"Table with name (.{1,200}) does not exist")
_FIRST_WORD: Final = re.compile(r"(?:\s++|--[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/)*+([A-Za-z_]++)")
_LOCKED: Final = "Could not set lock"
# A statement can come from anywhere, and without these settings SQL could read and write any file of the user.
_SAFE: Final = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
    "lock_configuration": True,
}
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, and the names of its columns."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class DatabaseBusy(StoreUnusable):
    """Raised if another program uses the database and did not finish in time."""


class SessionDatabase:
    """The database of the sessions in `root`. Each call opens the database and closes it again."""

    def __init__(self, root: Path, *, wait_s: float = WAIT_S) -> None:
        self.path = root / DATABASE
        self._wait_s = wait_s
        self._duckdb = load_package("duckdb")

    def query(self, sql: str) -> QueryResult:
        """Run one read-only statement.

        Raise `UsageError` if the statement is wrong or not read-only, and `StoreUnusable` if the database cannot be
        opened.
        """
        self._require_query(sql)
        with self._connect(read_only=True) as connection:
            try:
                cursor = connection.execute(sql)
                columns = tuple(column[0] for column in cursor.description)
                return QueryResult(columns, cursor.fetchall())
            except self._duckdb.PermissionException as fault:
                raise UsageError(
                    "A query cannot use files, the network or extensions.",
                    hint=f"Select from {', '.join(TABLES)}.",
                ) from fault
            except self._duckdb.Error as fault:
                raise self._wrong_statement(fault) from fault

    def _wrong_statement(self, fault: BaseException) -> UsageError:
        match = _UNKNOWN_TABLE.search(str(fault))
        if match is None:
            return UsageError(_first_lines(fault))
        return UsageError(f"There is no table {match[1]!r}.", hint=f"Select from {', '.join(TABLES)}.")

    def _require_query(self, sql: str) -> None:
        allowed = {self._duckdb.StatementType.SELECT, self._duckdb.StatementType.EXPLAIN}
        allowed.add(self._duckdb.StatementType.MULTI)  # the type that DuckDB reports for PIVOT
        try:
            statements = self._duckdb.extract_statements(sql)
        except self._duckdb.Error as fault:
            raise UsageError(_first_lines(fault)) from fault
        if len(statements) != 1:
            problem = f"{len(statements)} statements were given." if statements else "The statement is empty."
            raise UsageError(problem, hint="Give one SELECT statement.")
        if statements[0].type not in allowed:
            word = _FIRST_WORD.match(statements[0].query)
            raise UsageError(
                f"{word[1].upper() if word else statements[0].type.name} is not allowed: a query only reads the sessions.",
                hint="Give a SELECT statement.",
            )

    def refresh(
        self, states: Sequence[LogState], progress: Progress = lambda done, total: None
    ) -> list[SessionVersionError]:
        """Bring the database up to date, reading only sessions with changed logs.

        Sessions of another version of tui-agent are left out. Return an error for each of these sessions.

        `progress`: called with the number of sessions read so far and the number to read.

        Raise `StoreFull` or `StoreUnusable` if the database cannot be written or opened, and `DatabaseBusy` if another
        program uses the database.
        """
        stale, removed = self._compare(states)
        refused: list[SessionVersionError] = []
        if not stale and not removed:
            return refused
        with self._connect(read_only=False) as connection:
            _delete_sessions(connection, removed)
            for start in range(0, len(stale), BATCH):
                progress(start, len(stale))
                refused += self._add(connection, stale[start : start + BATCH])
        progress(len(stale), len(stale))
        return refused

    def _compare(self, states: Sequence[LogState]) -> tuple[list[LogState], list[str]]:
        """Return the logs to read again, and the ids of the sessions to remove from the database."""
        known: dict[str, str] = {}
        if self._is_usable():
            with self._connect(read_only=True) as connection:
                known = dict(connection.execute("SELECT session, stamp FROM cache.logs").fetchall())
        else:
            self._create()
        stale = [state for state in states if known.get(state.folder.name) != _stamp(state)]
        return stale, sorted(known.keys() - {state.folder.name for state in states})

    def _is_usable(self) -> bool:
        if not self.path.exists():
            return False
        try:
            with self._connect(read_only=True) as connection:
                is_current: bool = connection.execute("SELECT version FROM cache.format").fetchone() == (
                    VERSION,
                )
                return is_current
        except self._duckdb.Error:
            return False

    def _create(self) -> None:
        # Also DuckDB's write-ahead log.
        for path in self.path.parent.glob(f"{DATABASE}*"):
            path.unlink(missing_ok=True)
        with self._connect(read_only=False) as connection:
            connection.execute("BEGIN")
            connection.execute("CREATE SCHEMA cache")
            connection.execute("CREATE TABLE cache.logs (session VARCHAR, stamp VARCHAR)")
            for table, columns in TABLES.items():
                types = ", ".join(f"{name} {type_name}" for name, type_name in columns.items())
                connection.execute(f"CREATE TABLE cache.{table} ({types})")
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM cache.{table}")
            connection.execute(f"CREATE TABLE cache.format AS SELECT {VERSION} AS version")
            connection.execute("COMMIT")
        self.path.chmod(0o600)

    def _add(self, connection: Any, states: Sequence[LogState]) -> list[SessionVersionError]:
        refused: list[SessionVersionError] = []
        with TemporaryDirectory(prefix=".query-", dir=self.path.parent) as folder:
            read = [state for state in states if _write_lines(Path(folder), state.folder, refused)]
            connection.execute("BEGIN")
            _delete_sessions(connection, [state.folder.name for state in states])
            for table, columns in TABLES.items():
                path = Path(folder) / f"{table}.jsonl"
                if path.exists():
                    connection.execute(f"INSERT INTO cache.{table} {_select_lines(columns)}", [str(path)])
            for state in read:
                connection.execute("INSERT INTO cache.logs VALUES (?, ?)", [state.folder.name, _stamp(state)])
            connection.execute("COMMIT")
        return refused

    @contextmanager
    def _connect(self, *, read_only: bool) -> Iterator[Any]:
        """Open the database, or raise `DatabaseBusy` if another program uses it for `WAIT_S`."""
        config = _SAFE if read_only else {"autoload_known_extensions": False}
        end = time.monotonic() + self._wait_s
        while True:
            try:
                connection = self._duckdb.connect(str(self.path), read_only=read_only, config=config)
                break
            except self._duckdb.IOException as fault:
                if _LOCKED not in str(fault):
                    if read_only:
                        raise
                    raise StoreUnusable(
                        f"{self.path} cannot be opened: {_first_lines(fault)}",
                        hint="Check the folder and the disk.",
                    ) from fault
                if time.monotonic() >= end:
                    raise DatabaseBusy(
                        f"Another query uses {self.path}.", hint="Wait until it has ended, and try again."
                    ) from fault
            time.sleep(_PAUSE_S)
        try:
            yield connection
        except (OSError, self._duckdb.Error) as fault:
            if read_only:
                raise
            reason = getattr(fault, "strerror", None) or _first_lines(fault)
            raise StoreFull(
                f"{self.path} could not be written: {reason}.", hint="Free some space."
            ) from fault
        finally:
            connection.close()


def _write_lines(folder: Path, session: Path, refused: list[SessionVersionError]) -> bool:
    """Append the rows of a session to the table files in `folder`. Return False if the session cannot be read."""
    try:
        rows = read_session_rows(session)
    except SessionVersionError as refusal:
        refused.append(refusal)
        return False
    except (SessionNotFound, OSError):
        return False  # It was removed meanwhile, or belongs to another user.
    for table, table_rows in rows.items():
        with (folder / f"{table}.jsonl").open("ab") as lines:
            lines.writelines(to_json(row) + b"\n" for row in table_rows)
    return True


def _select_lines(columns: Mapping[str, str]) -> str:
    """Return a SELECT statement that reads a file with one JSON object per line. The path is the statement's
    parameter.
    """
    is_time = {name for name, type_name in columns.items() if type_name == "TIMESTAMP"}
    types = ", ".join(
        f"{name}: '{'DOUBLE' if name in is_time else 'VARCHAR' if type_name == 'JSON' else type_name}'"
        for name, type_name in columns.items()
    )
    selected = ", ".join(
        f"make_timestamp(CAST(round({name} * 1e6) AS BIGINT))" if name in is_time else name
        for name in columns
    )
    return (
        f"SELECT {selected} FROM read_json(?, format = 'newline_delimited', columns = {{{types}}}, "
        "maximum_object_size = 2000000000)"
    )


def _delete_sessions(connection: Any, sessions: Sequence[str]) -> None:
    for table in ("logs", *TABLES):
        connection.execute(
            f"DELETE FROM cache.{table} WHERE session IN (SELECT unnest(?::VARCHAR[]))", [list(sessions)]
        )


def _stamp(state: LogState) -> str:
    return f"{state.file} {state.stamp}"


def _first_lines(fault: BaseException) -> str:
    return " ".join(line.strip() for line in str(fault).split("\n\n")[0].splitlines())
