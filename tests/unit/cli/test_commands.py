"""What each command prints and leaves behind, called as the program calls it."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tui_agent.cli.doctor.command import CheckResult, describe_results
from tui_agent.cli.main import main
from tui_agent.cli.plugin_trial import try_panes
from tui_agent.cli.sessions.resume import pick_session
from tui_agent.config.paths import find_paths
from tui_agent.errors import SessionNotFound, UsageError
from tui_agent.plugin_host.check import check_plugin
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.testing import PluginSession

Call = Callable[..., tuple[int, str, str]]
MODEL = ModelInfo(profile="demo", provider="scripted", model="demo")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def call(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run the program in a home of its own: status, standard output, standard error."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)

    def run(*words: str) -> tuple[int, str, str]:
        status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


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
    place = ("--data-dir", str(tmp_path))
    status, out, _ = call("sessions", "list", "--json", *place)
    assert status == 0
    found = lines(out)
    assert {"id", "path", "workspace", "started", "title", "events"} <= set(found[0])
    assert {session["title"] for session in found} == {"first", "second \x1b[31m\u202ered"}
    _, plain, _ = call("sessions", "list", *place)
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    (tmp_path / "elsewhere").mkdir()
    _, out, _ = call("sessions", "list", "--json", *place, "-C", str(tmp_path / "elsewhere"))
    assert out == ""
    _, out, _ = call("sessions", "list", "--all", "--json", *place, "-C", str(tmp_path / "elsewhere"))
    assert len(lines(out)) == 2


def test_a_session_is_shown_by_the_beginning_of_its_id(call: Call, tmp_path: Path, work: Path) -> None:
    stored(tmp_path, work, ["only"])
    place = ("--data-dir", str(tmp_path))
    _, out, _ = call("sessions", "show", "ses_00", "--json", *place)
    assert [event["payload"]["kind"] for event in lines(out)] == ["session.started", "session.titled"]
    _, out, _ = call("sessions", "show", "latest", *place)
    assert len(out.splitlines()) == 2
    status, _, err = call("sessions", "show", "ses_9", *place)
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
    origins = {line["key"]: line["origin"] for line in lines(out)}
    assert origins["policy"] == str(config)
    assert origins["models.fast.base_url"] == str(config)
    assert origins["theme"] == "environment TUI_AGENT_THEME"
    assert origins["agent"] == "options"
    assert origins["vim"] == "default"
    _, plain, _ = call("config", "show")
    assert "policy" in plain
    assert "vim" not in plain


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
    assert "line 2" in next(line["message"] for line in lines(out) if line["check"] == "configuration")


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
        line for line in lines(out) if line["key"] == "vim"
    ).items()
    editor.write_text('#!/bin/sh\necho "vim = maybe" >> "$1"\n')
    status, _, err = call("config", "edit")
    assert status == 2
    assert "config.toml" in err


def test_a_new_plugin_passes_its_own_check_and_is_listed(call: Call, work: Path) -> None:
    status, out, _ = call("plugins", "new", "word_count")
    assert status == 0
    assert "plugins check" in out
    status, out, _ = call("plugins", "check", "./word_count", "--json")
    report = lines(out)[0]
    assert (status, report["ok"], report["notes"], report["faults"]) == (0, True, [], [])
    assert report["offers"] == ["tool:word_count"]
    assert call("plugins", "new", "standup", "--kind", "command")[0] == 0
    status, out, _ = call("plugins", "check", "./standup", "--json")
    report = lines(out)[0]
    assert (status, report["offers"], report["notes"]) == (0, ["command:standup"], [])
    _, out, _ = call("plugins", "list", "--json", "--plugin-dir", str(work / "word_count"))
    listed = {line["name"]: line for line in lines(out)}
    assert listed["word_count"]["state"] == "on"
    assert listed["files"]["source"] == "bundled"
    assert call("plugins", "new", "word_count")[0] == 2
    assert call("plugins", "new", "Word-Count")[0] == 2


EFFECTS = """
from pydantic import BaseModel
from tui_agent.plugin_api import BaseTool, ToolSpec

class Args(BaseModel):
    path: str
    times: int = 1

class Odd(BaseTool):
    spec = ToolSpec("odd", "Is odd.", Args, "odd")
    def target(self, args): return args.path
    def effects(self, args): return EFFECTS
    async def run(self, args, ctx): ...

def register(api):
    api.tool(Odd())
"""


@pytest.mark.parametrize(
    ("effects", "status", "words"),
    [
        ("()", 0, "declares no effects, so every call is asked about"),
        ("1 / 0", 1, "in `effects`, failed: ZeroDivisionError"),
        ("('x',)", 1, "`effects` returned str instead of effects"),
    ],
)
def test_a_check_tries_the_effects_of_each_tool(
    call: Call, work: Path, effects: str, status: int, words: str
) -> None:
    (work / "odd.py").write_text(EFFECTS.replace("EFFECTS", effects))
    ended, out, _ = call("plugins", "check", "odd.py")
    assert (ended, words in out) == (status, True), out


def test_a_check_runs_the_plugins_own_tests(call: Call, work: Path) -> None:
    call("plugins", "new", "word_count")
    test = work / "word_count" / "tests" / "test_word_count.py"
    test.write_text(test.read_text().replace("2 words", "3 words"))
    status, out, _ = call("plugins", "check", "./word_count")
    assert status == 1 and "Its tests failed" in out and "'3 words'" in out


def new_pane(call: Call, work: Path) -> Path:
    """Create a plugin with a pane."""
    assert call("plugins", "new", "spending", "--kind", "pane")[0] == 0
    return work / "spending"


def test_a_new_pane_passes_its_own_test_and_check(call: Call, work: Path, tmp_path: Path) -> None:
    plugin, names = new_pane(call, work), {"__name__": "test_spending"}
    exec((plugin / "tests" / "test_spending.py").read_text(), names)
    session = PluginSession(plugin, tmp_path)
    names["test_it_counts_the_tool_calls"](session)  # type: ignore[operator]
    assert try_panes(plugin) == ([], [])
    assert check_plugin(plugin).offers == ("pane:spending",)


@pytest.mark.slow
def test_a_new_mcp_server_passes_its_test_and_offers_its_tool(
    call: Call, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = call("plugins", "new", "words", "--kind", "mcp")
    assert status == 0
    table = out[out.index("[mcp.words]") : out.index("Then check it")]
    config = tmp_path / "home" / ".config" / "tui-agent" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(table)
    status, out, _ = call("mcp", "check", "words", "--json")
    (report,) = lines(out)
    assert (status, report["fault"]) == (0, "")
    assert [(tool["name"], tool["description"]) for tool in report["tools"]] == [
        ("mcp_words_words", "Count the words of a text.")
    ]
    monkeypatch.syspath_prepend(str(work / "words"))
    names: dict[str, Any] = {}
    exec((work / "words" / "test_words.py").read_text(), names)
    names["test_it_counts_words"]()
    del sys.modules["server"]


def test_a_check_shows_each_pane_over_a_log_with_every_kind_of_event(call: Call, work: Path) -> None:
    plugin = new_pane(call, work)
    folds, manifest = plugin / "folds.py", plugin / "plugin.toml"
    folds.write_text(
        folds.read_text() + "\n@pane(Calls)\ndef silent(calls):\n    return ()\n"
        "\n@pane(Calls)\ndef broken(calls):\n    return calls.x\n\n@pane(Calls)\ndef unlisted(calls): ...\n"
    )
    manifest.write_text(manifest.read_text().replace('["spending"]', '["spending", "silent", "broken"]'))
    assert try_panes(plugin) == (
        ["The pane broken: AttributeError: 'int' object has no attribute 'x' (folds.py:27)"],
        [
            "The pane unlisted is not shown: add it to `panes` in plugin.toml.",
            "The pane silent shows nothing of a log with every kind of event.",
        ],
    )


def test_a_broken_plugin_is_told_by_check_and_doctor(call: Call, work: Path) -> None:
    (work / "broken").mkdir()
    (work / "broken" / "__init__.py").write_text("raise RuntimeError('no good')\n")
    status, out, _ = call("plugins", "check", "broken")
    assert status == 1
    assert "no good" in out
    status, out, _ = call("doctor", "--plugin-dir", "broken")
    assert status == 1
    assert "no good" in out


def test_the_doctor_names_the_repository_only_where_there_is_one(call: Call, work: Path) -> None:
    def checkpoints() -> str:
        return str(lines(call("doctor", "--only", "checkpoints", "--json")[1])[0]["message"])

    assert checkpoints() == "up to 1000 MB per session"
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    assert checkpoints() == "up to 1000 MB per session, including 256 MB copied from the repository"


def test_the_doctors_report_begins_with_what_to_fix_and_is_wrapped_for_a_terminal() -> None:
    results = [
        ("version", CheckResult("ok", "tui-agent 1")),
        ("model", CheckResult("note", "No model is set.", "Choose one.")),
        ("sessions", CheckResult("bad", "/x cannot be written.", "Choose another folder.")),
    ]
    report = [
        "To fix",
        "  sessions        /x cannot be written.",
        "                  Choose another folder.",
        "",
        "Worth knowing",
        "  model           No model is set.",
        "                  Choose one.",
        "",
        "Working",
        "  version         tui-agent 1",
    ]
    assert describe_results(results).splitlines() == report
    report[1:3] = [
        "  sessions        /x cannot be",
        "                  written.",
        "                  Choose another",
        "                  folder.",
    ]
    assert describe_results(results, 34).splitlines() == report


def test_listing_plugins_imports_none_of_them(call: Call, work: Path) -> None:
    (work / "rude.py").write_text(
        "from pathlib import Path\nPath('imported').touch()\nraise KeyboardInterrupt\n"
    )
    status, out, _ = call("plugins", "list", "--json", "--plugin-dir", "rude.py")
    assert status == 0
    assert next(line for line in lines(out) if line["name"] == "rude")["state"] == "on"
    assert not (work / "imported").exists()


def test_a_place_of_plugins_that_is_not_there_is_a_usage_error(call: Call, work: Path) -> None:
    status, _, err = call("plugins", "list", "--plugin-dir", "nowhere")
    assert status == 2
    assert "--plugin-dir: " in err and "nowhere" in err


def test_policy_check_judges_each_line_of_its_input(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    _, out, _ = call("policy", "check", "--json", "--", "git", "status")
    one = lines(out)[0]
    assert set(one) == {"command", "decision", "classes", "effects", "rule", "reason"}
    assert (one["command"], one["decision"]) == ("git status", "allow")
    given = tmp_path / "commands.jsonl"
    given.write_text('{"command": "rm -rf /"}\n\n{"command": "ls"}\n')
    with given.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        _, out, _ = call("policy", "check", "--stdin")
    assert [(line["command"], line["decision"]) for line in lines(out)] == [
        ("rm -rf /", "deny"),
        ("ls", "allow"),
    ]
    assert call("policy", "check")[0] == 2


def test_models_list_offers_the_demos_without_a_key(call: Call) -> None:
    _, out, _ = call("models", "list", "--json")
    assert {"demo:bugfix", "demo:todo-api"} <= {line["profile"] for line in lines(out)}


def test_agents_and_themes_are_listed(call: Call) -> None:
    _, out, _ = call("agents", "list", "--json")
    assert lines(out)[0] == {
        "name": "default",
        "description": "asks a model and runs the tools that it calls",
        "owner": "tui-agent",
        "chosen": True,
        "kind": "hub",
    }
    assert {"study", "verify"} <= {line["name"] for line in lines(out) if line["kind"] == "delegate"}
    _, out, _ = call("themes", "list", "--json")
    assert {"night", "day", "beacon"} <= {line["name"] for line in lines(out)}
    _, out, _ = call("themes", "preview", "night")
    assert "accent" in out
    assert call("themes", "preview", "nope")[0] == 2


def test_a_demos_name_and_options_are_checked_before_anything_is_made(call: Call) -> None:
    _, out, _ = call("demo", "--list", "--json")
    assert {line["name"] for line in lines(out)} == {"bugfix", "todo-api"}
    assert call("demo", "nope")[0] == 2
    assert call("demo", "bugfix", "--json")[0] == 2


def test_events_are_shown_as_they_stand_in_the_log(call: Call, tmp_path: Path, work: Path) -> None:
    stored(tmp_path, work, ["first"])
    log = tmp_path / "sessions" / "ses_0000000000000000" / "events.jsonl"
    place = ("--data-dir", str(tmp_path))
    _, out, _ = call("sessions", "show", "ses_", "--json", *place)
    assert out == log.read_text()
    _, last, _ = call("sessions", "show", "ses_", "--json", "--from", "1", *place)
    assert last == log.read_text().splitlines(keepends=True)[1]


def test_an_action_that_failed_is_shown_with_its_reason(call: Call, tmp_path: Path, work: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("answers: [{calls: [{read_file: {path: nowhere.txt}}]}, {text: Done.}]")
    place = ("--data-dir", str(tmp_path / "data"))
    call("run", "read it", "-m", f"scripted:{script}", *place)
    _, out, _ = call("sessions", "show", "latest", "--actions", *place)
    (failed,) = [line for line in out.splitlines() if " error " in line]
    assert "nowhere.txt" in failed


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


def test_the_doctor_tells_of_sessions_that_others_can_read(call: Call, tmp_path: Path) -> None:
    data = tmp_path / "kept"
    (data / "sessions").mkdir(parents=True)
    data.chmod(0o755)

    def found() -> str:
        told = lines(call("doctor", "--json", "--data-dir", str(data))[1])
        return next(f"{line['state']} {line['message']}" for line in told if line["check"] == "sessions")

    (data / "sessions").chmod(0o700)
    assert found().startswith("ok ")
    (data / "sessions").chmod(0o755)
    assert found() == f"note Other users can read {data / 'sessions'}."


def test_the_doctor_tells_a_configuration_file_from_none(call: Call, tmp_path: Path) -> None:
    def said() -> str:
        return next(
            line["message"] for line in lines(call("doctor", "--json")[1]) if line["check"] == "configuration"
        )

    assert said().startswith("no file (defaults)")
    path = tmp_path / "home" / ".config" / "tui-agent" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('policy = "plan"\n')
    assert said() == str(path)


def test_the_doctor_tells_wrong_keys(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "home" / ".config" / "tui-agent"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[keys]\nsend = "f9"\nhelp = "f9"\nnosuch = "f8"\n')
    status, out, _ = call("doctor", "--only", "keys")
    assert status == 1 and "nosuch" in out and "F9" in out
