"""`tui-agent redact`: secrets go, lines stay."""

import io
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.cli.redact import explained_lines, redacted_lines
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.wiring.startup_context import StartupContext, load_startup_context

KEY = "gh" + "p_" + "a1B2" * 9


def test_every_line_stays_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    block = [
        "-----BEGIN RSA PRIVATE " + "KEY-----",
        "MIIBOgIBAAJBAKj34Gk",
        "-----END RSA PRIVATE " + "KEY-----",
    ]
    given = ["plain", f"token {KEY}", "", *block, "kind: Secret", "\udcff bytes", "no end"]
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(given).encode("utf-8", "surrogateescape")))
    )
    out = io.TextIOWrapper(buffer := io.BytesIO(), write_through=True)
    monkeypatch.setattr("sys.stdout", out)
    assert main(["redact"]) == 0
    lines = buffer.getvalue().decode("utf-8", "surrogateescape").split("\n")
    hidden = "[redacted: private key]"
    assert lines == ["plain", "token [redacted: github token]", "", hidden, hidden, hidden, *given[6:]]


def test_a_line_goes_out_before_the_next_one_comes() -> None:
    seen: list[str] = []

    def lines() -> "list[str]":
        return ["a\n", "b\n"]

    for line in redacted_lines(iter(lines()), Redactor()):
        seen.append(line)
        assert len(seen) <= 2
    assert seen == ["a\n", "b\n"]


BELOW = {
    "netrc": ("machine h.example\nlogin ada\n", "  password @@"),
    "kubernetes": ("- name: DB_PASSWORD\n", "  value: @@"),
    "kubernetes secret": ("kind: Secret\nmetadata:\n  name: x\ndata:\n", "  db: @@"),
    "ini": ("[client]\nuser = x\n", "password = @@"),
    "wrapped header": ("Authorization: Bearer\n", "  @@"),
    "yaml block": ("password: |\n", "  @@"),
}


@pytest.mark.parametrize("name", BELOW)
def test_a_line_is_read_with_those_that_tell_what_it_holds(name: str) -> None:
    above, line = BELOW[name]
    value = "c2VjcmV0" + "Zq8w71Lk" + "Tr0ub4do"
    given = f"{above}{line.replace('@@', value)}\nplain\n".splitlines(keepends=True)
    out = list(redacted_lines(given, Redactor()))
    assert len(out) == len(given)
    assert value not in "".join(out)
    assert out[-1] == "plain\n"


@pytest.mark.parametrize("before", ["", "    ", "+", "12: ", "    > "])
def test_of_a_private_key_its_lines_go_and_no_line_behind_them(before: str) -> None:
    body = [
        "".join(("-----BEGIN EC PRIVATE ", "KEY-----")),
        "Proc-Type: 4,ENCRYPTED",
        "",
        "MIIBOgIBAAJBAKj34Gk",
        "aB3/+=",
    ]
    given = [f"{before}{line}\n" for line in body]
    out = list(redacted_lines([*given, "the key was cut, and this stays\n"], Redactor()))
    assert "MIIBOg" not in "".join(out)
    assert out[-1] == "the key was cut, and this stays\n"


def test_the_beginning_of_a_key_in_a_sentence_or_in_code_begins_none() -> None:
    marker = "-----BEGIN PRIVATE " + "KEY-----"
    given = [f'if "{marker}" in text:\n', "    raise ValueError\n", "aB3\n"]
    assert list(redacted_lines(given, Redactor())) == given


def test_all_lines_of_a_putty_key_go_and_no_line_behind_it() -> None:
    key = ["PuTTY-User-Key-File-3: ssh-ed25519", "Encryption: none", "Comment: ada@host", "Public-Lines: 1"]
    key += ["AAAAC3NzaC1lZDI1NTE5", "Private-Lines: 1", "AAAAIHk3bmV2ZXIx", "Private-MAC: 26dbf120b0b9961d"]
    out = list(redacted_lines([f"{line}\n" for line in (*key, "end")], Redactor()))
    assert out == ["[redacted: private key]\n"] * len(key) + ["end\n"]


def test_explain_names_line_and_rule_of_each_secret_and_shows_none() -> None:
    text = f"plain\nuse {KEY}\n\nmysql -u root -psunflower\nlogin correct-horse {KEY}\n"
    assert list(
        explained_lines(text.splitlines(keepends=True), Redactor(secrets={"MY_LOGIN": "correct-horse"}))
    ) == [
        "line 2: github-token (github token)",
        "line 4: ssh-and-mysql-option (password)",
        "line 5: value of MY_LOGIN",
        "line 5: github-token (github token)",
    ]


def test_explain_is_an_option_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"a\n{KEY}\n".encode())))
    out = io.TextIOWrapper(buffer := io.BytesIO(), write_through=True)
    monkeypatch.setattr("sys.stdout", out)
    assert main(["redact", "--explain"]) == 0
    assert buffer.getvalue().decode() == "line 2: github-token (github token)\n"


def settings(home: Path, text: str) -> StartupContext:
    path = home / ".config/tui-agent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return load_startup_context(SessionOptions(cwd=home), {"HOME": str(home)})


RULE = """
[[redaction.rules]]
id = "acme-key"
what = "acme key"
pattern = '{{edge}}(?P<secret>acme_[a-z0-9]{20})'
keywords = ["^acme_"]
examples = ["token [[acme_{{a-z0-9 20}}]] is set"]
"""


def test_the_configuration_adds_allows_and_disables(tmp_path: Path) -> None:
    more = f'[redaction]\nallow = ["sunflower"]\ndisable = ["github-token"]\n{RULE}'
    redactor = settings(tmp_path, more).redactor
    text = f"acme_abcdefghij0123456789, {KEY}, curl -u bob:sunflower"
    assert redactor.redact_text(text) == f"[redacted: acme key], {KEY}, curl -u bob:sunflower"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (RULE.replace("acme_[a-z0-9]{20}", "acme_[a-z"), "[[redaction.rules]] 1 (acme-key): 'pattern'"),
        (
            RULE.replace("20}}]]", "9}}]]"),
            "[[redaction.rules]] 1 (acme-key): examples 1: the pattern does not match",
        ),
        (
            RULE.replace("what =", "kind ="),
            "[[redaction.rules]] 1 (acme-key): 'kind': this key is not known",
        ),
        ("[redaction]\ndisable = ['github-tokn']\n", "no rule has the id 'github-tokn'"),
        ("[redaction]\nallowed = []\n", "unknown key 'redaction.allowed'. Did you mean 'allow'?"),
        (RULE * 60_000, "is larger than 1 MB"),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_file_and_the_reason(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(tmp_path, text)
    assert "config.toml" in str(raised.value) and reason in str(raised.value)
