"""`tui-agent eval report` prints and writes reports, and exits with 1 if a case of the baseline fails now."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.cells import stored_run
from tui_agent.cli.main import main

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    stored_run(tmp_path / "good", a="ppp")
    stored_run(tmp_path / "bad", a="pfp")

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["eval", "report", *words])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_a_case_that_passed_in_the_baseline_and_fails_now_exits_with_1(report: Call) -> None:
    assert report("good", "--save-baseline", "baseline.json")[0] == 0
    for baseline in ("baseline.json", "good"):
        status, out, _ = report("bad", "--baseline", baseline)
        assert (status, out.splitlines()[:4]) == (
            1,
            [
                "Baseline",
                "Passed in the baseline, but not in this run: 1 case. "
                "Failed in the baseline, but passed in this run: 0 cases.",
                "case    arm  baseline  now",
                "case-1  a    1/1       0/1  regression",
            ],
        )
    assert report("good", "--baseline", "bad")[0] == 0


def test_the_format_follows_the_ending_of_the_file(report: Call, tmp_path: Path) -> None:
    starts = {
        "r.txt": "Pass rates\n",
        "r.md": "# Evaluation of s\n",
        "r.html": "<!doctype html>",
        "r.json": '{"runs":',
    }
    for name, start in starts.items():
        assert report("good", "-o", name) == (0, f"{name}\n", "")
        assert (tmp_path / name).read_text().startswith(start)
    assert report("good", "-o", "r.pdf")[0] == 2
    assert report("good", "-o", "r.md")[0] == 2
    status, out, _ = report("good", "--json")
    assert (status, json.loads(out)["groups"][0]["passed"]["successes"]) == (0, 3)


def test_a_cut_result_is_named_on_standard_error(report: Call, tmp_path: Path) -> None:
    file = tmp_path / "good" / "cells" / "case-2" / "a-1" / "result.json"
    file.write_text('{"case"')
    status, out, err = report("good")
    assert status == 0
    assert f"{file} cannot be read: Invalid JSON" in err
    assert "no result for 1 of 3 cells: case-2/a-1." in out


def test_what_is_no_run_and_no_baseline_is_refused(report: Call, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    for words, message in (
        (("nothing",), "it has no run.json"),
        (("good", "--baseline", "notes.json"), "notes.json is not a baseline: suite: Field required"),
        (("good", "--baseline", "gone.json"), "gone.json cannot be read: No such file"),
        (("good", "bad", "--baseline", "good"), "A baseline can only be used with one run"),
    ):
        status, _, err = report(*words)
        assert (status, message in err) == (2, True), err
