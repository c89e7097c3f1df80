"""The program that the app runs as a child process, when the app stops waiting for it."""

import asyncio
from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.tui import cli_client


class Ended:
    """A child process that has ended although nobody has read that yet."""

    async def communicate(self, text: bytes) -> tuple[bytes, None]:
        await asyncio.sleep(60)
        return b"", None

    async def wait(self) -> int:
        return 0

    def kill(self) -> None:
        raise ProcessLookupError


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> cli_client.CommandLine:
    async def start(*words: str, **options: object) -> Ended:
        return Ended()

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    return cli_client.CommandLine(SessionOptions(cwd=tmp_path), {})


async def test_a_call_is_cancelled_quietly_when_its_program_has_just_ended(
    ask: cli_client.CommandLine,
) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ask("sessions", "show", "latest"), 0.01)


async def test_a_program_that_takes_too_long_is_named_without_its_arguments(
    ask: cli_client.CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_client, "PATIENCE_S", 0.01)
    status, said = await ask("models", "check", "slow", "--json", "--base-url", "http://127.0.0.1:1")
    assert (status, said) == (1, "tui-agent models check did not end within 0.01 s.")


async def test_a_program_that_writes_a_file_for_the_user_has_no_time_limit(
    ask: cli_client.CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_client, "PATIENCE_S", 0.01)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ask("sessions", "export", "ses_1", "--json", "--output", "x"), 0.05)


@pytest.mark.slow
async def test_a_text_that_is_too_long_for_an_argument_reaches_the_program(tmp_path: Path) -> None:
    ask = cli_client.CommandLine(SessionOptions(cwd=tmp_path), {"PATH": "", "LC_ALL": "en_US.ISO-8859-1"})
    status, said = await ask("redact", stdin="Grüße\n" * 30_000)
    assert (status, said) == (0, "Grüße\n" * 30_000)
