"""Keys: where they are found, and that they are kept only when asked, for the user's eyes alone."""

from pathlib import Path

import pytest

from tui_agent.config.dotenv import parse_dotenv
from tui_agent.config.settings.api_keys import Keys
from tui_agent.errors import ConfigError


class FakeRing:
    """A key ring in a dictionary; counts how often it is asked."""

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.kept: dict[str, str] = {}
        self.asked: list[str] = []

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return self.kept.get(name)

    def store(self, name: str, value: str) -> bool:
        if self.works:
            self.kept[name] = value
        return self.works


NO_RING = FakeRing(works=False)


def test_a_key_goes_to_the_key_ring_where_there_is_one(tmp_path: Path) -> None:
    ring, stored = FakeRing(), tmp_path / "keys.json"
    keys = Keys({}, stored, ring)
    assert keys.save_key("anthropic", "sk-secret-1") == "the system's key ring"
    assert "sk-secret-1" not in stored.read_text()
    again = Keys({}, stored, ring)
    assert again["ANTHROPIC_API_KEY"] == "sk-secret-1"
    assert again.collect_secrets() == {"ANTHROPIC_API_KEY": "sk-secret-1"}


def test_the_key_ring_is_asked_only_for_what_lies_in_it(tmp_path: Path) -> None:
    ring = FakeRing()
    keys = Keys({"GROQ_API_KEY": "k"}, tmp_path / "keys.json", ring)
    keys.save_key("openai", "sk-secret-2")
    for name in ("GROQ_API_KEY", "ANTHROPIC_API_KEY", "PATH"):
        keys.get(name)
    assert ring.asked == []


def test_a_key_that_the_user_enters_is_kept_for_the_user_alone(tmp_path: Path) -> None:
    stored = tmp_path / "config" / "keys.json"
    keys = Keys({}, stored, NO_RING)
    assert keys.get("ANTHROPIC_API_KEY") is None
    assert not stored.parent.exists()
    assert keys.save_key("anthropic", " sk-secret\n") == str(stored)
    assert keys["ANTHROPIC_API_KEY"] == "sk-secret"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert stored.parent.stat().st_mode & 0o777 == 0o700


def test_the_environment_wins_over_what_is_kept(tmp_path: Path) -> None:
    stored = tmp_path / "keys.json"
    Keys({}, stored, NO_RING).save_key("openai", "kept")
    assert Keys({"OPENAI_API_KEY": "real"}, stored, NO_RING)["OPENAI_API_KEY"] == "real"
    assert Keys({"OPENAI_API_KEY": ""}, stored, NO_RING)["OPENAI_API_KEY"] == "kept"


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    stored = tmp_path / "keys.json"
    stored.write_text("{}")
    stored.chmod(0o644)
    with pytest.raises(ConfigError, match="Other users can read"):
        Keys({}, stored, NO_RING).get("OPENAI_API_KEY")


def test_what_is_no_key_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a key"):
        Keys({}, tmp_path / "keys.json", NO_RING).save_key("openai", "two words")


def test_secrets_are_told_by_name_and_length(tmp_path: Path) -> None:
    environ = {
        "OPENAI_API_KEY": "sk-1234567",
        "GITHUB_TOKEN": "ghp_1234567",
        "KEYBOARD_LAYOUT": "some-layout",
        "KEY": "1",
        "PATH": "/usr/bin:/bin",
    }
    keys = Keys({**environ, "MY_SERVER": "its-long-key"}, tmp_path / "keys.json", NO_RING)
    assert sorted(keys.collect_secrets()) == ["GITHUB_TOKEN", "OPENAI_API_KEY"]
    assert keys.collect_secrets(["MY_SERVER", ""])["MY_SERVER"] == "its-long-key"


@pytest.mark.parametrize(
    "name",
    [
        "DB_PASS",
        "GITHUB_PAT",
        "MYAPP_PW",
        "PGPASSWORD",
        "SSHPASS",
        "SOMEKEY",
        "COOKIE",
        "BW_SESSION",
        "SLACK_WEBHOOK_URL",
        "PRIVATE_KEY",
        "MY_CREDENTIALS",
        "TOKEN",
        "SIGNING_SALT",
        "GPG_PASSPHRASE",
        "npm_config_authToken",
    ],
)
def test_a_variable_whose_name_says_secret_is_one(tmp_path: Path, name: str) -> None:
    environ = {name: "Zq7kL9mN2pQ4rT6vX8yA"}
    assert Keys(environ, tmp_path / "keys.json", NO_RING).collect_secrets() == environ


def test_a_variable_that_only_sounds_like_one_is_none(tmp_path: Path) -> None:
    environ = {
        "PWD": "/home/ada/timesheet",
        "OLDPWD": "/home/ada/timesheet2",
        "PATH": "/usr/bin:/bin",
        "DESKTOP_SESSION": "ubuntu-xorg",
        "XDG_SESSION_ID": "12345678",
        "SSH_ASKPASS": "/usr/lib/ssh/x11-ssh-askpass",
        "PGPASSFILE": "/home/ada/.pgpass",
        "KEYBOARD_LAYOUT": "some-layout",
        "TURKEY": "istanbul-and-ankara",
        "TOKENIZERS_PARALLELISM": "falsefalse",
        "SSH_AUTH_SOCK": "/tmp/ssh-1a2b3c4d5e6f/agent.4711",
        "COOKIE": "/home/ada/.cookie",
        "KUBECONFIG": "/home/ada/.kube/config",
    }
    assert Keys(environ, tmp_path / "keys.json", NO_RING).collect_secrets() == {}


def test_dotenv_reads_quotes_comments_and_exports() -> None:
    text = "# c\n\nexport A=1\nB='a # b'\nC=\"x\\ny\" # z\nD=v # w\nE=\nF=$A\n"
    assert parse_dotenv(text) == {"A": "1", "B": "a # b", "C": "x\ny", "D": "v", "E": "", "F": "$A"}


@pytest.mark.parametrize("text", ["A=1\nnonsense\n", 'A=1\nB="open\n'])
def test_a_wrong_dotenv_line_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\.env, line 2"):
        parse_dotenv(text)
