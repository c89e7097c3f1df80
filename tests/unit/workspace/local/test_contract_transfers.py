"""The contract of ports.environment, the same for every environment: files that come from this machine and go back."""

import tarfile

import pytest

from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.errors import EnvironmentFault


async def test_a_file_and_a_folder_go_in_and_come_out(env, root, tmp_path):
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "a.txt").write_text("a")
    (tmp_path / "tests" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tests" / "run.sh").chmod(0o755)
    await env.upload(tmp_path / "tests", "given/tests")
    assert (root / "given" / "tests" / "deep" / "a.txt").read_text() == "a"
    assert (await env.stat("given/tests/run.sh")).mode & 0o777 == 0o755
    (tmp_path / "b.txt").write_text("b")
    await env.upload(tmp_path / "b.txt", "given/tests/b.txt")
    await env.download("given/tests", tmp_path / "back")
    names = sorted(str(path.relative_to(tmp_path / "back")) for path in (tmp_path / "back").rglob("*"))
    assert names == ["b.txt", "deep", "deep/a.txt", "run.sh"]
    await env.download("given/tests/b.txt", tmp_path / "new" / "c.txt")
    assert (tmp_path / "new" / "c.txt").read_text() == "b"


async def test_what_cannot_be_copied_is_said(env, tmp_path):
    with pytest.raises(EnvironmentFault, match=r"missing.*could not be copied"):
        await env.upload(tmp_path / "missing", "x")
    with pytest.raises(EnvironmentFault, match="could not be copied"):
        await env.download("missing", tmp_path / "x")
    (tmp_path / "b.txt").write_text("b")
    with pytest.raises(EnvironmentFault, match="is a folder"):
        await env.upload(tmp_path / "b.txt", "")


async def test_a_snapshot_is_the_whole_workspace(env, root, tmp_path):
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "link").symlink_to("a.txt")
    (root / "a.txt").write_text("a")
    await env.snapshot(tmp_path / "kept" / "work.tar.gz")
    with tarfile.open(tmp_path / "kept" / "work.tar.gz") as archive:
        assert sorted(archive.getnames()) == [".", "./.git", "./.git/HEAD", "./a.txt", "./link"]
        assert archive.getmember("./link").linkname == "a.txt"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["work.tar.gz"]
