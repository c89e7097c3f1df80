"""An environment that forwards all calls to another environment: the base class of wrappers.

Invariant: only the methods of `ports.environment.Environment` are forwarded, not those of optional protocols.
"""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from tui_agent.ports.environment import (
    Environment,
    ExecResult,
    ExecSpec,
    FileContent,
    FileInfo,
    OutputSink,
    Sandbox,
)


class EnvironmentWrapper:
    """Environment that forwards all calls to the environment `inner`."""

    def __init__(self, inner: Environment) -> None:
        self._inner = inner

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
        return await self._inner.exec(spec, on_output)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        return await self._inner.read(path, max_bytes)

    async def write(self, path: str, data: bytes, expected_digest: str | None) -> FileContent:
        return await self._inner.write(path, data, expected_digest)

    async def remove(self, path: str, expected_digest: str) -> None:
        await self._inner.remove(path, expected_digest)

    async def stat(self, path: str) -> FileInfo | None:
        return await self._inner.stat(path)

    async def listdir(self, path: str) -> tuple[FileInfo, ...]:
        return await self._inner.listdir(path)

    def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        return self._inner.walk(path, include_ignored=include_ignored)

    def resolve(self, path: str) -> str:
        return self._inner.resolve(path)

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        return self._inner.resolve_all(paths)

    async def start(self) -> None:
        await self._inner.start()

    async def upload(self, local: Path, path: str) -> None:
        await self._inner.upload(local, path)

    async def download(self, path: str, local: Path) -> None:
        await self._inner.download(path, local)

    async def snapshot(self, to: Path) -> None:
        await self._inner.snapshot(to)

    async def aclose(self) -> int:
        return await self._inner.aclose()
