"""L3: an environment that also reaches some files outside its workspace: those that the user allowed for one call.

Invariant: a path outside is opened only where the file that it really is was named; everything else is refused as by
the inner environment.
"""

import os
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from anyio import to_thread

from tui_agent.environments.contain import Containment
from tui_agent.environments.local_files import LocalFiles
from tui_agent.environments.walk import batch_of, walk
from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    FileContent,
    FileInfo,
    OutputSink,
    Sandbox,
)
from tui_agent.protocol.effects import Effect, Reads, Writes


def reaching(env: Environment, effects: Sequence[Effect]) -> Environment:
    """The environment, and what a call with these effects touches outside of it (once it was allowed)."""
    root = env.root.rstrip("/")
    paths = [env.resolve(effect.path) for effect in effects if isinstance(effect, Reads | Writes)]
    outside = [path for path in paths if path != root and not path.startswith(root + "/")]
    return ReachingEnvironment(env, outside) if outside else env


class ReachingEnvironment:
    """Wraps an environment of this machine. `outside` are absolute paths, links followed; a folder reaches below."""

    def __init__(self, inner: Environment, outside: Collection[str]) -> None:
        self._inner = inner
        self._outside = frozenset(outside)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def root(self) -> str:
        return self._inner.root

    @property
    def sandbox(self) -> Sandbox:
        return self._inner.sandbox

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        """As the inner environment."""
        return await self._inner.exec(spec, on_output)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        """As the inner environment, or one of the files outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.read(path, max_bytes)
        return _named(await to_thread.run_sync(_files(real).read, real, max_bytes), real)

    async def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """As the inner environment, or one of the files outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.write(path, data, expect)
        return _named(await to_thread.run_sync(_files(real).write, real, data, expect), real)

    async def remove(self, path: str, expect: str) -> None:
        """As the inner environment, or one of the files outside."""
        real = self._reached(path)
        if real is None:
            await self._inner.remove(path, expect)
        else:
            await to_thread.run_sync(_files(real).remove, real, expect)

    async def stat(self, path: str) -> FileInfo | None:
        """As the inner environment, or one of the files outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.stat(path)
        found = await to_thread.run_sync(_files(real).stat, real)
        return None if found is None else replace(found, path=real)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """As the inner environment, or a folder outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.listdir(path)
        found = await to_thread.run_sync(LocalFiles(Containment(real)).listdir, real)
        return tuple(_below(real, item) for item in found)

    async def walk(self, path: str = "", *, ignored: bool = False) -> AsyncIterator[FileInfo]:
        """As the inner environment, or below a folder outside."""
        real = self._reached(path)
        if real is None:
            async for item in self._inner.walk(path, ignored=ignored):
                yield item
            return
        found = walk(Containment(real), "", ignored)
        while batch := await to_thread.run_sync(batch_of, found):
            for item in batch:
                yield _below(real, item)

    def resolve(self, path: str) -> str:
        """As the inner environment."""
        return self._inner.resolve(path)

    async def aclose(self) -> int:
        """Close the inner environment."""
        return await self._inner.aclose()

    def _reached(self, path: str) -> str | None:
        """The real path where it is outside and was allowed; None where the inner environment decides."""
        real = self._inner.resolve(path)
        root = self.root.rstrip("/")
        if real == root or real.startswith(root + "/"):
            return None
        allowed = any(real == each or real.startswith(each.rstrip("/") + "/") for each in self._outside)
        return real if allowed else None


def _files(real: str) -> LocalFiles:
    """Files of the folder that holds `real` (the nearest one that exists), opened without following links."""
    folder = Path(real).parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return LocalFiles(Containment(os.fspath(folder)))


def _below(folder: str, item: FileInfo) -> FileInfo:
    return replace(item, path=f"{folder.rstrip('/')}/{item.path}")


def _named(content: FileContent, real: str) -> FileContent:
    """What lies outside is named by its absolute path."""
    return FileContent(real, content.data, content.digest, content.mtime_ns, content.mode)
