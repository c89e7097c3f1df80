"""Saved logins of MCP servers: bound to an address, and known to redaction."""

import json
from pathlib import Path

from tui_agent.config.settings.api_keys import Keys
from tui_agent.config.settings.mcp_logins import LoginFile, collect_login_secrets
from tui_agent.store.redaction.redactor import Redactor

URL = "https://tracker.example.org/mcp"
LOGIN = {
    "tokens": {"access_token": "a-token-of-some-length", "scope": "read write everything"},
    "client": {"client_id": "client-of-some-length", "client_secret": "a-secret-of-some-length"},
}


def test_a_login_is_not_used_for_another_address(tmp_path: Path) -> None:
    LoginFile(tmp_path / "logins", "tracker", URL).save(LOGIN)
    assert LoginFile(tmp_path / "logins", "tracker", URL).load() == {**LOGIN, "url": URL}
    assert LoginFile(tmp_path / "logins", "tracker", "https://evil.example.org/mcp").load() == {}
    assert LoginFile(tmp_path / "logins", "other", URL).load() == {}


def test_each_secret_of_a_login_is_redacted_as_soon_as_it_is_saved(tmp_path: Path) -> None:
    redactor, text = Redactor(), "a-token-of-some-length, a-secret-of-some-length and client-of-some-length"
    assert redactor.redact_text(text) == text
    LoginFile(tmp_path / "mcp_logins", "tracker", URL, redactor.learn).save(LOGIN)
    expected = (
        "[redacted: access_token of MCP server tracker], [redacted: client_secret of MCP server tracker]"
        " and client-of-some-length"
    )
    assert redactor.redact_text(text) == expected
    keys = Keys({}, tmp_path / "keys.json")
    assert Redactor(keys.collect_redacted()).redact_text(text) == expected
    assert keys.collect_secrets() == {}


def test_faulty_files_have_no_secrets(tmp_path: Path) -> None:
    for name, text in {
        "a": "[]",
        "b": "{",
        "c": json.dumps({"tokens": {"access_token": 7}}),
        "d": "",
    }.items():
        (tmp_path / f"{name}_credentials.json").write_text(text)
    assert collect_login_secrets(tmp_path) == {} == collect_login_secrets(tmp_path / "none")
