"""One HTTP exchange with a provider: send, watch for stalls, give out events; every failure is one `ModelFault`.

Invariant: leaving the stream, by whatever way, closes the connection; no exception of httpx leaves this module.
"""

import json
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import anyio
from pydantic import JsonValue

from tui_agent.models import faults
from tui_agent.models.endpoint import Endpoint
from tui_agent.models.lean_httpx import httpx
from tui_agent.models.sse import EventParser, TooLong
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelChunk, ModelFault
from tui_agent.protocol.base import JsonMap

ERROR_BODY_LIMIT = 64 << 10
WHOLE_BODY_LIMIT = 64 << 20
CONNECT_SECONDS = 20.0
ITEMS, PIECE = 32, 256 << 10
"""Messages that are made into JSON at once, and bytes that are sent at once."""

_MISSHAPEN = (ValueError, TypeError, AttributeError, KeyError, IndexError)
"""What reading an answer raises where a value is not of the type that the form prescribes."""


class Dialect(Protocol):
    """Turns one answer's raw JSON into chunks; made anew for each answer."""

    def event(self, data: bytes) -> list[ModelChunk]:
        """The chunks of one server-sent event. Raises `ValueError` where it is no JSON."""
        ...

    def whole(self, body: bytes) -> list[ModelChunk]:
        """The chunks of an answer that came in one piece. Raises `ValueError`."""
        ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one request needs: where, what, and how to read the answer."""

    route: str
    body: JsonMap
    dialect: Dialect


@dataclass(slots=True)
class _Outgoing:
    """A request whose body is JSON already: in pieces, each of which is let go once it is sent, so that a long history
    is neither held twice nor while the answer comes."""

    route: str
    dialect: Dialect
    pieces: deque[bytes]
    size: int

    @classmethod
    def of(cls, exchange: Exchange) -> "_Outgoing":
        pieces = deque(encoded(exchange.body))
        return cls(exchange.route, exchange.dialect, pieces, sum(map(len, pieces)))

    async def sent(self) -> AsyncIterator[bytes]:
        """The pieces, once."""
        while self.pieces:
            yield self.pieces.popleft()


def encoded(body: JsonMap) -> Iterator[bytes]:
    """The JSON of a request's body, in pieces of about `PIECE` bytes: its text is never there as a whole.

    Half surrogates, which a tool's output may hold, become question marks.
    """
    held = bytearray(b"{")
    for at, (name, value) in enumerate(body.items()):
        held += (b"," if at else b"") + _json(name) + b":"
        if not isinstance(value, list):
            held += _json(value)
            continue
        held += b"["
        for begin in range(0, len(value), ITEMS):
            held += b"," if begin else b""
            held += _json(value[begin : begin + ITEMS])[1:-1]
            if len(held) >= PIECE:
                yield bytes(held)
                held.clear()
        held += b"]"
    yield bytes(held + b"}")


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


Chunks: TypeAlias = AsyncGenerator[ModelChunk, None]


class HttpStreams:
    """The connections to one endpoint. Made on first use, closed by `aclose`."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._http: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def open(self, make: Callable[[], Exchange]) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        """The chunks of one exchange; the request goes out with the first pull."""
        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(aclosing(self._chunks(_Outgoing.of(make()), stack)))

    async def aclose(self) -> None:
        """Close every connection."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _chunks(self, outgoing: "_Outgoing", stack: AsyncExitStack) -> Chunks:
        response: httpx.Response | None = None
        try:
            with anyio.move_on_after(self._endpoint.timeout):
                response = await stack.enter_async_context(self._send(outgoing))
            if response is None:
                yield self._stalled("to begin its answer")
                return
            if response.status_code != 200:
                yield await self._refused(response)
                return
            async with aclosing(self._read(response, outgoing.dialect)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except httpx.HTTPError as error:
            yield self._broken(error)
        except (httpx.InvalidURL, httpx.StreamError) as error:
            yield faults.fault(
                "transport", f"{self._endpoint.base_url} cannot be used: {error}.", original=repr(error)
            )

    @asynccontextmanager
    async def _send(self, outgoing: "_Outgoing") -> AsyncIterator[httpx.Response]:
        client = self._client()
        headers = {"content-type": "application/json", "content-length": str(outgoing.size)}
        request = client.build_request(
            "POST", self._endpoint.url(outgoing.route), content=outgoing.sent(), headers=headers
        )
        response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response, dialect: Dialect) -> Chunks:
        kind = response.headers.get("content-type", "").lower()
        if "html" in kind:
            where = self._endpoint.base_url
            yield faults.fault(
                "invalid_request", f"{where} answered with a web page: no model is served there."
            )
            return
        if "json" in kind:
            async for chunk in self._whole(response, dialect):
                yield chunk
            return
        parser = EventParser()
        body = response.aiter_bytes()
        while True:
            piece: bytes | None = None
            with anyio.move_on_after(self._endpoint.timeout) as idle:
                piece = await anext(body, b"")
            if idle.cancelled_caught or piece is None:
                yield self._stalled("in the middle of its answer")
                return
            try:
                for data in parser.feed(piece) if piece else parser.close():
                    for chunk in dialect.event(data):
                        yield chunk
            except (*_MISSHAPEN, RecursionError) as error:
                if piece:  # at the end of the body it is an event that was cut in two
                    yield _no_json(data, error)
                return
            except TooLong:
                yield faults.fault("malformed", "The provider sent one event of more than 32 MiB.")
                return
            if not piece:
                return

    async def _whole(self, response: httpx.Response, dialect: Dialect) -> Chunks:
        body = await self._body(response, WHOLE_BODY_LIMIT)
        if body is None:
            yield self._stalled("in the middle of its answer")
            return
        try:
            for chunk in dialect.whole(body):
                yield chunk
        except (*_MISSHAPEN, RecursionError) as error:
            yield _no_json(body, error)

    async def _refused(self, response: httpx.Response) -> ModelFault:
        body = await self._body(response, ERROR_BODY_LIMIT) or b""
        headers = {name.lower(): value for name, value in response.headers.items()}
        text = body.decode("utf-8", "replace")
        if 300 <= response.status_code < 400:
            return faults.fault(
                "invalid_request",
                f"{self._endpoint.base_url} answered with a redirect ({response.status_code}), which is not followed.",
                original=text,
            )
        return faults.from_status(response.status_code, text, headers, now=self._clock.now())

    async def _body(self, response: httpx.Response, limit: int) -> bytes | None:
        """The body up to a limit; None when it stalls."""
        body = bytearray()
        pieces = response.aiter_bytes()
        while len(body) < limit:
            piece: bytes | None = None
            with anyio.move_on_after(self._endpoint.timeout):
                piece = await anext(pieces, b"")
            if piece is None:
                return None
            if not piece:
                break
            body += piece
        return bytes(body)

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            secure = self._endpoint.base_url.startswith("https:")
            self._http = httpx.AsyncClient(
                headers=self._endpoint.all_headers(),
                # A context without authorities costs nothing and trusts nobody: http addresses need no more.
                verify=True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, self._endpoint.timeout)),
                trust_env=not self._endpoint.local,
                follow_redirects=False,
            )
        return self._http

    def _stalled(self, where: str) -> ModelFault:
        seconds = f"{self._endpoint.timeout:g}"
        return faults.fault("timeout", f"The provider sent nothing for {seconds} s {where}.")

    def _broken(self, error: httpx.HTTPError) -> ModelFault:
        said = (str(error) or type(error).__name__).rstrip(".")
        if isinstance(error, httpx.TimeoutException):
            return faults.fault(
                "timeout", f"{self._endpoint.host} cannot be reached in time: {said}.", original=said
            )
        if isinstance(error, httpx.ConnectError):
            return faults.fault(
                "transport", f"{self._endpoint.base_url} cannot be reached: {said}.", original=said
            )
        return faults.fault(
            "cut", f"The connection broke in the middle of the answer: {said}.", original=said
        )


def _no_json(data: bytes, error: Exception) -> ModelFault:
    original = data[: faults.ORIGINAL_LIMIT].decode("utf-8", "replace")
    what = "what is no JSON" if isinstance(error, ValueError | RecursionError) else "JSON of another shape"
    return faults.fault("malformed", f"The provider sent {what}: {error}", original=original)
