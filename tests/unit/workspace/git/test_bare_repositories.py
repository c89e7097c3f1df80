"""Files that are laid out as a bare repository are no repository to the git that a command runs."""

import shutil
from pathlib import Path

from tests.stubs.left_out import only_where
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment

CONFIG = '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = "touch fired; echo"\n'


@only_where(shutil.which("git") is not None, "git is not installed")
async def test_a_planted_bare_repository_runs_nothing(tmp_path: Path) -> None:
    planted = tmp_path / "docs"
    for name in ("objects", "refs"):
        (planted / name).mkdir(parents=True)
    (planted / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (planted / "config").write_text(CONFIG, encoding="utf-8")
    environment = LocalEnvironment(tmp_path)
    try:
        result = await environment.exec(ExecSpec(argv=("git", "-C", "docs", "status")), lambda data: None)
    finally:
        await environment.aclose()
    assert b"bare repository" in result.output
    assert not (tmp_path / "fired").exists()
