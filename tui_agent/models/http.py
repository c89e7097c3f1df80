"""One HTTP exchange with a provider: sends the request, detects stalls, yields chunks.

Invariant: every failure becomes one `ModelFault`, and leaving the stream closes the connection.
"""

import json
import re
import ssl
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import anyio
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from tui_agent.config.settings.providers import find_by_host
from tui_agent.json_text import parse_json
from tui_agent.models import provider_faults
from tui_agent.models.endpoint import Endpoint
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import ModelChunk, ModelFault
from tui_agent.protocol.events.model import FaultKind
from tui_agent.protocol.stored_text import JsonMap
from tui_agent.protocol.unicode_text import list_first
from tui_agent.units import format_bytes, format_time_limit

_UNUSED_MODULES = ("httpx._main", "httpcore._async.http2", "httpcore._sync.http2")
"""Modules that httpx and httpcore treat as optional: a command line, and HTTP/2. Without them, httpx loads faster."""


@contextmanager
def _hide_unused_modules() -> Iterator[None]:
    """Make imports of `_UNUSED_MODULES` raise `ImportError` inside the block, as if they were not installed."""
    absent = [name for name in _UNUSED_MODULES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None: not to be found
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


with _hide_unused_modules():
    import httpcore  # noqa: F401 - otherwise httpx would import it later, for its first client
    import httpx

ERROR_BODY_LIMIT = 64 << 10
WHOLE_BODY_LIMIT, LIST_BODY_LIMIT = 64 << 20, 4 << 20
CONNECT_SECONDS, LIST_SECONDS = 20.0, 5.0
MAX_NAMED_MODELS = 6
"""If the requested model is unknown, the error names at most this many of the provider's models."""
JSON_BATCH, CHUNK_BYTES = 32, 256 << 10
"""Maximum number of messages encoded at once, and maximum bytes sent at once."""

_PARSE_ERRORS = (ValueError, TypeError, AttributeError, KeyError, IndexError)
"""Exceptions from parsing an answer whose values have unexpected types."""
Chunks: TypeAlias = AsyncGenerator[ModelChunk, None]
MAX_EVENT_BYTES = 32 << 20


class Dialect(Protocol):
    """Parser of one answer's JSON into chunks; one instance per answer."""

    def parse_event(self, data: bytes) -> list[ModelChunk]:
        """Return the chunks of one server-sent event. Raise `ValueError` if the event is not valid JSON."""
        ...

    def parse_body(self, body: bytes) -> list[ModelChunk]:
        """Return the chunks of an answer that was not streamed. Raise `ValueError` if the answer is not valid JSON."""
        ...


class _EncodedRequest:
    """A request encoded as JSON in pieces. Each piece is freed after it is sent."""

    def __init__(self, route: str, body: JsonMap, dialect: Dialect) -> None:
        self.route = route
        self.dialect = dialect
        self.pieces = deque(encode_body(body))
        self.size = sum(map(len, self.pieces))

    async def drain(self) -> AsyncIterator[bytes]:
        while self.pieces:
            yield self.pieces.popleft()


def encode_body(body: JsonMap) -> Iterator[bytes]:
    """Encode a request's body as JSON, in pieces of about `CHUNK_BYTES` bytes."""
    buffer = bytearray(b"{")
    for index, (name, value) in enumerate(body.items()):
        buffer += (b"," if index else b"") + _encode_json(name) + b":"
        if not isinstance(value, list):
            buffer += _encode_json(value)
            continue
        buffer += b"["
        for start in range(0, len(value), JSON_BATCH):
            buffer += b"," if start else b""
            # A few items at a time, so that the pieces stay small.
            buffer += _encode_json(value[start : start + JSON_BATCH])[1:-1]
            if len(buffer) >= CHUNK_BYTES:
                yield bytes(buffer)
                buffer.clear()
        buffer += b"]"
    yield bytes(buffer + b"}")


def _encode_json(value: JsonValue) -> bytes:
    try:
        return to_json(value)
    except PydanticSerializationError:  # a lone surrogate
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def json_object(data: bytes) -> dict[str, Any]:
    """Parse an event or a whole answer. `[DONE]` gives an empty object.

    Raise `ValueError` if the JSON is invalid or not an object.
    """
    value = {} if data == b"[DONE]" else parse_json(data)
    if not isinstance(value, dict):
        raise ValueError("JSON that is not an object")
    return value


class HttpClient:
    """Base class of clients that send requests to one endpoint."""

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._http: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def open_stream(
        self, route: str, make_body: Callable[[], JsonMap], dialect: Dialect
    ) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        """Open the stream of one answer's chunks, for an `async with` block.

        The request is sent when the first chunk is read.

        - `dialect`: parser of the answer.
        - `make_body`: function that returns the request's body.
        """
        # `make_body` is a function, so that no caller keeps the body in memory.
        async with AsyncExitStack() as stack:
            outgoing = _EncodedRequest(route, make_body(), dialect)
            yield await stack.enter_async_context(aclosing(self._chunks(outgoing, stack)))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _chunks(self, outgoing: "_EncodedRequest", stack: AsyncExitStack) -> Chunks:
        response: httpx.Response | None = None
        try:
            with anyio.move_on_after(self._endpoint.timeout):
                response = await stack.enter_async_context(self._send(outgoing))
            if response is None:
                yield self._stall_fault("before its answer")
                return
            if response.status_code != 200:
                yield await self._error_response(response)
                return
            async with aclosing(self._read(response, outgoing.dialect)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except httpx.HTTPError as error:
            yield self._connection_fault(error)
        except (httpx.InvalidURL, httpx.StreamError) as error:
            yield provider_faults.fault(
                "transport", f"{self._endpoint.base_url} cannot be used: {error}.", original=repr(error)
            )

    @asynccontextmanager
    async def _send(self, outgoing: "_EncodedRequest") -> AsyncIterator[httpx.Response]:
        client = self._client()
        headers = {"content-type": "application/json", "content-length": str(outgoing.size)}
        request = client.build_request(
            "POST", self._endpoint.url(outgoing.route), content=outgoing.drain(), headers=headers
        )
        response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response, dialect: Dialect) -> Chunks:
        kind = response.headers.get("content-type", "").lower()
        if "html" in kind:
            base_url = self._endpoint.base_url
            yield provider_faults.fault(
                "invalid_request", f"{base_url} is not a model server: it answered with a web page."
            )
            return
        if "json" in kind:
            async for chunk in self._read_whole(response, dialect):
                yield chunk
            return
        parser = EventParser()
        body = response.aiter_bytes()
        while True:
            piece: bytes | None = None
            with anyio.move_on_after(self._endpoint.timeout) as idle:
                piece = await anext(body, b"")
            if idle.cancelled_caught or piece is None:
                yield self._stall_fault("in the middle of its answer")
                return
            try:
                for data in parser.feed(piece) if piece else parser.close():
                    for chunk in dialect.parse_event(data):
                        yield chunk
            except _PARSE_ERRORS as error:
                if piece:  # otherwise the body ended inside an event: that is a cut stream, not a fault
                    yield _format_fault(data, error)
                return
            except EventTooLong:
                yield provider_faults.fault(
                    "malformed", f"The provider sent one event of more than {format_bytes(MAX_EVENT_BYTES)}."
                )
                return
            if not piece:
                return

    async def _read_whole(self, response: httpx.Response, dialect: Dialect) -> Chunks:
        body = await self._read_body(response, WHOLE_BODY_LIMIT)
        if body is None:
            yield self._stall_fault("in the middle of its answer")
            return
        try:
            for chunk in dialect.parse_body(body):
                yield chunk
        except _PARSE_ERRORS as error:
            yield _format_fault(body, error)

    async def _error_response(self, response: httpx.Response) -> ModelFault:
        body = await self._read_body(response, ERROR_BODY_LIMIT) or b""
        headers = {name.lower(): value for name, value in response.headers.items()}
        text = body.decode("utf-8", "replace")
        if 300 <= response.status_code < 400:
            return provider_faults.fault(
                "invalid_request",
                f"{self._endpoint.base_url} redirects ({response.status_code}); redirects are not followed.",
                original=text,
            )
        fault = provider_faults.from_status(response.status_code, text, headers, now=self._clock.now())
        # A 404 from the user's own server usually means a wrong address, and not a missing model.
        if not provider_faults.is_unknown_model(fault):
            vendor = find_by_host(self._endpoint.host)
            is_own_address = vendor is None or not self._endpoint.base_url.startswith(vendor.base_url)
            if fault.status == 404 and fault.kind == "invalid_request" and is_own_address:
                return replace(fault, hint=self._describe_missing(str(response.request.url)))
            return fault
        names = await self._list_models()
        return (
            replace(fault, hint=f"Available models: {list_first(names, MAX_NAMED_MODELS)}.")
            if names
            else fault
        )

    def _describe_missing(self, url: str) -> str:
        """Return the hint to show if the user's own server does not have this URL."""
        if not re.search(r"/v\d", urlsplit(self._endpoint.base_url).path):
            return "Does the address end in /v1?"
        return f"Check the address and the model's name: {url} was not found."

    async def _list_models(self) -> list[str]:
        """Return the names of the provider's models; empty if the provider does not list them."""
        try:
            with anyio.fail_after(LIST_SECONDS):
                async with self._client().stream("GET", self._endpoint.url("models")) as response:
                    body = await self._read_body(response, LIST_BODY_LIMIT) or b""
            return [str(model["id"]) for model in json_object(body)["data"]]
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, *_PARSE_ERRORS):
            return []

    async def _read_body(self, response: httpx.Response, limit: int) -> bytes | None:
        """Read a response's body up to `limit` bytes. Return None if the server sends nothing for too long."""
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
                # A TLS context without certificates is cheap to create, and http:// addresses do not use it.
                verify=True if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                # The time limit for reading is ours (`Endpoint.timeout`), so that it also holds for a body that
                # arrives slowly.
                timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, self._endpoint.timeout)),
                trust_env=not self._endpoint.is_local,
                # A redirect could lead the key to another host.
                follow_redirects=False,
            )
        return self._http

    def _stall_fault(self, position: str) -> ModelFault:
        limit = format_time_limit(self._endpoint.timeout)
        return provider_faults.fault("timeout", f"The provider sent nothing for {limit} {position}.")

    def _connection_fault(self, error: httpx.HTTPError) -> ModelFault:
        reason = (str(error) or type(error).__name__).rstrip(".")
        kind: FaultKind = "cut"
        message = f"The connection broke in the middle of the answer: {reason}."
        if isinstance(error, httpx.TimeoutException):
            kind, message = "timeout", f"{self._endpoint.host} did not answer in time: {reason}."
        elif isinstance(error, httpx.ConnectError):
            kind, message = "transport", f"{self._endpoint.base_url} cannot be reached: {reason}."
        return provider_faults.fault(kind, message, original=reason)


def _format_fault(data: bytes, error: Exception) -> ModelFault:
    original = data[: provider_faults.ORIGINAL_LIMIT].decode("utf-8", "replace")
    problem = "invalid JSON" if isinstance(error, ValueError) else "unexpected JSON"
    return provider_faults.fault("malformed", f"The provider sent {problem}: {error}", original=original)


class EventTooLong(Exception):
    """Raised for an event that is longer than any provider sends."""


class EventParser:
    """Parses bytes as they arrive, and returns the `data` of each complete event."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that these bytes complete. Raise `EventTooLong` if an event is too long."""
        lines = (self._rest + chunk).split(b"\n") if self._rest else chunk.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > MAX_EVENT_BYTES:
            raise EventTooLong
        data = self._data
        for line in lines:
            # Lines end with \n or \r\n.
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line:
                if data:
                    yield data[0] if len(data) == 1 else b"\n".join(data)
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])

    def close(self) -> Iterator[bytes]:
        """End the body. Yield the last event, even if the blank line after this event is missing."""
        yield from self.feed(b"\n\n")
