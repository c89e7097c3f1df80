"""The pane of the last test runs."""

from pathlib import Path

from tests.unit.plugin_host.test_pane_folds import log_of
from tui_agent.cli.plugins.trial import PAGE_WIDTH, SIDE_WIDTH, pane_rows
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.store.log_line import payload_mark, seal_line
from tui_agent.store.log_repair import EVENTS_FILE

PLUGIN = Path(__file__).parents[3] / "plugins" / "last_tests"


def test_the_newest_run_comes_first_with_the_names_of_what_failed(tmp_path: Path) -> None:
    log = log_of("night_shift", tmp_path)
    rows = [
        "  passed  failed  command",
        "      32       0  pytest -q",
        "      31       1  pytest -q",
    ]
    assert pane_rows(PLUGIN, "tests", log, SIDE_WIDTH) == rows
    lines = (log / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    (log / EVENTS_FILE).write_bytes(b"".join(lines[:148]))
    failed = ["", "  Failed in the last run:", "  tests/test_report.py::test_week_total"]
    assert pane_rows(PLUGIN, "tests", log, PAGE_WIDTH) == [rows[0], rows[2], *failed]
    (log / EVENTS_FILE).write_bytes(b"".join(lines[:100]))
    assert pane_rows(PLUGIN, "tests", log, SIDE_WIDTH) == ["  No tests have run yet."]


def test_errors_and_expected_failures_have_columns_of_their_own_if_there_are_any(tmp_path: Path) -> None:
    log = log_of("night_shift", tmp_path)
    lines = (log / EVENTS_FILE).read_bytes().splitlines(keepends=True)[:148]
    newest = max(index for index, line in enumerate(lines) if payload_mark(TestFinished) in line)
    body = lines[newest].rpartition(b',"crc":')[0]
    body = body.replace(b'"errors":0,"xfailed":0', b'"errors":1,"xfailed":2')
    lines[newest] = seal_line(body)
    (log / EVENTS_FILE).write_bytes(b"".join(lines))
    assert pane_rows(PLUGIN, "tests", log, PAGE_WIDTH) == [
        "  passed  failed  errors  xfailed  command",
        "      31       0       1        2  pytest -q",
        "",
        "  Errors in the last run:",
        "  tests/test_report.py::test_week_total",
    ]
