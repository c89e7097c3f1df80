"""What `tui-agent doctor` says of files that run at every start of its interpreter."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from tui_agent.cli.doctor.command import startup
from tui_agent.cli.doctor.python_startup_files import ForeignFile, find_foreign_files


def install(folder: Path, name: str, text: str) -> None:
    """A package with one file that is in its list."""
    (folder / name).write_text(text)
    info = folder / "brought-1.0.dist-info"
    info.mkdir(exist_ok=True)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{name},sha256={digest},{len(text)}\nbrought-1.0.dist-info/RECORD,,\n")


@pytest.mark.parametrize(
    ("name", "text", "runs"),
    [
        ("litellm_init.pth", "import os; exec(os.environ['X'])\n", True),
        ("a.pth", "/work\nimport\tevil\n", True),
        ("paths.pth", "/somewhere/else\n", False),
        ("_virtualenv.pth", "import _virtualenv; import evil\n", True),
        ("sitecustomize.py", "", True),
        ("usercustomize.py", "print(1)\n", True),
    ],
)
def test_a_planted_file_is_found(tmp_path: Path, name: str, text: str, runs: bool) -> None:
    (tmp_path / name).write_text(text)
    assert find_foreign_files([tmp_path]) == [ForeignFile(tmp_path / name, changed=False, runs=runs)]


def test_a_planted_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize").mkdir()
    assert find_foreign_files([tmp_path]) == [
        ForeignFile(tmp_path / "sitecustomize", changed=False, runs=True)
    ]


def test_what_a_package_installed_is_its_own_until_it_is_changed(tmp_path: Path) -> None:
    install(tmp_path, "brought.pth", "import brought\n")
    assert find_foreign_files([tmp_path]) == []
    (tmp_path / "brought.pth").write_text("import brought, evil\n")
    assert find_foreign_files([tmp_path]) == [ForeignFile(tmp_path / "brought.pth", changed=True, runs=True)]


def test_what_makers_of_environments_write_and_other_modules_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "_virtualenv.pth").write_text("import _virtualenv")
    (tmp_path / "sitecustomized.py").write_text("")
    assert find_foreign_files([tmp_path]) == []


def test_it_is_said_with_what_to_do(tmp_path: Path) -> None:
    assert startup([tmp_path]).state == "ok"
    (tmp_path / "paths.pth").write_text("/somewhere/else\n")
    assert startup([tmp_path]).state == "note"
    (tmp_path / "evil.pth").write_text("import evil\n")
    said = startup([tmp_path])
    assert said.state == "bad"
    assert re.search(r"evil\.pth, .*paths\.pth\.", said.message)
    assert "remove what you did not install" in said.advice
