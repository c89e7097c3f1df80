"""Keeps a workspace and its remote copy equal by exchanging archives of the changed files.

If a file changed on both sides, the remote version is kept.

Invariant: nothing is written outside the workspace.
"""

import io
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.workspace.remote.machine import RemoteMachine

Listing: TypeAlias = Mapping[str, str]
"""Maps a path in the workspace to a text. The text changes whenever the file changes."""

_CREATE = 'mkdir -p -- "$1" "$(dirname -- "$2")" && { [ -e "$2" ] || ln -s -- "$1" "$2"; }'
_LIST = "find . -mindepth 1 -printf '%P\\t%y %s %T@ %l\\0'"
_UNPACK = 'tar -xzf "$1" && rm -f "$1"'
_PACK = 'tar -czf "$1" --no-recursion --null -T -'
_REMOVE = "xargs -0 rm -rf --"


class Mirror:
    """The copy of the folder `root` on a machine, at the path `place` (by default, the path `root`)."""

    def __init__(self, root: str, machine: RemoteMachine, place: str = "") -> None:
        self._root = root
        self._place = place or root
        self._machine = machine
        self._archive = f"/tmp/tui-agent-{os.getpid()}.tar.gz"
        self._local: Listing = {}
        self._remote: Listing = {}

    async def start(self) -> None:
        """Copy the whole workspace."""
        await self.create_place()
        await self.push()

    async def create_place(self) -> None:
        """Create the folder `place` on the machine.

        If the path `root` does not exist, create it as a link to the folder.
        """
        await self._run(_CREATE, self._place, self._root, cwd="/")

    async def push(self) -> None:
        """Copy the workspace files that changed on this machine to the remote machine."""
        here = await to_thread.run_sync(_list_folder, self._root)
        changed = [path for path in here if here[path] != self._local.get(path)]
        gone = [path for path in self._local if path not in here]
        if gone:
            await self._run(_REMOVE, stdin=_join(gone))
        if changed:
            await self._machine.write_file(
                await to_thread.run_sync(_pack, self._root, changed), self._archive
            )
            await self._run(_UNPACK, self._archive)
        if gone or changed:
            self._local, self._remote = here, await self._list_remote()

    async def pull(self) -> None:
        """Copy the files that changed on the remote machine to the workspace on this machine."""
        there = await self._list_remote()
        changed = [path for path in there if there[path] != self._remote.get(path)]
        gone = [path for path in self._remote if path not in there]
        if changed:
            await self._run(_PACK, self._archive, stdin=_join(changed))
            data = await self._machine.read_file(self._archive)
            await to_thread.run_sync(_unpack, self._root, data)
        if gone:
            await to_thread.run_sync(_remove, self._root, gone)
        # List the files again after the copy: otherwise the next push would send them back.
        if changed or gone:
            self._local, self._remote = await to_thread.run_sync(_list_folder, self._root), there

    async def _list_remote(self) -> Listing:
        printed = await self._run(_LIST)
        entries = (entry.partition("\t") for entry in printed.decode("utf-8", "surrogateescape").split("\0"))
        return {path: state for path, _, state in entries if path}

    async def _run(self, script: str, *arguments: str, stdin: bytes = b"", cwd: str = "") -> bytes:
        output, errors = bytearray(), bytearray()
        argv = ("sh", "-c", script, "sh", *arguments)
        code = await self._machine.run(argv, cwd or self._place, {}, stdin, output.extend, errors.extend)
        if code:
            raise EnvironmentFault(
                f"The workspace could not be copied: {errors.decode('utf-8', 'replace').strip()[-500:]}",
                hint="Use an image that has GNU find and GNU tar.",
            )
        return bytes(output)


def _join(paths: list[str]) -> bytes:
    return b"".join(f"./{path}\0".encode("utf-8", "surrogateescape") for path in paths)


def _list_folder(root: str) -> Listing:
    return dict(_walk(root, ""))


def _walk(root: str, folder: str) -> Iterator[tuple[str, str]]:
    with os.scandir(os.path.join(root, folder)) as entries:  # noqa: PTH118 - a scan that must be quick
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                yield path, f"l {os.readlink(entry.path)}"  # noqa: PTH115 - a scan that must be quick
            elif entry.is_dir():
                yield path, "d"
                yield from _walk(root, path)
            elif entry.is_file():
                state = entry.stat()
                yield path, f"f {state.st_size} {state.st_mtime_ns} {state.st_mode & 0o777:o}"


def _pack(root: str, paths: list[str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
        for path in paths:
            with suppress(FileNotFoundError):  # it was removed meanwhile
                archive.add(Path(root, path), path, recursive=False)
    return data.getvalue()


def _unpack(root: str, data: bytes) -> None:
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(root, filter="tar")  # refuses paths outside the folder, even through links
    except (tarfile.TarError, OSError) as error:
        raise EnvironmentFault(f"Files of the remote machine could not be copied here: {error}") from error


def _remove(root: str, paths: list[str]) -> None:
    for path in sorted(paths, reverse=True):  # reversed, so that a folder comes after its content
        place = Path(root, path)
        if not Path(os.path.realpath(place.parent)).is_relative_to(root):
            continue  # below a link that leads outside
        with suppress(OSError):  # it was changed or removed meanwhile
            place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()
