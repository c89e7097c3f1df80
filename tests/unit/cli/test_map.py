"""`tui-agent map`: what it prints, what it hides, what it loads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.settings import Config
from tui_agent.protocol.settings import RepoMapOptions
from tui_agent.tui.screens.map.queries import map_arguments
from tui_agent.wiring.repomap import index_folder


def run(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        "HOME": str(root.parent / "home"),
        "XDG_CACHE_HOME": str(root.parent / "caches"),
    }
    return subprocess.run(
        [sys.executable, "-P", "-m", "tui_agent", "map", "-C", str(root), *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def make(root: Path) -> Path:
    root.mkdir()
    (root / "login.py").write_text("def check_password(user): ...\n")
    (root / "mail.py").write_text("def send(): ...\n")
    (root / ".env").write_text("PASSWORD=hunter2\n")
    (root / "models.toml").write_text("password = 1\n")
    return root


def test_it_prints_the_map_and_keeps_its_index_in_the_users_cache_folder(tmp_path: Path) -> None:
    root = make(tmp_path / "repo")
    done = run(root, "--query", "where is the password checked", "--refresh")
    assert done.returncode == Exit.DONE, done.stderr
    assert done.stdout.splitlines()[1:3] == ["login.py", "  1 def check_password(user): ..."]
    assert ".env" not in done.stdout
    assert "models.toml" not in done.stdout
    assert "2 secret" in done.stdout
    assert list((tmp_path / "caches/tui-agent/repomap").glob("repo-*.sqlite3"))
    assert sorted(path.name for path in root.iterdir()) == [".env", "login.py", "mail.py", "models.toml"]


@pytest.mark.slow
def test_the_index_of_sessions_with_a_place_of_their_own_is_used_by_the_app_and_here(tmp_path: Path) -> None:
    root, own = make(tmp_path / "repo"), tmp_path / "own"
    (_, *asked) = map_arguments("password", RepoMapOptions(), str(root), refresh=True, data_dir=own)
    assert run(root, *asked).returncode == Exit.DONE
    assert list(index_folder(SessionOptions(cwd=root, data_dir=own), Config()).glob("repo-*.sqlite3"))
    assert not (tmp_path / "caches").exists()


@pytest.mark.slow
def test_json_is_one_object_a_file_in_rank_order(tmp_path: Path) -> None:
    done = run(make(tmp_path / "repo"), "--query", "password", "--refresh", "--json", "--max-files", "1")
    (only,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert only["path"] == "login.py"
    assert only["score"] > 0
    assert "words" in only["reasons"]
    assert only["symbols"][0]["name"] == "check_password"


@pytest.mark.slow
def test_a_pin_that_does_not_hold_is_said(tmp_path: Path) -> None:
    root = make(tmp_path / "repo")
    pins = [
        "--pin",
        "nope.py",
        "--pin",
        ".env",
        "--pin",
        "./mail.py",
        "--pin",
        "login.py",
        "--hide",
        "login.py",
    ]
    done = run(root, "--refresh", *pins)
    assert done.returncode == Exit.DONE
    assert done.stdout.splitlines()[1] == "mail.py"
    assert "login.py" not in done.stdout
    assert [line.partition("Not pinned: ")[2] for line in done.stderr.splitlines()] == [
        "nope.py was not found.",
        ".env is left out of every map (docs/repomap.md).",
        "login.py is hidden.",
    ]
    quiet = run(root, "--json", "--pin", str(root / "mail.py"))
    assert "Not pinned" not in quiet.stderr
    assert json.loads(quiet.stdout.splitlines()[0])["reasons"][0] == "pinned"


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = run(tmp_path / "gone")
    assert done.returncode == Exit.USAGE
    assert "Folder not found" in done.stderr


def test_a_map_of_what_is_known_loads_neither_parser_nor_schema(tmp_path: Path) -> None:
    root = make(tmp_path / "repo")
    assert run(root, "--refresh").returncode == Exit.DONE
    program = (
        "import sys\nfrom tui_agent.cli.main import main\n"
        f"main(['map', '-C', {str(root)!r}, '--query', 'password'])\n"
        "print(*sorted(name.split('.')[0] for name in sys.modules), file=sys.stderr)"
    )
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "caches")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=True,
    )
    assert not set(done.stderr.split()) & {
        "tree_sitter",
        "pydantic",
        "textual",
        "litellm",
        "tiktoken",
        "httpx",
        "anyio",
    }


@pytest.mark.slow
def test_a_name_that_is_half_typed_is_looked_up_in_the_index_alone(tmp_path: Path) -> None:
    root = make(tmp_path / "repo")
    (root / "night.go").write_text("package a\n\nfunc (s *Shift) NightHours() int { return 1 }\n")
    (root / "guide.md").write_text("# NightHours\n")
    before = run(root, "--symbol", "NightH", "--json")
    assert (before.returncode, before.stdout) == (Exit.DONE, "")
    assert json.loads(run(root, "--state", "--json").stdout) == {"files": 0, "building": False}
    run(root, "--refresh")
    for typed in ("NightH", "night", "hours", "check_pass"):
        (found,) = map(json.loads, run(root, "--symbol", typed, "--json").stdout.splitlines())
        name, place = (
            ("check_password", "login.py:1") if typed == "check_pass" else ("NightHours", "night.go:3")
        )
        assert (found["name"], f"{found['path']}:{found['line']}") == (name, place)
        assert run(root, "--symbol", typed).stdout == f"{place}  {name}\n"
    assert json.loads(run(root, "--state", "--json").stdout) == {"files": 4, "building": False}


@pytest.mark.slow
def test_json_names_the_files_that_use_a_files_names(tmp_path: Path) -> None:
    root = make(tmp_path / "repo")
    (root / "app.py").write_text("from login import check_password\n\ncheck_password('ada')\n")
    run(root, "--refresh")
    done = run(root, "--query", "check_password", "--json", "--refresh")
    users = {line["path"]: line["used_by"] for line in map(json.loads, done.stdout.splitlines())}
    assert users["login.py"] == ["app.py"]
    assert users["app.py"] == []
