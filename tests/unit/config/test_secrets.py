"""Keys: where they are found, and that they are kept only when asked, for the user's eyes alone."""

from pathlib import Path

import pytest

from tui_agent.config.dotenv import parse
from tui_agent.config.secrets import Keys
from tui_agent.errors import ConfigError


def test_a_key_that_the_user_enters_is_kept_for_the_user_alone(tmp_path: Path) -> None:
    stored = tmp_path / "config" / "keys.json"
    keys = Keys({}, stored, use_keyring=False)
    assert keys.get("ANTHROPIC_API_KEY") is None
    assert not stored.parent.exists()
    assert keys.save_key("anthropic", " sk-secret\n") == str(stored)
    assert keys["ANTHROPIC_API_KEY"] == "sk-secret"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert stored.parent.stat().st_mode & 0o777 == 0o700


def test_the_environment_wins_over_what_is_kept(tmp_path: Path) -> None:
    stored = tmp_path / "keys.json"
    Keys({}, stored, use_keyring=False).save_key("openai", "kept")
    assert Keys({"OPENAI_API_KEY": "real"}, stored, use_keyring=False)["OPENAI_API_KEY"] == "real"
    assert Keys({"OPENAI_API_KEY": ""}, stored, use_keyring=False)["OPENAI_API_KEY"] == "kept"


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    stored = tmp_path / "keys.json"
    stored.write_text("{}")
    stored.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        Keys({}, stored, use_keyring=False).get("OPENAI_API_KEY")


def test_what_is_no_key_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no key"):
        Keys({}, tmp_path / "keys.json", use_keyring=False).save_key("openai", "two words")


def test_secrets_are_told_by_name_and_length(tmp_path: Path) -> None:
    environ = {
        "OPENAI_API_KEY": "sk-1234567",
        "GITHUB_TOKEN": "ghp_1234567",
        "KEYBOARD_LAYOUT": "some-layout",
        "KEY": "1",
        "PATH": "/usr/bin:/bin",
    }
    found = Keys(environ, tmp_path / "keys.json", use_keyring=False).secrets()
    assert sorted(found) == ["GITHUB_TOKEN", "OPENAI_API_KEY"]


def test_dotenv_reads_quotes_comments_and_exports() -> None:
    text = "# c\n\nexport A=1\nB='a # b'\nC=\"x\\ny\" # z\nD=v # w\nE=\nF=$A\n"
    assert parse(text) == {"A": "1", "B": "a # b", "C": "x\ny", "D": "v", "E": "", "F": "$A"}


@pytest.mark.parametrize("text", ["A=1\nnonsense\n", 'A=1\nB="open\n'])
def test_a_wrong_dotenv_line_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\.env, line 2"):
        parse(text)
