"""A client of an environment that `tui-agent deploy` serves: it uploads a workspace and runs tests on it.

Invariant: the workspace is only read.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.evals.environments.environment_tests import EnvironmentReport, TestResult
from tui_agent.json_text import parse_json
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_bytes
from tui_agent.workspace.local.transfers import write_archive

if TYPE_CHECKING:
    import httpx

MAX_ANSWER_BYTES = 16 << 20
MAX_REASON_CHARS = 1_000


class RemoteTests:
    """The tests of a deployed environment for one uploaded workspace. `paths` has the names of the tests."""

    def __init__(self, client: "httpx.AsyncClient", address: str, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self._client = client
        self._address = address

    async def test(self, path: str = "") -> EnvironmentReport:
        """Run the test or the suite at `path`, or all tests if `path` is empty.

        Raise `EnvironmentFault` if the request fails.
        """
        answer = await _send(self._client, "POST", f"{self._address}/test/{quote(path)}")
        try:
            tests = [TestResult(test["path"], test["message"], test["seconds"]) for test in answer["tests"]]
        except (KeyError, TypeError) as error:
            raise _bad_answer(error) from error
        return EnvironmentReport(tuple(tests))


@asynccontextmanager
async def connect(address: str, workspace: Path) -> AsyncIterator[RemoteTests]:
    """Upload a workspace to a deployed environment and yield the environment's tests.

    `address`: the address that `tui-agent deploy` printed.
    Raise `EnvironmentFault` if the environment cannot be reached or refuses the request.
    """
    import httpx  # noqa: PLC0415 - slow, and only needed here

    url = httpx.URL(address)
    token = url.params.get("token")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with TemporaryDirectory() as folder:
        archive = Path(folder, "workspace.tar.gz")
        await to_thread.run_sync(write_archive, workspace, archive)
        data = await to_thread.run_sync(archive.read_bytes)
    # No time limit for an answer: a test may take long, and the server limits each test's time.
    timeout = httpx.Timeout(None, connect=10.0)
    async with httpx.AsyncClient(
        base_url=url.copy_with(query=None), headers=headers, timeout=timeout
    ) as client:
        opened = await _send(client, "POST", "/sessions", data)
        try:
            place = f"/sessions/{opened['session']}"
            paths = tuple(test["path"] for test in opened["tests"])
        except (KeyError, TypeError) as error:
            raise _bad_answer(error) from error
        try:
            yield RemoteTests(client, place, paths)
        finally:
            await _send(client, "DELETE", place)


async def _send(client: "httpx.AsyncClient", method: str, path: str, data: bytes | None = None) -> Any:
    """Send a request and return the JSON response. Raise `EnvironmentFault` if the request fails."""
    import httpx  # noqa: PLC0415 - slow, and only needed here

    try:
        async with client.stream(method, path, content=data) as answer:
            body = await _read_body(answer)
    except httpx.HTTPError as error:
        raise EnvironmentFault(
            f"The environment at {client.base_url} cannot be reached: {error or type(error).__name__}",
            hint="Give the address that tui-agent deploy printed.",
        ) from error
    try:
        values = parse_json(body)
    except ValueError:
        values = None
    if answer.is_success and isinstance(values, dict):
        return values
    reason = values.get("error") if isinstance(values, dict) else body.decode("utf-8", "replace").strip()
    raise EnvironmentFault(clip_line(str(reason), MAX_REASON_CHARS))


async def _read_body(answer: "httpx.Response") -> bytes:
    """Return the body of an answer. Raise `EnvironmentFault` if the body is too large."""
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise EnvironmentFault(
                f"The environment's answer to {answer.request.method} {answer.request.url.path} is larger than "
                f"{format_bytes(MAX_ANSWER_BYTES)}."
            )
    return bytes(body)


def _bad_answer(error: Exception) -> EnvironmentFault:
    return EnvironmentFault(
        f"The environment's answer has an unexpected format: {error}",
        hint="Use the same version of tui-agent on both sides.",
    )
