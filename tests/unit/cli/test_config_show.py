"""`tui-agent config show`: the effective settings and a remark about the hidden ones."""

from pathlib import Path

import pytest

from tui_agent.cli.config import describe_hidden
from tui_agent.cli.main import main


def test_the_remark_counts_the_settings_with_default_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["config", "show"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(" more settings have their default value. To list them, add --all.")
    assert describe_hidden(1) == "1 more setting has its default value. To list it, add --all."
