"""The program called in this process, in a home and a folder of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tui_agent.cli.main import main

Call = Callable[..., tuple[int, str, str]]
"""Words of a command line; its status, standard output, standard error."""


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def call(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Calls of the program, whose data lie in the test's own folder unless the words name another."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)

    def run(*words: str) -> tuple[int, str, str]:
        end = words.index("--") if "--" in words else len(words)
        place = () if "--data-dir" in words else ("--data-dir", str(tmp_path))
        status = main([*words[:end], *place, *words[end:]])
        out, err = capsys.readouterr()
        return status, out, err

    return run
