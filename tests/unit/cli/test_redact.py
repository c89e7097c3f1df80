"""`tui-agent redact`: secrets go, lines stay."""

import io

import pytest

from tui_agent.cli.main import main
from tui_agent.cli.redact import redacted_lines
from tui_agent.store.redact import Redactor

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
