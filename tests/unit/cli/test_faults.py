"""What goes wrong around a command: closed or full output, folders that cannot be used, damage, hidden characters."""

import io
import json
import os
import shlex
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.cli.console.output import plain_json
from tui_agent.cli.main import main, run_command_line
from tui_agent.config.paths import find_paths
from tui_agent.errors import ConfigError

ROOT = Path(__file__).parents[3]
HIDDEN = "a\x7f\x9b31m\x9d52;c;x\x9c\u202egnp\u2066\U000e0041\ud800z"


def shell(words: str, home: Path, rest: str) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.quote(sys.executable)} -m tui_agent {words} {rest}"
    environ = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", command], env=environ, capture_output=True, check=False, text=True)


@pytest.mark.slow_variants
@pytest.mark.parametrize("rest", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, rest: str) -> None:
    done = shell("config path", tmp_path, rest)
    assert done.returncode == 1
    assert (
        done.stderr.startswith("tui-agent: The output could not be written") and done.stderr.count("\n") == 1
    )


def test_a_reader_that_has_gone_is_met_with_silence(tmp_path: Path) -> None:
    done = shell("config show --all", tmp_path, "| true")
    assert done.stderr == ""


@pytest.mark.slow
def test_an_answer_that_nobody_gets_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("- text: the answer\n")
    words = f"run hi -m scripted:{tmp_path}/s.yaml -C {tmp_path} --data-dir {tmp_path}/data"
    assert shell(words, tmp_path, ">&-").returncode == 1


def test_json_hides_nothing_and_moves_no_terminal() -> None:
    shown = plain_json(json.dumps({"text": HIDDEN, "é": "ü 🙂"}, ensure_ascii=False))
    assert json.loads(shown) == {"text": HIDDEN, "é": "ü 🙂"}
    assert "é" in shown and "ü 🙂" in shown
    assert not any(char in shown for char in HIDDEN if char not in "az31m52;c;xgnp")


def test_the_events_of_a_session_are_shown_with_hidden_characters_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(tmp_path).create("s1")
    log.append(said("x\x9b31m\u202e"))
    log.close()
    assert main(["sessions", "show", "s1", "--json", "--data-dir", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\\u009b31m\\u202e" in out and "\x9b" not in out
    assert json.loads(out)["payload"]["text"] == "x\x9b31m\u202e"
    assert "\x9b".encode() in (log.folder / "events.jsonl").read_bytes()


def test_a_data_folder_that_is_a_file_is_a_fault_of_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for words in (["sessions", "list"], ["run", "hi", "-m", "demo"], ["trace", "latest"]):
        assert main([*words, "--data-dir", str(tmp_path / "file"), "-C", str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert "Rename the file" in err and "space" not in err


def test_a_current_folder_that_was_deleted_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (
        [],
        ["run", "hi"],
        ["config", "show"],
        ["map"],
        ["-C", str(tmp_path)],
        ["plugins", "new", "x"],
    ):
        assert main(words) == 2
        assert capsys.readouterr().err == (
            "tui-agent: The current folder was deleted. Change to another folder, for example with `cd ~`, and start again.\n"
        )
    assert main(["run", "--help"]) == 0


def test_a_folder_that_cannot_be_looked_into_is_named(tmp_path: Path) -> None:
    closed = tmp_path / ("y" * 300)  # stands in for one without permission, which root has everywhere
    with pytest.raises(ConfigError, match="cannot be read"):
        find_paths(closed, {"HOME": str(tmp_path)})


@pytest.mark.slow
def test_a_session_with_a_damaged_first_line_is_continued_with_the_model_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text("- text: one\n- text: two\n")
    place = ("--data-dir", str(tmp_path / "data"), "-C", str(tmp_path))
    model = ("-m", f"scripted:{tmp_path}/s.yaml")
    assert main(["run", "hi", "--session", "s1", *model, *place]) == 0
    path = tmp_path / "data" / "sessions" / "s1" / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"seq":0', b'"seq":5', 1))
    capsys.readouterr()
    assert main(["sessions", "list", *place]) == 0
    assert "(damaged)" in capsys.readouterr().out
    assert main(["run", "more", "--continue", *model, *place]) == 0
    out, err = capsys.readouterr()
    assert "two" in out and "session: s1" in err


def test_two_sessions_at_once_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "hi", "-m", "demo", "-C", str(tmp_path), "--session", "s1", "--continue")
    assert main(words) == 2
    assert "--session and --continue" in capsys.readouterr().err


def test_an_investigator_that_is_no_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.yaml").write_text("- text: one\n")
    place = ("-C", str(tmp_path), "--data-dir", str(tmp_path / "data"))
    words = ("run", "hi", "-m", f"scripted:{tmp_path}/s.yaml", "--investigator-model-profile", "nope")
    assert main((*words, *place)) == 2
    assert "nope" in capsys.readouterr().err


def test_a_value_from_a_trusted_env_file_is_told_by_that_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "TUI_AGENT_POLICY", "TUI_AGENT_HOME"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    (work / ".env").write_text("TUI_AGENT_POLICY=plan\n")
    assert main(["trust", "--yes", str(work)]) == 0
    capsys.readouterr()
    assert main(["config", "show", "-C", str(work), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (policy,) = [each for each in found if each["key"] == "policy"]
    assert policy["value"] == "plan" and policy["origin"] == f"{work}/.env (TUI_AGENT_POLICY)"


def test_profiles_that_lack_their_key_are_listed_with_the_variable_that_they_want(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "TUI_AGENT_HOME", "TUI_AGENT_MODEL", "OWN_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    profile = (
        'provider = "openai-chat"\nmodel = "m"\nbase_url = "http://h.example/v1"\napi_key_env = "OWN_KEY"\n'
    )
    (folder / "config.toml").write_text(f'model = "own"\n[models.own]\n{profile}')
    assert main(["models", "list", "-C", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "own *" in out and "OWN_KEY" in out
    assert main(["models", "list", "-C", str(tmp_path), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["profile"] for each in found if each["default"]] == ["own"]


def test_a_plugin_is_switched_off_and_on_in_the_users_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('# mine\ntheme = "day"\n')
    place = ("-C", str(tmp_path))

    def state(name: str = "todo") -> str:
        capsys.readouterr()
        assert main(["plugins", "list", "--json", *place]) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return str(next(each["state"] for each in found if each["name"] == name))

    assert main(["plugins", "disable", "todo", *place]) == 0
    assert state() == "off"
    assert main(["plugins", "disable", "tood", *place]) == 2
    assert main(["plugins", "enable", "todo", *place]) == 0
    assert state() == "on"
    assert state("git") == "off"
    for verb, expected in (("enable", "on"), ("disable", "off")):
        assert main(["plugins", verb, "git", *place]) == 0
        assert state("git") == expected
    assert (folder / "config.toml").read_text() == '# mine\ntheme = "day"\n'


def test_ctrl_c_while_an_error_is_printed_ends_the_command_without_a_traceback() -> None:
    class Interrupted(io.StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    with redirect_stderr(Interrupted()):
        assert run_command_line(["--no-such-option"]) == 2
