"""Secrets do not reach the disk; identifiers, hashes and ordinary words do."""

import random
import string
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tests.stubs.store import said, store
from tui_agent.protocol.events.tool import ToolCalled, ToolProgress
from tui_agent.protocol.ids import CallId
from tui_agent.store.redaction.redactor import MAX_REMEMBERED, Redactor

DIGITS = random.Random(7)


def chars(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Made up here, so that no line of this file looks like a key."""
    return "a1" + "".join(DIGITS.choice(alphabet) for _ in range(count - 2))


UPPER = string.ascii_uppercase + string.digits
SECRETS = {
    "github token": f"remote: gh{'p_'}{chars(36)} used",
    "github fine token": f"github_{'pat_'}{chars(60)}",
    "gitlab token": f"gl{'pat-'}{chars(20)}",
    "aws key id": f"AK{'IA'}{chars(16, UPPER).upper()}",
    "aws secret": f"aws_secret_access_key = {chars(40)}",
    "openai key": f"s{'k-'}{chars(48)}",
    "openai project key": f"s{'k-'}proj-{chars(48)}",
    "anthropic key": f"s{'k-'}ant-api03-{chars(60)}",
    "slack token": f"xo{'xb-'}123456789012-{chars(24)}",
    "stripe key": f"s{'k_'}live_{chars(24)}",
    "google key": f"AI{'za'}{chars(35)}",
    "npm token": f"//registry/:_authToken=np{'m_'}{chars(36)}",
    "hugging face token": f"h{'f_'}{chars(34)}",
    "jwt": f"ey{'J'}{chars(30)}.ey{'J'}{chars(60)}.{chars(43)}",
    "bearer": f"curl -H 'Authorization: Bearer {chars(40)}'",
    "basic": f"Authorization: Basic {chars(24)}==",
    "url password": f"postgres://ada:{chars(12)}@db.example/app",
    "env line": f"API_KEY={chars(24)}",
    "quoted": f'"client_secret": "{chars(24)}"',
    "yaml": f"password: {chars(16)}",
    "option": f"mysql --password {chars(14)}",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + chars(64) + "\n-----END RSA PRIVATE KEY-----",
}
INNOCENT = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"integrity": "sha512-' + "QmFzZTY0" * 10 + '=="',
    "550e8400-e29b-41d4-a716-446655440000",
    "input_tokens=12345678, tokens: 42.2k, max_tokens = 64000",
    "token = os.environ['API_TOKEN']",
    "password = get_password(user)",
    "API_KEY=$OPENAI_API_KEY",
    "api_key: <your-key-here>",
    "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another key in the environment.",
    "def tokenize(text: str) -> list[Token]:",
    "https://example.org/a:b/c@d",
    "git@github.com:ada/timesheet.git",
    "the secret of a good keyboard is its keys",
    "task-list-of-the-sk-team, risk-averse-but-not-too-much-at-all",
    "-----BEGIN CERTIFICATE-----",
    'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError',
]


def test_a_key_is_named_after_its_own_issuer() -> None:
    assert Redactor().redact_text(SECRETS["anthropic key"]) == "[redacted: anthropic key]"
    assert Redactor().redact_text(SECRETS["openai project key"]) == "[redacted: openai key]"


@pytest.mark.parametrize("value", ["hunter2", "Xk39fja2"])
def test_a_password_is_known_by_half_its_name_in_capitals(value: str) -> None:
    assert Redactor().redact_text(f"DB_PASS={value}") == "DB_PASS=[redacted: secret]"
    assert Redactor().redact_text(f"PASS={value}") == "PASS=[redacted: secret]"
    assert Redactor().redact_text(f"PASS={value[:2]} FAIL=0") == f"PASS={value[:2]} FAIL=0"


@rows("name", SECRETS)
def test_a_well_known_secret_is_replaced_by_its_kind(name: str) -> None:
    text = Redactor().redact_text(f"before {SECRETS[name]} after")
    assert "[redacted: " in text
    assert text.startswith("before ")
    assert text.endswith(" after")
    low = SECRETS[name].lower()
    assert low[low.index("a1") :][:12] not in text.lower()


@pytest.mark.parametrize("text", INNOCENT)
def test_identifiers_hashes_and_words_are_untouched(text: str) -> None:
    assert Redactor().redact_text(text) == text


def test_the_value_of_a_secret_variable_is_found_anywhere() -> None:
    redactor = Redactor(
        secrets={"DEPLOY_PASS": "correct horse", "SHORT": "abc", "LONGER": "correct horse battery"}
    )
    assert (
        redactor.redact_text("x=correct horse battery;correct horse!")
        == "x=[redacted: LONGER];[redacted: DEPLOY_PASS]!"
    )
    assert redactor.redact_text("abc") == "abc"


def test_values_under_secret_names_go_whole_in_json() -> None:
    redacted = Redactor().json({"password": "tea time", "user": "ada", "note": ["x", {"apiKey": "${KEY}"}]})
    assert redacted == {
        "password": "[redacted: password]",
        "user": "ada",
        "note": ["x", {"apiKey": "${KEY}"}],
    }


def test_nothing_secret_reaches_any_file_of_the_session(tmp_path: Path) -> None:
    canary, quoted = "gh" + "p_" + chars(36), 'pass"word\\n€'
    redactor = Redactor(secrets={"MY_SECRET": quoted})
    log = store(tmp_path, redactor=redactor).create("s1")
    long = "x" * 9_000
    log.append(said(f"here {canary} and {quoted}"))
    log.append(said(f"{long} {canary} {quoted}"))
    log.append(ToolProgress(call_id=CallId("c"), text=f"{canary}\n{quoted}"))
    log.append(
        ToolCalled(
            call_id=CallId("c"),
            name="n",
            arguments={"command": f"echo {canary}", "deep": [{canary: f"{quoted} {long}"}]},
            iteration=1,
            verb="run",
            target=f"echo {canary}",
        )
    )
    log.blobs.put_text(f"{long} {canary} {quoted}")
    log.close()
    files = [path for path in log.folder.rglob("*") if path.is_file()]
    assert len(files) == 4  # the log, its lock, two blobs
    for path in files:
        content = path.read_bytes()
        assert canary.encode() not in content
        assert quoted.encode() not in content
        assert b'pass\\"word' not in content


def test_redaction_is_linear_in_hostile_text() -> None:
    """Counted in characters that patterns look at, by a text that is doubled: no quadratic step."""
    redactor = Redactor()
    for piece in (
        "token=",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "eyJaaaaaaaaaaa.",
        "authorization: ",
        "sk-a",
        "xox",
    ):
        text = piece * (200_000 // len(piece))
        redactor.redact_text(text)  # a quadratic pattern would run into the test's time limit


def test_a_text_that_was_clean_is_told_apart_from_one_that_holds_a_secret_by_a_character() -> None:
    redactor = Redactor(secrets={"TOKEN": "correct-horse-battery"})
    for _ in range(2):
        assert redactor.redact_text("correct-horse-batter") == "correct-horse-batter"
        assert redactor.redact_text("correct-horse-battery") == "[redacted: TOKEN]"
        assert redactor.redact_text("password=short") == "password=short"
        assert "hunter2hunter2" not in redactor.redact_text("password=hunter2hunter2")


def test_what_is_remembered_of_clean_texts_is_bounded_and_holds_no_secret() -> None:
    redactor = Redactor(secrets={"TOKEN": "correct-horse-battery"})
    for at in range(3 * MAX_REMEMBERED):
        redactor.redact_text(f"src/module_{at}.py")
        redactor.redact_text(f"{at} correct-horse-battery")
    kept = redactor._clean
    assert 0 < len(kept) <= MAX_REMEMBERED
    assert not [text for text in kept if "correct-horse" in text]


def test_the_words_of_a_command_are_redacted_as_its_line_would_be() -> None:
    redactor = Redactor({})
    found = redactor.json({"argv": ["curl", "-u", "bob:Sunfl0werHill", "https://example.org"], "cwd": ""})
    assert found == {"argv": ["curl", "-u", "bob:[redacted: password]", "https://example.org"], "cwd": ""}
    assert redactor.words(["mysql", "-u", "root", "-pMarigold77q"])[-1] == "-p[redacted: password]"
    assert redactor.words(["ls", "-la", "ü"]) == ["ls", "-la", "ü"]
