"""Environment wrapper for one tool call that opens the allowed files outside the workspace.

Invariant: a path outside the workspace is opened only if its real path was allowed.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from anyio import to_thread

from tui_agent.ports.environment import (
    Environment,
    FileContent,
    FileInfo,
)
from tui_agent.protocol.effects import Effect, ReadEffect, WriteEffect
from tui_agent.workspace.local.containment import Containment, is_within
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper
from tui_agent.workspace.local.file_walk import next_batch, walk_files
from tui_agent.workspace.local.local_files import LocalFiles


@runtime_checkable
class LocalFilesystem(Protocol):
    """An environment with files on this machine."""

    @property
    def containment(self) -> Containment: ...


def grant_paths(
    env: Environment, effects: Sequence[Effect], resolved: Mapping[str, str] | None = None
) -> Environment:
    """Return `env` with access to the files outside the workspace that are named in a tool call's `effects`.

    `resolved`: maps the call's paths to their real paths at the policy's decision; None before a decision.

    An environment on another machine is returned unchanged.
    """
    if not isinstance(env, LocalFilesystem):
        return env
    paths = [effect.path for effect in effects if isinstance(effect, ReadEffect | WriteEffect)]
    real = {path: (resolved or {}).get(path) or env.resolve(path) for path in paths}
    outside = frozenset(path for path in real.values() if not is_within(path, env.root))
    if not outside and resolved is None:
        return env
    pinned = real if resolved is not None else {}
    return GrantedEnvironment(env, env.containment.whole_file_system(), outside, pinned)


class GrantedEnvironment(EnvironmentWrapper):
    """Wraps an environment on this machine, and opens the allowed files outside the workspace itself.

    - `outside`: absolute real paths that can be opened; a folder includes everything below it
    - `pinned`: maps a path in a call to its real path at the time of the policy's decision
    """

    def __init__(
        self, inner: Environment, exact: Containment, outside: frozenset[str], pinned: Mapping[str, str]
    ) -> None:
        super().__init__(inner)
        self._exact = exact
        self._files = LocalFiles(exact)
        self.outside = outside
        self._pinned = {**{real: real for real in pinned.values()}, **pinned}
        for real in set(pinned.values()):
            if real != inner.root and is_within(real, inner.root):
                self._pinned.setdefault(self._display_path(real), real)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        real = self._local_path(path)
        if real is None:
            return await self._inner.read(path, max_bytes)
        return self._with_display_path(await to_thread.run_sync(self._files.read, real, max_bytes), real)

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        real = self._local_path(path)
        if real is None:
            return await self._inner.write(path, data, expected_digest)
        return self._with_display_path(
            await to_thread.run_sync(self._files.write, real, data, expected_digest), real
        )

    async def remove(self, path: str, expected_digest: str) -> None:
        """Remove a file in the workspace, or an allowed file outside; refuse links."""
        real = self._allowed_outside(self._inner.resolve(path))
        if real is None:
            await self._inner.remove(path, expected_digest)
        else:
            await to_thread.run_sync(self._files.remove, real, expected_digest)

    async def stat(self, path: str) -> FileInfo | None:
        real = self._allowed_outside(self.resolve(path))
        if real is None:
            return await self._inner.stat(path)
        info = await to_thread.run_sync(self._files.stat, real)
        return None if info is None else replace(info, path=real)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        real = self._local_path(path)
        if real is None:
            return await self._inner.listdir(path)
        entries = await to_thread.run_sync(self._files.listdir, real)
        return tuple(replace(item, path=self._display_path("/" + item.path)) for item in entries)

    async def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        real = self._allowed_outside(self.resolve(path))
        if real is None:
            async for item in self._inner.walk(self._pinned.get(path, path), include_ignored=include_ignored):
                yield item
            return
        files = walk_files(self._exact.for_folder(real), "", include_ignored)
        while batch := await to_thread.run_sync(next_batch, files):
            for item in batch:
                yield replace(item, path=f"{real.rstrip('/')}/{item.path}")

    def resolve(self, path: str) -> str:
        """Return the real path of `path`; for an approved path, the real path at the time of approval."""
        return self._pinned.get(path) or self._inner.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self.resolve(path) for path in paths}

    def _local_path(self, path: str) -> str | None:
        """Return the real path of a file that this object opens itself. Return None for files of the inner environment."""
        real = self._pinned.get(path)
        return real if real is not None else self._allowed_outside(self._inner.resolve(path))

    def _allowed_outside(self, real: str) -> str | None:
        if is_within(real, self.root):
            return None
        return real if any(is_within(real, allowed) for allowed in self.outside) else None

    def _display_path(self, real: str) -> str:
        if real == self.root:
            return "."
        return real[len(self.root.rstrip("/")) + 1 :] if is_within(real, self.root) else real

    def _with_display_path(self, content: FileContent, real: str) -> FileContent:
        return replace(content, path=self._display_path(real))
