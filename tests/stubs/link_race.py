"""File tools against a second process that swaps what they open with links out of the workspace."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.stubs.swapper import Arena
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.protocol.effects import WriteEffect
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.granted_paths import grant_paths
from tui_agent.workspace.local.nofollow_open import OpenFolder

INSIDE = hashlib.sha256(b"inside\n").hexdigest()
FILES = ("f", "d/f", "deep/x/f", "deep/x/y/f")


def snapshot(folder: Path) -> str:
    """Names, numbers, times and contents below a folder."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        seen.update(f"{path}|{found.st_ino}|{found.st_mtime_ns}|{found.st_nlink}".encode())
        seen.update(path.read_bytes() if path.is_file() else b"")
    return seen.hexdigest()


class LinkRace:
    """Attempts, what came of them, and what escaped."""

    def __init__(self, arena: Arena, way: OpenFolder | None = None) -> None:
        self.arena = arena
        self.env = LocalEnvironment(arena.root, open_folder=way)
        self.before = snapshot(arena.outside)
        self.outcomes: Counter[str] = Counter()
        self.escapes: list[str] = []
        self._made = 0

    async def run(self, more: Callable[[], bool]) -> None:
        """Attempts of every kind as long as there are to be more; at the end the folder outside is looked at."""
        while more():
            for path in FILES:
                await self._try("read", self._read(self.env, path))
                await self._try("write", self._write(self.env, path))
                judged = grant_paths(self.env, (WriteEffect(path=path),), {path: f"{self.arena.root}/{path}"})
                await self._try("judged read", self._read(judged, path))
                await self._try("judged write", self._write(judged, path))
            for folder in ("d", "deep/x", "new"):
                await self._try("make", self._make(folder))
                await self._try("list", self._list(folder))
            await self._try("walk", self._walk())
        if snapshot(self.arena.outside) != self.before:
            self.escapes.append("written outside")

    async def _try(self, kind: str, attempt: object) -> None:
        try:
            said: str = await attempt  # type: ignore[misc]
        except EnvironmentFault:
            self.outcomes[f"{kind} refused"] += 1
            return
        self.outcomes[kind] += 1
        if said:
            self.escapes.append(f"{kind}: {said}")

    async def _read(self, env: Environment, path: str) -> str:
        data = (await env.read(path)).data
        return "" if data == b"inside\n" else repr(data)

    async def _write(self, env: Environment, path: str) -> str:
        await env.write(path, b"inside\n", INSIDE)
        return ""

    async def _make(self, folder: str) -> str:
        self._made += 1
        await self.env.write(f"{folder}/made/{self._made % 50}", b"inside\n", None)
        return ""

    async def _list(self, folder: str) -> str:
        return _foreign([item.path.rpartition("/")[2] for item in await self.env.listdir(folder)])

    async def _walk(self) -> str:
        return _foreign([item.path.rpartition("/")[2] async for item in self.env.walk("")])


def _foreign(names: Sequence[str]) -> str:
    found = [name for name in names if name.startswith("CANARY")]
    return f"names {found}" if found else ""
