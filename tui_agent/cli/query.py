"""Query all recorded sessions with SQL: sessions, events, parts and costs. Nothing is ever changed."""

import argparse
import csv
import sys

from tui_agent.cli.console.output import (
    escape_control,
    say,
    say_json_lines,
    shorten,
    table,
    terminal_width,
    warn,
)
from tui_agent.cli.console.shared_options import GROUPS, add_option, load_context
from tui_agent.export.tables.session_database import DatabaseBusy, QueryResult, SessionDatabase
from tui_agent.export.tables.session_tables import TABLES
from tui_agent.store.session_store import SessionStore

EXAMPLES = """\
examples:
  tui-agent query "SELECT model, sum(cost_usd) FROM costs GROUP BY model"
  tui-agent query "SELECT tool, count(*) FROM parts GROUP BY 1" --format csv
  tui-agent query "SELECT payload->>'$.path' FROM events WHERE kind = 'file.changed'"
  tui-agent query                           list the tables and their columns

The command needs tui-agent[parquet]. The SQL is DuckDB's dialect, and times are in UTC.
"""
MIN_CELL = 16
MIN_PROGRESS = 100
"""A progress line is shown if at least this many sessions must be added to the database."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the statement and the output format to the parser."""
    parser.add_argument("sql", metavar="SQL", nargs="?", help="one SELECT statement")
    add_option(
        parser,
        "--format",
        "output format (default: table)",
        choices=("table", "json", "csv"),
        default="table",
    )
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> None:
    """Bring the database of sessions up to date, run the statement and print its rows."""
    if arguments.sql is None:
        table(((name, ", ".join(columns)) for name, columns in TABLES.items()), ("table", "columns"))
        return
    result = query_sessions(load_context(arguments).store, arguments.sql)
    if arguments.format == "json":
        say_json_lines(dict(zip(result.columns, row, strict=True)) for row in result.rows)
    elif arguments.format == "csv":
        rows = csv.writer(sys.stdout, lineterminator="\n")
        rows.writerow(result.columns)
        rows.writerows(tuple(_csv_cell(value) for value in row) for row in result.rows)
    elif result.columns == ("explain_key", "explain_value"):
        say("\n".join(text for _, text in result.rows))
    else:
        _print_table(result)


def query_sessions(store: SessionStore, sql: str) -> QueryResult:
    """Run the SQL statement on all sessions, and return its rows.

    Warn about sessions that are left out. If another query is running, also warn that the newest events may be missing.
    """
    database = SessionDatabase(store.root)
    states = store.log_states()
    if not states:
        store.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for refusal in database.refresh(states, _show_progress):
            warn(f"Left out: {refusal}")
    except DatabaseBusy:
        warn("Another query is running, so the newest events may be missing.")
    return database.query(sql)


def _show_progress(done: int, total: int) -> None:
    if total >= MIN_PROGRESS and sys.stderr.isatty() and done < total:
        say(f"Reading sessions: {done} of {total} …", file=sys.stderr)


def _print_table(result: QueryResult) -> None:
    cells = [[_table_cell(value) for value in row] for row in result.rows]
    widths = _fit_widths([max(map(len, column)) for column in zip(result.columns, *cells, strict=True)])
    table(
        [[shorten(cell, width) for cell, width in zip(row, widths, strict=True)] for row in cells],
        [shorten(column, width) for column, width in zip(result.columns, widths, strict=True)],
    )
    if not result.rows:
        say("No rows.", file=sys.stderr)


def _fit_widths(widths: list[int]) -> list[int]:
    """Return column widths that fit the terminal. Only the widest columns shrink."""
    room, fitted = terminal_width() - 2 * (len(widths) - 1), list(widths)
    for left, column in zip(
        range(len(widths), 0, -1), sorted(range(len(widths)), key=widths.__getitem__), strict=True
    ):
        fitted[column] = min(widths[column], max(MIN_CELL, room // left))
        room -= fitted[column]
    return fitted


def _table_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:.6g}"
        case _:
            return " ".join(str(value).split())


def _csv_cell(value: object) -> object:
    return escape_control(value, lines=True) if isinstance(value, str) and sys.stdout.isatty() else value
