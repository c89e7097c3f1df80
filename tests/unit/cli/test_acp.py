"""The command that editors start: it refuses to serve anything but an editor's pipes."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow_variants
@pytest.mark.parametrize("is_input", [True, False])
def test_a_file_in_place_of_the_editor_is_refused_in_one_line(tmp_path: Path, is_input: bool) -> None:
    with (tmp_path / "file").open("w+") as file:
        stdin, stdout = (file, subprocess.PIPE) if is_input else (subprocess.PIPE, file)
        command = [sys.executable, "-m", "tui_agent", "acp"]
        with subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True
        ) as process:
            _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.startswith("tui-agent: An editor must start this command. It cannot run with a file.")
    assert errors.count("\n") == 1
