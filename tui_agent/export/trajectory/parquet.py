"""The file `trace.parquet` of a trajectory, written and read with DuckDB.

Invariant: a reader never finds an incomplete file.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Final

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import StoreFull, UsageError
from tui_agent.export.trajectory.parquet_rows import (
    PART_COLUMNS,
    RUN_COLUMNS,
    SCHEMA_VERSION,
    Row,
    part_to_row,
    rows_to_trace,
    run_to_row,
    to_json_lines,
)
from tui_agent.export.trajectory.records import AgentTrace, RunRecord
from tui_agent.folds.session.branches import Stretch

TEMPORARY_PREFIX: Final = ".writing-"
MAX_LINE_BYTES: Final = 2_000_000_000
_LAST_SEQ: Final = "last_seq"
_SCHEMA: Final = "schema"


class DamagedParquet(UsageError):
    """Raised if a parquet file cannot be read, for example because it was cut short."""


def write_trace(trace: AgentTrace, dest: Path) -> None:
    """Write a trajectory to a parquet file, replacing an older one. Raise `StoreFull` if the file cannot be written."""
    with temporary_folder(dest.parent) as folder:
        lines = folder / "parts.jsonl"
        with translate_write_errors(dest):
            lines.write_bytes(to_json_lines(map(part_to_row, trace.parts)))
        merge_parts(dest, trace.run, lines, folder=folder)


def read_trace(path: Path) -> AgentTrace:
    """Read a trajectory from a parquet file of this or another program.

    Raise `UsageError` if the file does not exist, and `DamagedParquet` if it cannot be read.
    """
    return rows_to_trace(read_rows(path))


def read_rows(path: Path, limit: int | None = None) -> list[Row]:
    """Return the first rows of a parquet file.

    Raise `UsageError` if the file does not exist, and `DamagedParquet` if it cannot be read.
    """
    with _connect() as connection, _translate_read_errors(path):
        cursor = connection.execute("SELECT * FROM read_parquet(?) LIMIT ?", [str(path), limit])
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def read_last_seq(path: Path) -> int | None:
    """Return the number of the newest event in a trajectory's file, or None if another program or version wrote it.

    Raise `UsageError` if there is no file, and `DamagedParquet` if it cannot be read.
    """
    with _connect() as connection, _translate_read_errors(path):
        cursor = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(path)])
        values: Mapping[bytes, bytes] = dict(cursor.fetchall())
    by_name = {_text(key): _text(value) for key, value in values.items()}
    return int(by_name[_LAST_SEQ]) if by_name.get(_SCHEMA) == SCHEMA_VERSION else None


def merge_parts(
    dest: Path,
    run: RunRecord,
    lines: Path,
    *,
    folder: Path,
    kept_rows: int = 0,
    last_seq: int = -1,
    branch: Iterable[Stretch] | None = None,
    last_part: int | None = None,
) -> None:
    """Rewrite `dest`: keep its first `kept_rows` rows, then add the rows in the file `lines`. All rows get the fields of
    `run`.

    - `folder`: folder for temporary files.
    - `branch`: ranges of event numbers on the current branch (None: unchanged).
    - `last_part`: the last part to keep.

    Raise `StoreFull` if `dest` cannot be written, and `DamagedParquet` if `dest` cannot be read.
    """
    run_lines, draft = folder / "run.jsonl", folder / "trace.parquet"
    abandoned = (
        f"NOT ({' OR '.join(_range_condition(stretch) for stretch in branch)})" if branch else "abandoned"
    )
    columns = [*(f"getvariable('run').{name} AS {name}" for name in RUN_COLUMNS)]
    columns += [f"{abandoned} AS abandoned" if name == "abandoned" else name for name in PART_COLUMNS]
    sources = [f"SELECT * FROM ({_read_lines(lines, PART_COLUMNS)})"]
    if kept_rows:
        sources.insert(
            0, f"SELECT {', '.join(PART_COLUMNS)} FROM read_parquet({_quote(dest)}) LIMIT {kept_rows}"
        )
    where = "" if last_part is None else f" WHERE part <= {last_part}"
    metadata = f"{{{_SCHEMA}: '{SCHEMA_VERSION}', {_LAST_SEQ}: '{last_seq}'}}"
    with _connect() as connection, translate_write_errors(dest):
        run_lines.write_bytes(to_json_lines([run_to_row(run)]))
        connection.execute(
            f"SET VARIABLE run = (SELECT row FROM ({_read_lines(run_lines, RUN_COLUMNS)}) row)"
        )
        connection.execute(
            f"COPY (SELECT {', '.join(columns)} FROM ({' UNION ALL '.join(f'({source})' for source in sources)}){where})"
            f" TO {_quote(draft)} (FORMAT parquet, KV_METADATA {metadata})"
        )
        draft.chmod(0o600)
        draft.replace(dest)


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in `parent`, and remove it at the end. Raise `StoreFull` if the folder cannot be created."""
    with translate_write_errors(parent):
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(mkdtemp(prefix=TEMPORARY_PREFIX, dir=parent))
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)


@contextmanager
def translate_write_errors(dest: Path) -> Iterator[None]:
    """Convert errors of writing `dest` to `StoreFull`."""
    duckdb = load_package("duckdb")
    try:
        yield
    except (OSError, duckdb.IOException) as fault:
        reason = getattr(fault, "strerror", None) or _find_reason(str(fault))
        raise StoreFull(
            f"{dest} could not be written: {reason}.",
            hint="Check that the folder is writable and that the disk has space.",
        ) from fault


def _find_reason(message: str) -> str:
    """Return the reason in an error message of DuckDB, such as `No space left on device`."""
    return "No space left on device" if "No space left" in message else message.splitlines()[0]


@contextmanager
def _translate_read_errors(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise UsageError(f"File not found: {path}.")
    duckdb = load_package("duckdb")
    try:
        yield
    except duckdb.Error as fault:
        reason = str(fault).splitlines()[0].replace(f" '{path}'", "")
        raise DamagedParquet(f"{path} is not a complete parquet file: {reason}") from fault


@contextmanager
def _connect() -> Iterator[Any]:
    settings = {"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False}
    connection = load_package("duckdb").connect(":memory:", config=settings)
    try:
        yield connection
    finally:
        connection.close()


def _read_lines(path: Path, columns: Mapping[str, str]) -> str:
    types = ", ".join(f"{name}: '{type_name}'" for name, type_name in columns.items())
    return (
        f"SELECT * FROM read_json({_quote(path)}, format = 'newline_delimited', columns = {{{types}}}, "
        f"maximum_object_size = {MAX_LINE_BYTES})"
    )


def _range_condition(stretch: Stretch) -> str:
    return f"seq BETWEEN {stretch.first} AND {stretch.last}"


def _quote(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
