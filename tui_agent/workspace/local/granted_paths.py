"""An environment for one call: it also reaches the files outside the workspace that the call was allowed to touch,
and opens those that were judged, wherever their names lead by now.

Invariants: a path outside is opened only where the file that it really is was named; everything else is refused as by
the inner environment. A path that was judged is the file that it was then: a link that was put there since, in the
workspace or outside of it, is refused, not followed.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from anyio import to_thread

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
from tui_agent.workspace.local.file_walk import batch_of, walk
from tui_agent.workspace.local.files import LocalFiles
from tui_agent.workspace.local.paths import Containment


@runtime_checkable
class OnThisMachine(Protocol):
    """An environment whose files are this machine's."""

    @property
    def containment(self) -> Containment: ...


def reaching(
    env: Environment, effects: Sequence[Effect], judged: Mapping[str, str] | None = None
) -> Environment:
    """The environment as a call with these effects sees it, once it was allowed.

    `judged` is where its paths led when it was (as `PolicyFacts.resolved`); None while nothing was decided yet. An
    environment of another machine is returned as it is.
    """
    if not isinstance(env, OnThisMachine):
        return env
    paths = [effect.path for effect in effects if isinstance(effect, Reads | Writes)]
    real = {path: (judged or {}).get(path) or env.resolve(path) for path in paths}
    outside = frozenset(path for path in real.values() if not _within(path, env.root))
    if not outside and judged is None:
        return env
    pinned = real if judged is not None else {}
    return ReachingEnvironment(env, env.containment.exactly(), outside, pinned)


class ReachingEnvironment:
    """Wraps an environment of this machine.

    `outside` are absolute paths, links followed; a folder reaches below. `pinned` are paths as a tool was given them,
    with the files that they were when the call was judged.
    """

    def __init__(
        self, inner: Environment, exact: Containment, outside: frozenset[str], pinned: Mapping[str, str]
    ) -> None:
        self._inner = inner
        self._exact = exact
        self._files = LocalFiles(exact)
        self.outside = outside
        self._pinned = {**{real: real for real in pinned.values()}, **pinned}
        for real in set(pinned.values()):
            if real != inner.root and _within(real, inner.root):
                self._pinned.setdefault(self._named(real), real)

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
        """As the inner environment, or a file that was judged, or one of those outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.read(path, max_bytes)
        return self._content(await to_thread.run_sync(self._files.read, real, max_bytes), real)

    async def write(self, path: str, data: bytes, expect: str | None) -> FileContent:
        """As the inner environment, or a file that was judged, or one of those outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.write(path, data, expect)
        return self._content(await to_thread.run_sync(self._files.write, real, data, expect), real)

    async def remove(self, path: str, expect: str) -> None:
        """As the inner environment, or one of those outside. A link is refused, not followed."""
        real = self._outside(self._inner.resolve(path))
        if real is None:
            await self._inner.remove(path, expect)
        else:
            await to_thread.run_sync(self._files.remove, real, expect)

    async def stat(self, path: str) -> FileInfo | None:
        """As the inner environment, or one of those outside."""
        real = self._outside(self.resolve(path))
        if real is None:
            return await self._inner.stat(path)
        found = await to_thread.run_sync(self._files.stat, real)
        return None if found is None else replace(found, path=real)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        """As the inner environment, or a folder that was judged, or one outside."""
        real = self._reached(path)
        if real is None:
            return await self._inner.listdir(path)
        found = await to_thread.run_sync(self._files.listdir, real)
        return tuple(replace(item, path=self._named("/" + item.path)) for item in found)

    async def walk(self, path: str = "", *, ignored: bool = False) -> AsyncIterator[FileInfo]:
        """As the inner environment, or below a folder outside."""
        real = self._outside(self.resolve(path))
        if real is None:
            async for item in self._inner.walk(self._pinned.get(path, path), ignored=ignored):
                yield item
            return
        found = walk(self._exact.at(real), "", ignored)
        while batch := await to_thread.run_sync(batch_of, found):
            for item in batch:
                yield replace(item, path=f"{real.rstrip('/')}/{item.path}")

    def resolve(self, path: str) -> str:
        """Where a judged path led then; any other as the inner environment."""
        return self._pinned.get(path) or self._inner.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        """The same for each of several."""
        return {path: self.resolve(path) for path in paths}

    async def aclose(self) -> int:
        """Close the inner environment."""
        return await self._inner.aclose()

    def _reached(self, path: str) -> str | None:
        """The real path of what is opened here; None where the inner environment decides."""
        real = self._pinned.get(path)
        return real if real is not None else self._outside(self._inner.resolve(path))

    def _outside(self, real: str) -> str | None:
        """`real` where it is outside and was allowed."""
        if _within(real, self.root):
            return None
        return real if any(_within(real, each) for each in self.outside) else None

    def _named(self, real: str) -> str:
        """As the inner environment names it: what lies outside by its absolute path."""
        if real == self.root:
            return "."
        return real[len(self.root.rstrip("/")) + 1 :] if _within(real, self.root) else real

    def _content(self, content: FileContent, real: str) -> FileContent:
        return replace(content, path=self._named(real))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
