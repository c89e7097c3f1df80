"""A restore that was cut off: it is undone, but never over what someone did since, and never while it is at work."""

from pathlib import Path

import anyio
import pytest

from tests.stubs.checkpoints import (
    Killed,
    KilledActs,
    begun_workspace,
    shadow,
    snapshot,
    taken,
    write,
)
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


async def cut_off(root: Path, acts: int) -> tuple[Path, str]:
    """A workspace in which a restore ended after so many acts; the newest checkpoint."""
    folder, made, first = await begun_workspace(root, gone="g\n")
    (folder / "gone").unlink()
    write(folder, {"README": "by the agent\n", "new": "by the agent\n"})
    head = await taken(made)
    again = shadow(folder, acts=KilledActs(acts))
    await again.begin(head)
    with pytest.raises(Killed):
        await again.restore(await again.plan_restore(first))
    return folder, head


@pytest.mark.slow
async def test_what_was_changed_after_a_cut_restore_is_never_undone(tmp_path: Path) -> None:
    seen = set()
    for number in range(1, 12):
        root = tmp_path / str(number)
        root.mkdir()
        try:
            folder, head = await cut_off(root, number)
        except pytest.fail.Exception:
            break
        mine = {"README": "newer work\n", "new": "newer work\n", "gone": "newer work\n"}
        write(folder, mine)
        again = shadow(folder)
        await again.begin(head)
        after = {name: content for name, (_, _, content) in snapshot(folder).items()}
        assert {name: after[name] for name in mine} == {name: text.encode() for name, text in mine.items()}
        told = " ".join(again.take_notices())
        saved = {name: text for name, text in after.items() if name.startswith(".tui-agent-saved-")}
        assert all(text == b"by the agent\n" for text in saved.values())
        assert bool(saved) == ("previous versions are in" in told)
        seen.add(bool(saved))
        assert not list(folder.glob(".tui-agent-restore-*"))
    assert number > 8
    assert seen == {True, False}


class Meanwhile(FileOperations):
    """Lets another session open while the first file is being moved."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.other: GitCheckpoints | None = None
        self.seen: list[str] = []

    def rename(self, source: str, source_fd: int, target: str, target_fd: int) -> None:
        super().rename(source, source_fd, target, target_fd)
        if target == "README":
            self.other = GitCheckpoints(self.folder, self.folder.parent / "other.git")
            anyio.run(self.other.begin, "")
            self.seen.append((self.folder / "README").read_text())


async def test_a_restore_that_is_at_work_is_let_alone_by_another_session(tmp_path: Path) -> None:
    folder, made, first = await begun_workspace(tmp_path)
    write(folder, {"README": "by the agent\n"})
    head = await taken(made)
    acts = Meanwhile(folder)
    again = shadow(folder, acts=acts)
    await again.begin(head)
    assert (await again.restore(await again.plan_restore(first))).kept_paths == ()
    assert acts.seen == ["read me\n"]
    assert (folder / "README").read_text() == "read me\n"
    assert acts.other is not None
    assert acts.other.take_notices() == ()
