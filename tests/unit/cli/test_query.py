"""`tui-agent query` prints the rows of a statement over all sessions, as a table, JSON lines or CSV."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.golden import golden_session
from tui_agent.cli.main import main

Query = Callable[..., tuple[int, str, str]]


@pytest.fixture
def query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Query:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    golden_session(tmp_path / "data", "night_shift").rename(tmp_path / "data" / "sessions" / "ses_1")

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["query", *words, "--data-dir", str(tmp_path / "data")])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_rows_are_a_table_json_lines_or_csv(query: Query) -> None:
    sql = "SELECT model, count(*) AS n, NULL AS nothing, 1/8 AS x, 'a\nb' AS t FROM costs GROUP BY model ORDER BY n DESC LIMIT 1"
    model = "claude-sonnet-4-5"
    status, out, _ = query(sql)
    assert (status, out.split()) == (0, ["model", "n", "nothing", "x", "t", model, "9", "0.125", "a", "b"])
    status, out, _ = query(sql, "--format", "json")
    assert (status, json.loads(out)) == (
        0,
        {"model": model, "n": 9, "nothing": None, "x": 0.125, "t": "a\nb"},
    )
    status, out, _ = query(sql, "--format", "csv")
    assert (status, out) == (0, f'model,n,nothing,x,t\n{model},9,,0.125,"a\nb"\n')
    status, out, _ = query("EXPLAIN SELECT count(*) FROM parts")
    assert (status, out[0]) == (0, "╭")
    status, out, err = query("SELECT * FROM parts WHERE false")
    assert (status, out.split()[:2], err) == (0, ["session", "part"], "No rows.\n")


def test_wide_columns_are_shortened_to_the_terminal(query: Query) -> None:
    _, out, _ = query("SELECT 'x' AS narrow, repeat('y', 500) AS wide, repeat('z', 500) AS wider")
    assert max(map(len, out.splitlines())) <= 120
    assert out.splitlines()[1].startswith("x       yyyy")


def test_without_a_statement_the_tables_and_columns_are_listed(query: Query) -> None:
    status, out, _ = query()
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["table", "sessions", "events", "parts", "costs"]
    assert "cached_tokens" in out


def test_a_wrong_statement_is_one_line_and_status_2(query: Query) -> None:
    for statement, word in (
        ("COPY events TO 'out.csv'", "COPY"),
        ("INSTALL httpfs", "INSTALL"),
        ("-- more\n/* and */ load httpfs", "LOAD"),
    ):
        status, out, err = query(statement)
        assert (status, out) == (2, "")
        assert err == (
            f"tui-agent: {word} is not allowed: a query only reads the sessions. Give a SELECT statement.\n"
        )


def test_a_missing_extra_names_the_line_that_installs_it(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    status, _, err = query("SELECT 1")
    assert status == 2
    assert "needs the package duckdb" in err
    assert "Install it: " in err and "[parquet]" in err
