"""The answer of a browser on another machine, which the user pastes."""

import os
import sys
from io import StringIO

import pytest

from tui_agent.errors import ConfigError
from tui_agent.mcp.browser_login import OTHER_LOGIN, TRY_AGAIN, WRONG_ADDRESS, BrowserAnswer

LOGIN = "https://example.org/login?state=s"


async def test_pasted_lines_are_refused_with_a_reason_until_one_is_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user, terminal = os.openpty()
    warnings: list[str] = []
    pasted = [
        b"https://example.org/login",
        b"\n\xff\xfe",
        b"http://[::1/callback?code=abc",
        b"http://127.0.0.1:8000/callback?code=abc",
        b"http://127.0.0.1:8000/callback?error=access_denied&state=other",
        b"http://127.0.0.1:8000/callback?code=abc&state=s",
        b"http://127.0.0.1:8000/callback?code=def&state=s",
    ]

    async def show(url: str) -> None:
        os.write(user, pasted.pop(0) + b"\n")

    def warn(text: str) -> None:
        warnings.append(text)
        os.write(user, pasted.pop(0) + b"\n")

    with os.fdopen(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        answers = BrowserAnswer(show, warn)
        first = await answers.ask(LOGIN)
        second = await answers.ask(LOGIN, "The server refused the code: it has expired.")
    os.close(user)
    assert (first.code, first.state, second.code) == ("abc", "s", "def")
    reasons = [*[WRONG_ADDRESS] * 3, *[OTHER_LOGIN] * 2, "The server refused the code: it has expired."]
    assert warnings == [f"{reason} {TRY_AGAIN}" for reason in reasons]


async def test_a_wrong_answer_ends_the_login_if_nobody_can_paste_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def show(url: str) -> None:
        raise AssertionError("the address is known already")

    monkeypatch.setattr(sys, "stdin", StringIO())
    with pytest.raises(ConfigError, match=r"It has expired\. Nothing was saved\."):
        await BrowserAnswer(show, print).ask(LOGIN, "It has expired.")
