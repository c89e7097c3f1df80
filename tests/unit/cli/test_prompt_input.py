"""The prompt of `tui-agent run`: what is piped is added to it, and an idle pipe does not block the run."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tui_agent.cli.run import prompt_and_signals
from tui_agent.cli.run.prompt_and_signals import read_prompt
from tui_agent.errors import UsageError

MERGED = "summarise this\n\nText from standard input:\n\nApples are red.\n"


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch, data: bytes, *, ends: bool = True) -> Iterator[None]:
    """Make standard input a pipe with this data. If `ends` is False, the writer keeps the pipe open."""
    source, sink = os.pipe()
    os.write(sink, data)
    if ends:
        os.close(sink)
    with os.fdopen(source, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield
    if not ends:
        os.close(sink)


def test_piped_text_is_added_to_the_prompt_below_a_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    with piped(monkeypatch, b"Apples are red.\n"):
        assert read_prompt("summarise this") == MERGED
    with piped(monkeypatch, b"Apples are red.\n"):
        assert read_prompt("-") == "Apples are red.\n"
    with piped(monkeypatch, b" \n"):
        assert read_prompt("summarise this") == "summarise this"
    with piped(monkeypatch, b"\xff\xfe"), pytest.raises(UsageError, match="not UTF-8"):
        read_prompt("summarise this")


def test_the_text_of_a_file_is_added_and_a_device_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "fruit.txt"
    file.write_text("Apples are red.\n")
    with file.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read_prompt("summarise this") == MERGED
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read_prompt("summarise this") == "summarise this"
    monkeypatch.setattr(sys, "stdin", None)
    assert read_prompt("summarise this") == "summarise this"


def test_an_open_pipe_that_nobody_writes_to_is_reported_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prompt_and_signals, "STDIN_WAIT_S", 0.01)
    with piped(monkeypatch, b"", ends=False):
        assert read_prompt("summarise this") == "summarise this"
    assert "No text arrived on standard input within" in capsys.readouterr().err
