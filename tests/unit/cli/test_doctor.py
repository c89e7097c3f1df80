"""What `doctor` says of the configuration, the repository and the stored sessions."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call, json_lines
from tui_agent.cli.doctor.command import CheckResult, describe_results
from tui_agent.config.user_choices import FILE_NAME, UserChoices


def test_the_doctor_names_the_repository_only_where_there_is_one(call: Call, work: Path) -> None:
    def checkpoints() -> str:
        return str(json_lines(call("doctor", "--only", "checkpoints", "--json")[1])[0]["message"])

    assert checkpoints() == "up to 1 GB per session"
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    assert checkpoints() == "up to 1 GB per session, including 256 MB copied from the repository"


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


def test_the_doctor_tells_of_a_theme_that_is_not_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, state in (("night", "ok"), ("nosuch", "bad")):
        monkeypatch.setenv("TUI_AGENT_THEME", name)
        result = json_lines(call("doctor", "--only", "theme", "--json")[1])[0]
        assert result["state"] == state and name in str(result["message"])


def test_the_doctor_names_the_theme_that_was_chosen_in_the_app(call: Call, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(UserChoices(theme="beacon").to_json())
    assert json_lines(call("doctor", "--only", "theme", "--json")[1])[0]["message"] == "beacon"


@pytest.mark.slow
def test_the_doctor_tells_of_sessions_that_others_can_read(call: Call, tmp_path: Path) -> None:
    data = tmp_path / "kept"
    (data / "sessions").mkdir(parents=True)
    data.chmod(0o755)

    def found() -> str:
        told = json_lines(call("doctor", "--json", "--data-dir", str(data))[1])
        return next(f"{line['state']} {line['message']}" for line in told if line["check"] == "sessions")

    (data / "sessions").chmod(0o700)
    assert found().startswith("ok ")
    (data / "sessions").chmod(0o755)
    assert found() == f"note Other users can read {data / 'sessions'}."


@pytest.mark.slow
def test_the_doctor_tells_a_configuration_file_from_none(call: Call, tmp_path: Path) -> None:
    def said() -> str:
        return next(
            line["message"]
            for line in json_lines(call("doctor", "--json")[1])
            if line["check"] == "configuration"
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
    assert "until then these actions keep their default keys" in out
    (config / "config.toml").write_text('[keys]\npalette = "ctrl+shift+t"\n')
    status, out, _ = call("doctor", "--only", "keys", "--json")
    (told,) = json_lines(out)
    assert (status, told["state"], told["message"]) == (
        0,
        "note",
        "palette: Ctrl+Shift+T works only in terminals with the kitty keyboard protocol; in other terminals use Ctrl+P.",
    )


def test_the_doctor_counts_all_files_of_the_sessions(call: Call, tmp_path: Path) -> None:
    store = tmp_path / "sessions" / "ses_01" / "checkpoints.git"
    store.mkdir(parents=True)
    (tmp_path / "sessions").chmod(0o700)
    (store / "pack").write_bytes(bytes(3_000_000))
    (store.parent / "events.jsonl").write_text("")
    assert ", 3 MB; " in str(json_lines(call("doctor", "--only", "sessions", "--json")[1])[0]["message"])


def test_the_doctor_names_a_wrong_rule_file(call: Call, tmp_path: Path) -> None:
    def policy() -> dict[str, object]:
        return json_lines(call("doctor", "--only", "policy", "--json")[1])[0]

    assert (policy()["state"], policy()["message"]) == ("ok", "no rules")
    folder = tmp_path / "home" / ".config" / "tui-agent"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("policy.toml", "programs.toml"):
        (folder / name).write_text("allow_run = ['make']\n", encoding="utf-8")
        assert policy()["state"] == "bad" and name in str(policy()["message"])
        (folder / name).unlink()
