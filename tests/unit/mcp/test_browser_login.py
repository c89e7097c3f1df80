"""The answer of a browser on another machine, which the user pastes."""

import os
import sys

import pytest

from tui_agent.mcp.browser_login import WRONG_ADDRESS, BrowserAnswer


async def test_a_pasted_line_that_is_not_the_answer_is_refused_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, terminal = os.openpty()
    warnings: list[str] = []

    async def show(url: str) -> None:
        os.write(user, b"https://example.org/login\n")

    def warn(text: str) -> None:
        warnings.append(text)
        os.write(user, b"http://127.0.0.1:8000/callback?code=abc&state=s\n")

    with os.fdopen(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        answer = await BrowserAnswer(show, warn).ask("https://example.org/login")
    os.close(user)
    assert (answer.code, answer.state, warnings) == ("abc", "s", [WRONG_ADDRESS])
