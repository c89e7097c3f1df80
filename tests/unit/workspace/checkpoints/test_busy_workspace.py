"""Files that change while they are looked at, as a build changes them."""

import os
import random
import shutil
import threading
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, snapshot, taken, workspace, write


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
