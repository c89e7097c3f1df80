"""What goes wrong is told without secrets: on standard error, with a traceback, and in the app."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_agent.cli.main import ErrorStream, main, report
from tui_agent.config.paths import find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_files import read_project_files
from tui_agent.session.fault_redaction import redact_text

ISSUED = "".join(("gh", "p_", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4fGh7J"))
VALUE = "canary-Zq8w+Xv/71Lk"
PASSWORD = "tr0ub4dor-and-3"


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MY_LOGIN_TOKEN", VALUE)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        assert main(words) != 0
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    "words",
    [
        ("run", "hi", "--model", f"nowhere/{ISSUED}"),
        ("run", "hi", "--model", VALUE),
        ("run", "hi", "--model", "openai/x", "--base-url", f"ftp://ada:{PASSWORD}@host.example/v1"),
        ("run", "hi", f"--{ISSUED}"),
        ("sessions", "export", VALUE),
        ("trace", ISSUED),
        ("run", "hi", "--cwd", f"/nowhere/{VALUE}"),
    ],
)
@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_words_of_the_command_line_are_told_back_without_secrets(
    told: Callable[..., str], words: tuple[str, ...], debug: tuple[str, ...]
) -> None:
    said = told(*words, *debug)
    assert said.strip()
    assert [one for one in (ISSUED, VALUE, PASSWORD) if one in said] == []


def test_an_exception_and_its_traceback_are_told_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    stream = ErrorStream(sys.stderr)
    for debug in (False, True):
        with contextlib.redirect_stderr(stream):
            report(RuntimeError(f"{ISSUED} is no https://ada:{PASSWORD}@host.example"), debug=debug)
    said = capsys.readouterr().err
    assert "Unexpected RuntimeError: [redacted: " in said and "RuntimeError: [redacted: " in said
    assert ISSUED not in said and PASSWORD not in said


def test_a_stream_of_errors_is_what_the_one_behind_it_is() -> None:
    out = io.StringIO()
    stream = ErrorStream(out)
    with contextlib.redirect_stderr(stream):
        print("token", ISSUED, file=sys.stderr)
    assert out.getvalue().startswith("token [redacted: ") and out.getvalue().endswith("]\n")
    assert not stream.isatty() and stream.writable()


def test_a_configuration_that_cannot_be_read_leaves_no_secret_in(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "secrets.json").write_text("{")
    environ = {"HOME": str(tmp_path), "MY_LOGIN_TOKEN": VALUE}
    said = redact_text(f"{VALUE} and {ISSUED}", environ, tmp_path)
    assert VALUE not in said and ISSUED not in said


@pytest.mark.parametrize("place", [["--cwd", "{}"], ["--cwd={}"], ["-C", "{}"], ["-C{}"]])
def test_the_trusted_env_file_of_the_folder_that_is_worked_in_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: list[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".env").write_text(f"MY_LOGIN_TOKEN={VALUE}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MY_LOGIN_TOKEN", raising=False)
    trust.save_decision(read_project_files(work), "trusted", find_paths(work, dict(os.environ)))
    out = io.StringIO()
    words = ["run", *(word.format(work) for word in place), "hi"]
    ErrorStream(out, words).write(f"what of {VALUE}\n")
    assert out.getvalue() == "what of [redacted: MY_LOGIN_TOKEN]\n"
    out = io.StringIO()
    ErrorStream(out, ["run", "--", *words]).write(f"what of {VALUE}\n")
    assert VALUE in out.getvalue()  # there it is a prompt


OWN_RULE = """
[[redaction.rules]]
id = "acme-key"
what = "acme key"
pattern = "acme_[a-z]{12}"
keywords = ["acme_"]
examples = ["[[acme_{{a-z 12}}]]"]
"""


def test_faults_are_told_without_what_the_user_s_own_rules_cover(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "tui-agent"
    config.mkdir(parents=True)
    environ = {"HOME": str(tmp_path), "MY_LOGIN_TOKEN": VALUE}
    (config / "config.toml").write_text(OWN_RULE + f"[redaction]\nallow = ['{ISSUED}']\n")
    said = redact_text(f"acme_zebraquokkax {VALUE} {ISSUED}", environ, tmp_path)
    assert said == f"[redacted: acme key] [redacted: MY_LOGIN_TOKEN] {ISSUED}"
    (config / "config.toml").write_text(OWN_RULE.replace("acme_[", "("))
    said = redact_text(f"{VALUE} {ISSUED}", environ, tmp_path)
    assert VALUE not in said and ISSUED not in said
