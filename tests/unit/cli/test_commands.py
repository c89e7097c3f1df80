"""What each command prints and leaves behind, called as the program calls it."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call, json_lines
from tui_agent.cli.sessions.resume import pick_session
from tui_agent.config.paths import find_paths
from tui_agent.config.user_choices import UserChoices
from tui_agent.errors import SessionNotFound, UsageError
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

MODEL = ModelInfo(profile="demo", provider="scripted", model="demo")


def stored(root: Path, workspace: Path, titles: Sequence[str]) -> SessionStore:
    """Sessions with these titles; the last one is the newest."""
    store = SessionStore(root / "sessions", SystemClock(), Redactor())
    for number, title in enumerate(titles):
        log = store.create(f"ses_{number:016}")
        settings = SessionSettings(model=MODEL)
        log.append(SessionStarted(workspace=str(workspace), product="p", settings=settings))
        log.append(SessionTitled(title=title, titled_by="auto"))
        log.close()
    return store


def test_sessions_are_listed_for_this_workspace_or_for_all(call: Call, tmp_path: Path, work: Path) -> None:
    stored(tmp_path, work, ["first", "second \x1b[31m\u202ered"])
    status, out, _ = call("sessions", "list", "--json")
    assert status == 0
    found = json_lines(out)
    assert {"id", "path", "workspace", "started", "title", "events"} <= set(found[0])
    assert {session["title"] for session in found} == {"first", "second \x1b[31m\u202ered"}
    _, plain, _ = call("sessions", "list")
    assert call("sessions")[1] == plain, "`list` can be left out"
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    (tmp_path / "elsewhere").mkdir()
    _, out, _ = call("sessions", "list", "--json", "-C", str(tmp_path / "elsewhere"))
    assert out == ""
    _, out, _ = call("sessions", "list", "--all", "--json", "-C", str(tmp_path / "elsewhere"))
    assert len(json_lines(out)) == 2


def test_a_session_is_shown_by_the_beginning_of_its_id(call: Call, tmp_path: Path, work: Path) -> None:
    stored(tmp_path, work, ["only"])
    _, out, _ = call("sessions", "show", "ses_00", "--json")
    assert [event["payload"]["kind"] for event in json_lines(out)] == ["session.started", "session.titled"]
    _, out, _ = call("sessions", "show", "latest")
    assert len(out.splitlines()) == 2
    status, _, err = call("sessions", "show", "ses_9")
    assert status == 2
    assert "ses_9" in err


def test_resume_without_an_id_asks_which_one(tmp_path: Path, work: Path) -> None:
    store = stored(tmp_path, work, ["first", "second"])
    newest_first = [session.id for session in store.list(str(work))]
    assert pick_session(store, str(work), lambda question: "2") == newest_first[1]
    assert pick_session(store, str(work), lambda question: "") == newest_first[0]
    with pytest.raises(UsageError):
        pick_session(store, str(work), lambda question: "3")
    with pytest.raises(SessionNotFound):
        pick_session(store, "/nowhere", lambda question: "1")


def test_config_show_tells_where_a_value_comes_from(
    call: Call, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = find_paths(work, {"HOME": str(tmp_path / "home")}).user_config
    config.parent.mkdir(parents=True)
    config.write_text('policy = "plan"\n[models.fast]\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n')
    monkeypatch.setenv("TUI_AGENT_THEME", "day")
    _, out, _ = call("config", "show", "--json", "--agent", "default")
    origins = {line["key"]: line["origin"] for line in json_lines(out)}
    assert origins["policy"] == str(config)
    assert origins["models.fast.base_url"] == str(config)
    assert origins["theme"] == "environment TUI_AGENT_THEME"
    assert origins["agent"] == "options"
    assert origins["vim"] == "default"
    _, plain, _ = call("config", "show")
    assert "policy" in plain
    assert "vim" not in plain


def test_config_show_lists_the_choices_that_count_in_the_app_only(
    call: Call, tmp_path: Path, work: Path
) -> None:
    choices = UserChoices(theme="day", model="openai/x", policies={str(work): "accept-edits"})
    path = tmp_path / "choices.json"
    path.write_text(choices.to_json())
    _, out, _ = call("config", "show", "--json")
    settings = {line["key"]: (line["value"], line["origin"]) for line in json_lines(out)}
    assert settings["model"] == ("openai/x", str(path))
    assert settings["theme"] == ("day", f"{path} (in the app only)")
    assert settings["policy"] == ("accept-edits", f"{path} (in the app only)")
    _, out, _ = call("config", "show", "--json", "--policy", "plan")
    assert {"key": "policy", "value": "plan", "origin": "options"} in json_lines(out)


RULES = """\
[redaction]
allow = ["hunter2"]
[[redaction.rules]]
id = "acme-key"
what = "acme key"
pattern = "acme_[a-z]{12}"
keywords = ["acme_"]
examples = ["[[acme_{{a-z 12}}]]"]
"""


def test_config_show_shows_the_users_redaction_rules(call: Call, tmp_path: Path, work: Path) -> None:
    config = find_paths(work, {"HOME": str(tmp_path / "home")}).user_config
    config.parent.mkdir(parents=True)
    config.write_text(RULES)
    shown = call("config", "show")[1].splitlines()
    starts = [line.split()[0] for line in shown if line.endswith(str(config))]
    assert starts == ["redaction.rules.0", "redaction.allow"]
    assert "acme_[a-z]{12}" in shown[1]


def test_trust_refuses_a_project_that_sets_what_is_redacted(call: Call, work: Path) -> None:
    folder = work / ".tui_agent"
    folder.mkdir()
    (folder / "config.toml").write_text('[redaction]\ndisable = ["generic-secret"]\n')
    refused = "a project cannot set [redaction], because it could reveal secrets"
    assert f"refused: {refused}" in call("trust")[1]
    status, out, err = call("trust", "--yes")
    assert (status, out) == (2, "")
    assert f"cannot be trusted: {refused}. Remove the setting from .tui_agent/config.toml" in err
    assert call("config", "show")[0] == 0


def test_a_wrong_configuration_names_the_file_and_the_line(call: Call, tmp_path: Path, work: Path) -> None:
    config = find_paths(work, {"HOME": str(tmp_path / "home")}).user_config
    config.parent.mkdir(parents=True)
    config.write_text('model = "x"\ncolour = 3\n')
    status, out, err = call("config", "show")
    assert (status, out) == (2, "")
    assert f"{config}, line 2" in err
    status, out, _ = call("doctor", "--json")
    assert status == 1
    assert "line 2" in next(line["message"] for line in json_lines(out) if line["check"] == "configuration")


def test_config_edit_opens_the_editor_and_checks_the_file(
    call: Call, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho "vim = true" >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    status, out, _ = call("config", "edit")
    assert status == 0
    assert "is valid" in out
    _, out, _ = call("config", "show", "--json")
    assert {"key": "vim", "value": True}.items() <= next(
        line for line in json_lines(out) if line["key"] == "vim"
    ).items()
    editor.write_text('#!/bin/sh\necho "vim = maybe" >> "$1"\n')
    status, _, err = call("config", "edit")
    assert status == 2
    assert "config.toml" in err


def test_policy_check_judges_each_line_of_its_input(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    _, out, _ = call("policy", "check", "--json", "--", "git", "status")
    one = json_lines(out)[0]
    assert set(one) == {"command", "decision", "classes", "effects", "rule", "reason"}
    assert (one["command"], one["decision"]) == ("git status", "allow")
    given = tmp_path / "commands.jsonl"
    given.write_text('{"command": "rm -rf /"}\n\n{"command": "ls"}\n')
    with given.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        _, out, _ = call("policy", "check", "--stdin")
    assert [(line["command"], line["decision"]) for line in json_lines(out)] == [
        ("rm -rf /", "deny"),
        ("ls", "allow"),
    ]
    assert call("policy", "check")[0] == 2


def test_models_list_offers_the_demos_without_a_key(call: Call) -> None:
    _, out, _ = call("models", "list", "--json")
    assert {"demo:bugfix", "demo:todo-api"} <= {line["profile"] for line in json_lines(out)}


def test_models_list_has_the_model_in_use_even_if_it_is_no_profile(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_AGENT_MODEL", "hand")
    monkeypatch.setenv("TUI_AGENT_BASE_URL", "http://127.0.0.1:8765/v1")
    _, out, _ = call("models", "list", "--json")
    assert [line["profile"] for line in json_lines(out) if line["default"]] == ["hand"]
    _, out, _ = call("models", "list")
    assert any(row.startswith("hand *") for row in out.splitlines()) and "* the default model" in out
    monkeypatch.delenv("TUI_AGENT_BASE_URL")
    _, out, _ = call("models", "list")
    assert "hand *  " in out.partition("Not usable yet:")[2]


def test_agents_and_themes_are_listed(call: Call) -> None:
    _, out, _ = call("agents", "list", "--json")
    assert json_lines(out)[0] == {
        "name": "default",
        "description": "asks a model and runs the tools that it calls",
        "owner": "tui-agent",
        "chosen": True,
        "kind": "hub",
    }
    assert {"study", "verify"} <= {line["name"] for line in json_lines(out) if line["kind"] == "delegate"}
    _, out, _ = call("themes", "list", "--json")
    assert {"night", "day", "beacon"} <= {line["name"] for line in json_lines(out)}
    _, out, _ = call("themes", "preview", "night")
    assert "accent" in out
    assert call("themes", "preview", "nope")[0] == 2


def test_a_demos_name_and_options_are_checked_before_anything_is_made(call: Call) -> None:
    _, out, _ = call("demo", "--list", "--json")
    assert {line["name"] for line in json_lines(out)} == {"bugfix", "todo-api"}
    assert call("demo", "nope")[0] == 2
    assert call("demo", "bugfix", "--json")[0] == 2


def test_events_are_shown_as_they_stand_in_the_log(call: Call, tmp_path: Path, work: Path) -> None:
    stored(tmp_path, work, ["first"])
    log = tmp_path / "sessions" / "ses_0000000000000000" / "events.jsonl"
    _, out, _ = call("sessions", "show", "ses_", "--json")
    assert out == log.read_text()
    _, last, _ = call("sessions", "show", "ses_", "--json", "--from", "1")
    assert last == log.read_text().splitlines(keepends=True)[1]


def test_an_action_that_failed_is_shown_with_its_reason(call: Call, tmp_path: Path, work: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("answers: [{calls: [{read_file: {path: nowhere.txt}}]}, {text: Done.}]")
    place = ("--data-dir", str(tmp_path / "data"))
    call("run", "read it", "-m", f"scripted:{script}", *place)
    _, out, _ = call("sessions", "show", "latest", "--actions", *place)
    (failed,) = [line for line in out.splitlines() if " error " in line]
    assert "  read_file failed: " in failed and "nowhere.txt" in failed


def test_a_tested_models_long_answer_is_cut_between_two_words(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(f"answers: [{{text: '{'Ready to help you. ' * 9}'}}]")
    _, out, _ = call("models", "check", f"scripted:{script}")
    assert "Ready to help you.…', " in out


@pytest.mark.slow
def test_a_log_without_an_intact_line_is_moved_and_the_run_says_where(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("answers: [{text: Done.}]")
    place = ("-m", f"scripted:{script}", "--data-dir", str(tmp_path / "data"))
    call("run", "one", *place)
    (log,) = (tmp_path / "data" / "sessions").glob("*/events.jsonl")
    log.write_bytes(b"garbage\nmore\n")
    _, _, err = call("run", "two", "--session", log.parent.name, *place)
    assert f"Its old log was moved to events.torn-1 in {log.parent} (13 B)." in err
    assert (log.parent / "events.torn-1").read_bytes() == b"garbage\nmore\n"
    _, _, again = call("run", "three", "--session", log.parent.name, *place)
    assert "log" not in again


def test_the_app_refuses_where_there_is_no_terminal(call: Call) -> None:
    status, out, err = call()
    assert (status, out) == (2, "")
    assert "terminal" in err


@pytest.mark.parametrize("words", [("run", "hi"), ("demo", "--headless"), ("config", "show")])
def test_a_theme_that_is_not_there_is_refused_with_those_that_are(call: Call, words: tuple[str, ...]) -> None:
    status, out, err = call(*words, "--theme", "nope")
    assert (status, out) == (2, "")
    assert "'nope'" in err and "beacon, day, ember" in err


def test_a_users_own_theme_is_there_too(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "tui-agent" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("")
    assert call("config", "show", "--theme", "mine")[0] == 0


def test_the_theme_of_a_plugin_is_there_too(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "tui-agent" / "plugins" / "looks"
    folder.mkdir(parents=True)
    (folder / "plugin.toml").write_text('themes = ["mine.toml"]')
    (folder / "mine.toml").write_text("")
    assert call("config", "show", "--theme", "mine")[0] == 0
    assert call("config", "show", "--theme", "mine", "--no-plugins")[0] == 2
    assert f"Plugin looks: The theme {folder}/mine.toml has no [colors] table." in call("themes", "list")[1]
