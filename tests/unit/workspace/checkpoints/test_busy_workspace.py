"""Files that change while they are looked at, as a build changes them."""

import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, snapshot, taken, workspace, write
from tui_agent.workspace.checkpoints.rooted_files import RootedFiles, object_id


class Build:
    """Writes, renames and removes files and folders as fast as it can, until it is told to end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rounds = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Build":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        draw = random.Random(5)
        while not self._end.is_set():
            self.rounds += 1
            place = self.folder / "out" / str(draw.randrange(4))
            place.mkdir(parents=True, exist_ok=True)
            for name in "abc":
                (place / f"{name}.tmp").write_bytes(os.urandom(draw.randrange(20_000)))
                target = place / name
                if target.is_dir():
                    shutil.rmtree(target)
                (place / f"{name}.tmp").replace(target)
            match draw.randrange(4):
                case 0:
                    shutil.rmtree(place)
                case 1:
                    (place / "a").unlink()
                    (place / "a").mkdir()
                    (place / "a" / "deep").write_text("deep")
                case 2:
                    (place / "b").unlink()
                    (place / "b").symlink_to("c")


@pytest.mark.slow_variants
@pytest.mark.parametrize("repository", [False, True])
async def test_what_is_built_meanwhile_breaks_no_checkpoint(tmp_path: Path, repository: bool) -> None:
    folder = workspace(tmp_path, repository=repository)
    write(folder, {"out/0/a": "old\n"})
    made = await begun(folder)
    with Build(folder) as build:
        for number in range(5):
            write(folder, {"README": f"{number}\n"})
            await taken(made, "command", number)
    assert build.rounds > 3
    await taken(made, "command")
    assert not await made.find_changes()
    await made.checkout(made.head, tmp_path / "out")
    assert snapshot(tmp_path / "out") == snapshot(folder)
    assert await made.verify() == []


def test_of_a_file_that_grows_only_the_announced_bytes_are_read() -> None:
    # Files of /proc always have the size 0 but a content, like a file that grew after its size was read.
    state = RootedFiles(Path("/proc/self")).read_state("status", max_bytes=1_000_000)
    assert (state.size, state.content, state.oid) == (0, b"", object_id(b""))


@pytest.mark.timeout(60)
def test_a_file_that_is_resized_while_it_is_read_gets_the_id_of_its_content_or_none(tmp_path: Path) -> None:
    path, end = tmp_path / "log", threading.Event()
    path.write_bytes(b"")

    def resize() -> None:
        while not end.is_set():
            os.truncate(path, 8_000_000)
            os.truncate(path, 1_000)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        states = [RootedFiles(tmp_path).read_state("log", max_bytes=9_000_000) for _ in range(100)]
    finally:
        end.set()
        thread.join()
    ids = [object_id(state.content) if state.content is not None else "" for state in states]
    assert [state.oid for state in states] == ids
