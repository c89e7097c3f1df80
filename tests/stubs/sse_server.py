"""A model provider on 127.0.0.1 for tests: Chat Completions, Responses and Anthropic's messages, streamed, with
faults on request. Standard library only.

A test puts `Reply` objects into `server.replies`; each request takes one. What was asked stands in `server.requests`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

Shape = Literal["chat", "responses", "anthropic", "gemini"]
Fault = Literal["", "cut", "abort", "stall", "stall_first", "broken", "error", "done_only", "late_abort"]

ROUTES: dict[str, Shape] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
    ":streamGenerateContent": "gemini",
}


@dataclass(frozen=True)
class Reply:
    """One answer, in no provider's form. `usage`: input, output, cached. `calls`: id, name, raw arguments.

    Faults: `cut` ends the body cleanly without a finish signal, `abort` drops the connection, `late_abort` drops it
    after the finish signal, `stall` hangs in the middle and `stall_first` before the headers, `broken` sends half a
    JSON object as an event, `error` an error inside the stream, `done_only` the end marker without a finish signal.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    usage: tuple[int, int, int] = (110, 7, 30)
    finish: Literal["stop", "length", "refusal"] = "stop"
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault = ""
    error: dict[str, Any] = field(default_factory=lambda: {"type": "server_error", "message": "it broke"})
    raw: tuple[bytes, ...] | None = None
    whole: bool = False


@dataclass
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class SseServer:
    """A running server. `hung_up` is set when a client closes the connection of a stalled answer."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    """The names in the answer to a request for the list of models."""
    requests: list[Asked] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    listening: asyncio.Server | None = None
    open_writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def stop(self) -> None:
        """Take no more connections."""
        if self.listening is not None:
            self.listening.close()
            await self.listening.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()
        self.open_writers.discard(writer)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        _, path, _ = head.split(" ", 2)
        pairs = (line.partition(":") for line in head.split("\r\n")[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        asked = Asked(path.split("?")[0], headers, json.loads(raw or b"{}"))
        self.requests.append(asked)
        if asked.path.endswith("/models") and self.models:
            self._plain(writer, 200, {"data": [{"id": name} for name in self.models]}, {})
            return True
        shape = next((shape for route, shape in ROUTES.items() if asked.path.endswith(route)), None)
        if shape is None or not self.replies:
            self._plain(
                writer, 404 if shape is None else 500, {"error": {"message": "the test has no reply"}}, {}
            )
            return True
        reply = self.replies.pop(0)
        if reply.status != 200:
            body = reply.body if reply.body is not None else {"error": {"message": f"status {reply.status}"}}
            self._plain(writer, reply.status, body, reply.headers)
            return True
        if reply.whole:
            self._plain(writer, 200, whole(shape, reply), {})
            return True
        return await self._stream(reader, writer, shape, reply)

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shape: Shape, reply: Reply
    ) -> bool:
        if reply.fault == "stall_first":
            return await self._hang(reader)
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        middle, end = events(shape, reply)
        if reply.fault == "broken":
            middle, end = [*middle, b'data: {"choices": [{"delta": {"con\n\n'], []
        elif reply.fault == "error":
            middle, end = [*middle, _sse({"type": "error", "error": reply.error}, "error")], []
        elif reply.fault == "done_only":
            end = [b"data: [DONE]\n\n"]
        elif reply.fault in ("cut", "abort", "stall"):
            end = []
        for event in (*middle, *end):
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
        self.sent.set()
        if reply.fault == "stall":
            return await self._hang(reader)
        if reply.fault in ("abort", "late_abort"):
            await asyncio.sleep(0.05)  # a reset must not overtake what was sent
            writer.transport.abort()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        while await reader.read(1024):
            pass
        self.hung_up.set()
        return False

    def _plain(self, writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str]) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = "text/html" if isinstance(body, str) else "application/json"
        more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(
            f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {len(data)}\r\n\r\n".encode()
            + data
        )


@asynccontextmanager
async def running() -> AsyncIterator[SseServer]:
    """A server on a free port for the time of the block."""
    server = SseServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 24)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    server.listening = listening
    try:
        yield server
    finally:
        listening.close()
        while server.open_writers:
            for writer in list(server.open_writers):
                writer.transport.abort()
            await asyncio.sleep(0)


def events(shape: Shape, reply: Reply) -> tuple[list[bytes], list[bytes]]:
    """The events of a reply in a provider's form: those before the finish signal, and those from it on."""
    if reply.raw is not None:
        return list(reply.raw), []
    return {"chat": _chat, "responses": _responses, "anthropic": _anthropic, "gemini": _gemini}[shape](reply)


def chat_delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One chunk of the Chat Completions form, for tests that need an odd one."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _sse(
        {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


def chat_calls(*pieces: dict[str, Any]) -> list[bytes]:
    """Chunks of tool calls as they stand, one each."""
    return [chat_delta({"tool_calls": [piece]}) for piece in pieces]


def _pieces(text: str, size: int = 5) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _sse(value: dict[str, Any], event: str | None = None) -> bytes:
    return ((f"event: {event}\n" if event else "") + f"data: {json.dumps(value)}\n\n").encode()


def _chat(reply: Reply) -> tuple[list[bytes], list[bytes]]:
    given, came, cached = reply.usage
    middle = [chat_delta({"role": "assistant", "content": ""})]
    middle += [chat_delta({"reasoning_content": piece}) for piece in _pieces(reply.reasoning)]
    middle += [chat_delta({"content": piece}) for piece in _pieces(reply.text)]
    for index, (call_id, name, arguments) in enumerate(reply.calls):
        head = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        middle += chat_calls({"index": index, **head})
        middle += chat_calls(*({"index": index, "function": {"arguments": p}} for p in _pieces(arguments)))
    finish = {
        "stop": "tool_calls" if reply.calls else "stop",
        "length": "length",
        "refusal": "content_filter",
    }
    usage = {
        "prompt_tokens": given,
        "completion_tokens": came,
        "total_tokens": given + came,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    last = {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    return middle, [chat_delta({}, finish[reply.finish]), _sse(last), b"data: [DONE]\n\n"]


def _responses(reply: Reply) -> tuple[list[bytes], list[bytes]]:
    def event(kind: str, **more: Any) -> bytes:
        return _sse({"type": kind, **more}, kind)

    items = _response_items(reply)
    middle = [event("response.created", response={"id": "resp-1", "status": "in_progress", "output": []})]
    for at, item in enumerate(items):
        opened = {**item, "arguments": ""} if item["type"] == "function_call" else item
        middle.append(event("response.output_item.added", output_index=at, item=opened))
        if item["type"] == "reasoning":
            kind = "response.reasoning_summary_text.delta"
            middle += [event(kind, output_index=at, delta=piece) for piece in _pieces(reply.reasoning)]
        elif item["type"] == "message":
            kind = "refusal" if reply.finish == "refusal" else "output_text"
            middle += [event(f"response.{kind}.delta", output_index=at, delta=p) for p in _pieces(reply.text)]
        else:
            kind = "response.function_call_arguments.delta"
            middle += [event(kind, output_index=at, delta=piece) for piece in _pieces(item["arguments"])]
        middle.append(event("response.output_item.done", output_index=at, item=item))
    how = "incomplete" if reply.finish == "length" else "completed"
    return middle, [event(f"response.{how}", response=_response_end(reply, items, how))]


def _response_items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "sealed"})
    if reply.text:
        key = "refusal" if reply.finish == "refusal" else "text"
        block = {"type": "refusal" if key == "refusal" else "output_text", key: reply.text}
        items.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [block]}
        )
    for call_id, name, arguments in reply.calls:
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{call_id}",
                "call_id": call_id,
                "name": name,
                "arguments": arguments,
            }
        )
    return items


def _response_end(reply: Reply, items: list[dict[str, Any]], how: str) -> dict[str, Any]:
    given, came, cached = reply.usage
    return {
        "id": "resp-1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": how,
        "output": items,
        "incomplete_details": {"reason": "max_output_tokens"} if how == "incomplete" else None,
        "usage": {
            "input_tokens": given,
            "output_tokens": came,
            "total_tokens": given + came,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _anthropic(reply: Reply) -> tuple[list[bytes], list[bytes]]:
    def event(kind: str, **more: Any) -> bytes:
        return _sse({"type": kind, **more}, kind)

    given, came, cached = reply.usage
    use = {
        "input_tokens": given - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    middle = [event("message_start", message={**message, "usage": {**use, "output_tokens": 1}})]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": p} for p in _pieces(reply.reasoning)
        ]
        deltas.append({"type": "signature_delta", "signature": "sealed"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if reply.text:
        blocks.append(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(reply.text)])
        )
    for call_id, name, arguments in reply.calls:
        pieces = [{"type": "input_json_delta", "partial_json": p} for p in _pieces(arguments)]
        blocks.append(({"type": "tool_use", "id": call_id, "name": name, "input": {}}, pieces))
    for index, (block, deltas) in enumerate(blocks):
        middle.append(event("content_block_start", index=index, content_block=block))
        middle += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        middle.append(event("content_block_stop", index=index))
    stop = {"stop": "tool_use" if reply.calls else "end_turn", "length": "max_tokens", "refusal": "refusal"}
    end = {"stop_reason": stop[reply.finish], "stop_sequence": None}
    return middle, [
        event("message_delta", delta=end, usage={**use, "output_tokens": came}),
        event("message_stop"),
    ]


def _gemini(reply: Reply) -> tuple[list[bytes], list[bytes]]:
    """Gemini's form: the finish reason stands beside the last content."""

    def event(parts: list[dict[str, Any]], **more: Any) -> bytes:
        given, came, cached = reply.usage
        usage = {
            "promptTokenCount": given,
            "candidatesTokenCount": came,
            "cachedContentTokenCount": cached,
            "totalTokenCount": given + came,
        }
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **more}
        return _sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini"})

    middle = [event([{"text": piece}]) for piece in _pieces(reply.text)]
    for _, name, arguments in reply.calls:
        middle.append(event([{"functionCall": {"name": name, "args": json.loads(arguments)}}]))
    finish = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[reply.finish]
    return middle, [event([{"text": ""}], finishReason=finish)]


def whole(shape: Shape, reply: Reply) -> dict[str, Any]:
    """A reply in one piece, for servers that do not stream."""
    if shape == "responses":
        return _response_end(reply, _response_items(reply), "completed")
    if shape == "anthropic":
        raise NotImplementedError("no client of ours asks Anthropic without streaming")
    calls: Sequence[dict[str, Any]] = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in reply.calls
    ]
    message = {"role": "assistant", "content": reply.text or None, "tool_calls": calls or None}
    given, came, cached = reply.usage
    return {
        "id": "chat-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": came,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
