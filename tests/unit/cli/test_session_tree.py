"""The family of a session from the command line: branches in place, forks of it, and where it was forked from."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tests.unit.cli.conftest import json_lines
from tui_agent.cli.main import main
from tui_agent.protocol.events.session import ForkChange, SessionHeadMoved, SessionStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings

Call = Callable[..., tuple[int, str]]
SETTINGS = SessionSettings(model=ModelInfo(profile="demo", provider="scripted", model="demo"))


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str]:
        status = main(["sessions", "tree", *words, "--data-dir", str(tmp_path)])
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`a` with a branch at 2; forks of it at 1 (with another model, and a fork of its own) and at 6 (on the branch)."""
    sessions = store(tmp_path)
    log = sessions.create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS))
    for text in ("one", "two", "three"):
        log.append(said(text))
    log.append(SessionHeadMoved(to_seq=2, from_seq=3, reason="revert"))
    log.append(said("another three"))
    log.append(said("four"))
    log.close()
    for parent, at, name, change in (
        ("ses_a", 1, "ses_b", ForkChange(model="other/model")),
        ("ses_a", 6, "ses_c", ForkChange()),
        ("ses_b", 3, "ses_d", ForkChange()),
    ):
        sessions.fork(parent, at, name, change)
        fork = sessions.open(name)
        fork.append(said(f"said in {name}"))
        fork.close()
    return tmp_path


WHOLE = [
    ("main", "ses_a", 0, None),
    ("fork", "ses_b", 1, 1),
    ("fork", "ses_d", 2, 3),
    ("branch", "ses_a", 1, 2),
    ("fork", "ses_c", 2, 6),
]


@pytest.mark.parametrize(
    ("asked", "standing"),
    [("ses_a", "branch at 2"), ("ses_b", "fork at 1"), ("ses_c", "fork at 6"), ("ses_d", "fork at 3")],
)
def test_each_of_a_family_shows_the_whole_of_it_and_where_it_stands_itself(
    call: Call, folder: Path, asked: str, standing: str
) -> None:
    status, out = call(asked, "--json")
    rows = json_lines(out)
    assert status == 0
    drawn = sorted((row["kind"], row["session"], row["depth"], row["at_seq"]) for row in rows)
    assert drawn == sorted(WHOLE, key=lambda one: (one[0], one[1]))
    (here,) = [row for row in rows if row["current"]]
    assert (here["session"], f"{here['kind']} at {here['at_seq']}") == (asked, standing)


def test_a_node_tells_its_own_messages_only_and_what_a_fork_changed(call: Call, folder: Path) -> None:
    _, out = call("ses_a", "--json")
    told = {(row["session"], row["kind"]): [one["text"] for one in row["prompts"]] for row in json_lines(out)}
    assert told == {
        ("ses_a", "main"): ["one", "two", "three"],
        ("ses_a", "branch"): ["another three", "four"],
        ("ses_b", "fork"): ["said in ses_b"],
        ("ses_c", "fork"): ["said in ses_c"],
        ("ses_d", "fork"): ["said in ses_d"],
    }
    (changed,) = [row["changed"] for row in json_lines(out) if row["session"] == "ses_b"]
    assert changed == ["model other/model"]
    main_row = json_lines(out)[0]
    assert (main_row["first_seq"], main_row["last_seq"], main_row["outcome"]["state"]) == (0, 3, "empty")
    assert set(main_row["prompts"][0]) >= {"seq", "last_seq", "time", "outcome", "answer", "files", "tools"}


def test_each_node_stands_below_the_one_that_it_leaves(call: Call, folder: Path) -> None:
    _, out = call("ses_a", "--json")
    depths = [row["depth"] for row in json_lines(out)]
    assert depths[0] == 0 and all(after <= before + 1 for before, after in pairwise(depths))
    order = [row["session"] for row in json_lines(out)]
    assert order.index("ses_d") == order.index("ses_b") + 1


def test_for_people_it_is_drawn_with_the_place_marked(call: Call, folder: Path) -> None:
    _, out = call("ses_b")
    rows = out.splitlines()
    assert rows[0].startswith("  main  ses_a")
    assert any(row.startswith("> └ fork at 1  ses_b") and row.endswith("(current)") for row in rows)
    assert any(row.startswith("    └ fork at 3  ses_d") for row in rows)
    assert any(row.strip() == "5  another three" for row in rows)


def test_a_fork_whose_parent_is_gone_is_drawn_alone(call: Call, folder: Path) -> None:
    for path in sorted((folder / "sessions" / "ses_a").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    _, out = call("ses_b", "--json")
    assert [row["session"] for row in json_lines(out)] == ["ses_b", "ses_d"]
    assert [one["text"] for one in json_lines(out)[0]["prompts"]] == ["said in ses_b"]
