"""A scripted stand-in for a model provider, on 127.0.0.1 (Python 3.11, stdlib only).

    python -m benchmarks.mock_llm [--port 8399] [--script script.json] [--log requests.jsonl] [--side-no-tools]

Speaks, streaming and not: /v1/chat/completions, /v1/responses, /v1/messages (Anthropic) and
/v1beta/models/M:[stream]generateContent (Gemini); also GET /v1/models. A path prefix before these is ignored.

The reply is chosen without state: the newest user message holding "scenario-NAME" picks the scenario (else
"default"), the number of tool results after that message picks the step. A script is {NAME: [STEP, ...]}, laid over
SCENARIOS below. A step is an object with these keys, all optional:
  text        a string, {"markdown": TOKENS} for generated Markdown of all kinds, or {"shape": "prose" | "fence" |
              "list" | "table", "tokens": TOKENS} for one kind; "end" is appended after it
  tools       [[NAME, ARGS], ...]: a call of the first NAME the request offers (ARGS a string: sent as is, so it
              can be malformed; {i}: the step's index); "all": true calls every offered one in parallel; "repeat": N repeats the step
              (the scenario "tools" reads note0.txt … note29.txt: have them in the working folder)
  rate        tokens a second (0: as fast as possible); "delay": seconds before the first byte
  status      an HTTP error (429, 500, ...), with "headers"; "cut": N drops the connection after N tokens
  times, then the step applies to its first TIMES requests only, afterwards the step "then" does
  usage       {"in": N, "out": N, "cached": N} instead of the estimate
--side-no-tools answers requests that offer no tools (titles, summaries) with "ok".
The log has one JSON line a request: t (arrival), first and done (monotonic seconds), size, tools, scenario, step...
"""

import argparse
import asyncio
import contextlib
import json
import random
import re
import sys
import time
from pathlib import Path

SCENARIOS = {
    "default": [{"text": "Hello from the mock."}],
    "stream": [{"text": {"markdown": 20000}, "end": "\n\nQXZSTREAMQXZ\n"}],
    **{
        name: [{"text": {"shape": name, "tokens": 20000}, "end": f"\n\nQXZ{name.upper()}QXZ\n"}]
        for name in ("prose", "fence", "list", "table")
    },
    "slow": [{"text": {"markdown": 6000}, "end": "\n\nQXZSLOWQXZ\n", "rate": 100}],
    "tools": [
        {
            "repeat": 30,
            "tools": [
                [
                    "read_file",
                    {"path": "note{i}.txt", "file_path": "note{i}.txt", "absolute_path": "note{i}.txt"},
                ],
                ["ReadFile", {"path": "note.txt"}],
                ["read", {"filePath": "note.txt", "path": "note.txt"}],
                ["view", {"file_path": "note.txt"}],
                ["bash", {"command": "true {i}", "description": "true"}],
                ["terminal", {"command": "true {i}", "summary": "true", "security_risk": "LOW"}],
                ["exec_command", {"cmd": "true {i}"}],
                ["shell", {"command": ["true", "{i}"]}],
                ["shell_command", {"command": "true {i}"}],
            ],
        },
        {"text": "All read.\n\nQXZTOOLSQXZ\n"},
    ],
    "bad429": [
        {"status": 429, "headers": {"retry-after": "1"}, "times": 2, "then": {"text": "QXZBAD429QXZ"}}
    ],
    "bad500": [{"status": 500, "times": 2, "then": {"text": "QXZBAD500QXZ"}}],
    "cut": [{"text": {"markdown": 400}, "cut": 100, "times": 1, "then": {"text": "QXZCUTQXZ"}}],
    "badjson": [{"tools": [["read_file", '{"path": "note']], "times": 1, "then": {"text": "QXZBADJSONQXZ"}}],
    "empty": [{"text": "", "times": 1, "then": {"text": "QXZEMPTYQXZ"}}],
}
WORDS = [
    "parser",
    "token",
    "buffer",
    "index",
    "queue",
    "async",
    "result",
    "handler",
    "widget",
    "stream",
    "screen",
    "render",
    "cache",
    "layout",
    "event",
    "message",
    "model",
    "config",
    "update",
    "request",
    "value",
    "state",
    "the",
    "a",
    "of",
    "with",
    "from",
    "into",
    "when",
    "each",
    "only",
    "over",
]


def markdown(tokens, seed=7):
    """Return about TOKENS tokens (4 characters each) of headings, prose, lists, code and tables; always the same text."""
    rnd, out, size, n = random.Random(seed), [], 0, 0

    def words(k):
        return " ".join(rnd.choice(WORDS) for _ in range(k))

    while size < tokens * 4:
        n += 1
        code = "\n".join(
            f"    {rnd.choice(WORDS)}_{i} = {rnd.choice(WORDS)}({i}, '{words(2)}')  # {words(3)}"
            for i in range(14)
        )
        table = "\n".join(f"| {rnd.choice(WORDS)} | {rnd.randrange(999)} | {words(3)} |" for _ in range(6))
        part = (
            f"## {n}. {words(4).title()}\n\n{words(45).capitalize()} **{words(2)}** and `{words(1)}`.\n\n"
            + "".join(f"- {words(9)} *{words(1)}*\n" for _ in range(5))
            + f"\n{words(50).capitalize()}.\n\n"
            + f"```python\ndef step_{n}(value):\n{code}\n    return value\n```\n\n| name | count | note |\n|---|---|---|\n{table}\n\n"
            + "".join(f"{i}. {words(8)}\n" for i in range(1, 5))
            + "\n"
        )
        out.append(part)
        size += len(part)
    return "".join(out)


def shaped(shape, tokens, seed=7):
    """Return about TOKENS tokens that are all prose, one fence, one list or one table; always the same text."""
    rnd = random.Random(seed)

    def words(k):
        return " ".join(rnd.choice(WORDS) for _ in range(k))

    before, line, after = {
        "prose": ("", lambda n: words(60).capitalize() + ".\n\n", ""),
        "fence": (
            "```python\n",
            lambda n: f"{rnd.choice(WORDS)}_{n} = {rnd.choice(WORDS)}({n})  # {words(4)}\n",
            "```\n",
        ),
        "list": ("", lambda n: f"- {words(9)} *{words(1)}*\n", ""),
        "table": (
            "| name | count | note |\n|---|---|---|\n",
            lambda n: f"| {words(1)} | {n} | {words(3)} |\n",
            "",
        ),
    }[shape]
    out, size = [before], 0
    while size < tokens * 4:
        out.append(line(len(out)))
        size += len(out[-1])
    return "".join(out) + after


def pieces(text):
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def flat(content):
    """Return the text of a message's content in any of the four formats."""
    if isinstance(content, str):
        return content
    return "\n".join(
        b.get("text", "") for b in content or [] if isinstance(b, dict) and isinstance(b.get("text", ""), str)
    )


def read_request(kind, body):
    """Return (scenario, number of tool results since its message, names of the offered tools)."""
    if kind == "gemini":
        items = body.get("contents", [])
    elif kind == "responses":
        items = body.get("input", [])
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
    else:
        items = body.get("messages", [])
    results = 0
    for item in reversed(items):
        content = item.get("parts" if kind == "gemini" else "content")
        blocks = content if isinstance(content, list) else []
        done = sum(
            1
            for b in blocks
            if isinstance(b, dict) and (b.get("type") == "tool_result" or "functionResponse" in b)
        )
        if item.get("role") == "tool" or str(item.get("type", "")).endswith("_call_output"):
            done = 1
        results += done
        if item.get("role") == "user" and not done:
            found = re.findall(r"scenario-(\w+)", flat(content))
            if found:
                scenario = found[-1]
                break
    else:
        scenario, results = "default", 0
    tools = body.get("tools") or []
    if kind == "gemini":
        names = [d["name"] for t in tools for d in t.get("functionDeclarations", [])]
    else:
        names = [t.get("name") or t.get("function", {}).get("name") for t in tools]
    return scenario, results, [n for n in names if n]


class Mock:
    def __init__(self, script, log, side):
        self.script, self.log, self.side, self.used, self.n = script, log, side, {}, 0

    def step(self, scenario, index):
        steps = [
            s for s in self.script.get(scenario, self.script["default"]) for _ in range(s.get("repeat", 1))
        ]
        step = steps[min(index, len(steps) - 1)]
        while "times" in step:
            key = (scenario, index, id(step))
            self.used[key] = self.used.get(key, 0) + 1
            if self.used[key] <= step["times"]:
                break
            step = step["then"]
        return step

    async def serve(self, reader, writer):
        try:
            while await self.one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        t = time.monotonic()
        method, path, _ = head.split(" ", 2)
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (l.partition(":") for l in head.split("\r\n")[1:])
        }
        if "chunked" in headers.get("transfer-encoding", ""):
            raw = b""
            while size := int(await reader.readline(), 16):
                raw += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        else:
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
        entry = {"t": t, "path": path.split("?")[0], "size": len(raw)}
        kind = next(
            (
                k
                for k, p in (
                    ("chat", "/chat/completions"),
                    ("responses", "/responses"),
                    ("anthropic", "/messages"),
                    ("gemini", "enerateContent"),
                )
                if path.split("?")[0].endswith(p)
            ),
            None,
        )
        if kind is None or method != "POST":
            models = path.rstrip("/").endswith("/models")
            self.reply(
                writer,
                200 if models else 404,
                {
                    "object": "list",
                    "data": [{"id": "mock", "object": "model", "created": 1, "owned_by": "mock"}],
                }
                if models
                else {"error": {"message": "no such path"}},
            )
            await writer.drain()
            entry["done"] = time.monotonic()
            self.note(entry)
            return True
        body = json.loads(raw)
        scenario, index, names = read_request(kind, body)
        step = self.step(scenario, index)
        if self.side and not names:
            scenario, step = "side", {"text": "ok"}
        stream = "streamG" in path if kind == "gemini" else bool(body.get("stream"))
        entry.update(scenario=scenario, step=index, stream=stream, tools=len(names), model=body.get("model"))
        await asyncio.sleep(step.get("delay", 0))
        if step.get("status", 200) != 200:
            self.reply(
                writer,
                step["status"],
                {
                    "error": {
                        "message": f"mock error {step['status']}",
                        "type": "mock",
                        "code": step["status"],
                    }
                },
                step.get("headers", {}),
            )
            await writer.drain()
            entry.update(status=step["status"], done=time.monotonic())
            self.note(entry)
            return True
        text = step.get("text", "")
        if isinstance(text, dict):
            text = shaped(text["shape"], text["tokens"]) if "shape" in text else markdown(text["markdown"])
        text += step.get("end", "")
        calls = [c for c in step.get("tools", []) if c[0] in names]
        calls = [
            [f"call_{self.n}_{i}", n, (a if isinstance(a, str) else json.dumps(a)).replace("{i}", str(index))]
            for i, (n, a) in enumerate(calls[: None if step.get("all") else 1])
        ]
        self.n += 1
        parts = pieces(text)
        u = step.get("usage", {})
        usage = (u.get("in", len(raw) // 4), u.get("out", len(parts) + 20 * len(calls)), u.get("cached", 0))
        entry.update(out=usage[1], calls=[c[1] for c in calls])
        whole, first, delta, last = FORMATS[kind](parts, calls, usage, body.get("model", "mock"))
        if not stream:
            self.reply(writer, 200, whole)
        else:

            def send(data):
                writer.write(b"%x\r\n%b\r\n" % (len(data), data) if data else b"")

            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            send(first)
            entry["first"] = time.monotonic()
            rate, start = step.get("rate", 0), time.monotonic()
            if rate:
                for i, part in enumerate(parts[: step.get("cut")]):
                    wait = start + i / rate - time.monotonic()
                    if wait > 0:
                        await writer.drain()
                        await asyncio.sleep(wait)
                    send(delta(part))
            else:
                send(b"".join(delta(p) for p in parts[: step.get("cut")]))
            if "cut" in step:
                await writer.drain()
                writer.transport.abort()
            else:
                send(last)
                writer.write(b"0\r\n\r\n")
        await writer.drain()
        entry["done"] = time.monotonic()
        self.note(entry)
        return "cut" not in step

    def reply(self, writer, status, obj, headers=None):
        if headers is None:
            headers = {}
        data = json.dumps(obj).encode()
        extra = "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        writer.write(
            f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}content-length: {len(data)}\r\n\r\n".encode()
            + data
        )

    def note(self, entry):
        if self.log:
            print(json.dumps(entry), file=self.log, flush=True)


def sse(obj, event=None):
    return ((f"event: {event}\n" if event else "") + f"data: {json.dumps(obj)}\n\n").encode()


def chat(parts, calls, usage, model):
    use = {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "total_tokens": usage[0] + usage[1],
        "prompt_tokens_details": {"cached_tokens": usage[2]},
    }
    base = {"id": "chatcmpl-mock", "created": int(time.time()), "model": model}
    tool_calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    reason = "tool_calls" if calls else "stop"

    def chunk(delta, finish=None, **more):
        return sse(
            {
                **base,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
                **more,
            }
        )

    message = {
        "role": "assistant",
        "content": "".join(parts) or None,
        **({"tool_calls": tool_calls} if calls else {}),
    }
    whole = {
        **base,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": use,
    }
    last = b"".join(chunk({"tool_calls": [{"index": k, **c}]}) for k, c in enumerate(tool_calls)) + chunk(
        {}, reason
    )
    last += (
        sse({**base, "object": "chat.completion.chunk", "choices": [], "usage": use}) + b"data: [DONE]\n\n"
    )
    return whole, chunk({"role": "assistant", "content": ""}), lambda p: chunk({"content": p}), last


def responses(parts, calls, usage, model):
    use = {
        "input_tokens": usage[0],
        "input_tokens_details": {"cached_tokens": usage[2]},
        "output_tokens": usage[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage[0] + usage[1],
    }
    message = {
        "type": "message",
        "id": "msg_mock",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "".join(parts), "annotations": []}],
    }
    output = ([message] if parts else []) + [
        {
            "type": "function_call",
            "id": "fc_" + i,
            "call_id": i,
            "name": n,
            "arguments": a,
            "status": "completed",
        }
        for i, n, a in calls
    ]

    def ev(kind, **more):
        return sse({"type": kind, **more}, kind)

    whole = {
        "id": "resp_mock",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": "completed",
        "output": output,
        "usage": use,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    first = ev("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    if parts:
        first += ev(
            "response.output_item.added",
            output_index=0,
            item={**message, "status": "in_progress", "content": []},
        )
        first += ev(
            "response.content_part.added",
            item_id="msg_mock",
            output_index=0,
            content_index=0,
            part={"type": "output_text", "text": "", "annotations": []},
        )
    last = b""
    for k, item in enumerate(output):
        if item["type"] == "function_call":
            last += ev(
                "response.output_item.added",
                output_index=k,
                item={**item, "arguments": "", "status": "in_progress"},
            )
            last += ev(
                "response.function_call_arguments.delta",
                item_id=item["id"],
                output_index=k,
                delta=item["arguments"],
            )
            last += ev(
                "response.function_call_arguments.done",
                item_id=item["id"],
                output_index=k,
                arguments=item["arguments"],
            )
        last += ev("response.output_item.done", output_index=k, item=item)
    return (
        whole,
        first,
        lambda p: ev(
            "response.output_text.delta", item_id="msg_mock", output_index=0, content_index=0, delta=p
        ),
        last + ev("response.completed", response=whole),
    )


def anthropic(parts, calls, usage, model):
    def load(a):
        try:
            return json.loads(a)
        except ValueError:
            return {}

    content = ([{"type": "text", "text": "".join(parts)}] if parts else []) + [
        {"type": "tool_use", "id": i, "name": n, "input": load(a)} for i, n, a in calls
    ]
    use = {
        "input_tokens": usage[0],
        "output_tokens": usage[1],
        "cache_read_input_tokens": usage[2],
        "cache_creation_input_tokens": 0,
    }
    whole = {
        "id": "msg_mock",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": use,
    }

    def ev(kind, **more):
        return sse({"type": kind, **more}, kind)

    first = ev(
        "message_start",
        message={**whole, "content": [], "stop_reason": None, "usage": {**use, "output_tokens": 1}},
    )
    last = b""
    if parts:
        first += ev("content_block_start", index=0, content_block={"type": "text", "text": ""})
        last += ev("content_block_stop", index=0)
    for k, (i, n, a) in enumerate(calls, 1 if parts else 0):
        last += ev(
            "content_block_start",
            index=k,
            content_block={"type": "tool_use", "id": i, "name": n, "input": {}},
        )
        last += ev(
            "content_block_delta", index=k, delta={"type": "input_json_delta", "partial_json": a}
        ) + ev("content_block_stop", index=k)
    last += ev(
        "message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage=use
    ) + ev("message_stop")
    return (
        whole,
        first,
        lambda p: ev("content_block_delta", index=0, delta={"type": "text_delta", "text": p}),
        last,
    )


def gemini(parts, calls, usage, model):
    use = {
        "promptTokenCount": usage[0],
        "candidatesTokenCount": usage[1],
        "totalTokenCount": usage[0] + usage[1],
    }

    def cand(ps, **more):
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": ps}, **more}],
            "usageMetadata": use,
            "modelVersion": model,
        }

    tail = [{"functionCall": {"name": n, "args": json.loads(a)}} for i, n, a in calls]
    return (
        cand([{"text": "".join(parts)}] * bool(parts) + tail, finishReason="STOP"),
        b"",
        lambda p: sse(cand([{"text": p}])),
        sse(cand(tail or [{"text": ""}], finishReason="STOP")),
    )


FORMATS = {"chat": chat, "responses": responses, "anthropic": anthropic, "gemini": gemini}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--port", type=int, default=8399)
    ap.add_argument("--script")
    ap.add_argument("--log")
    ap.add_argument("--side-no-tools", action="store_true")
    args = ap.parse_args()
    script = SCENARIOS | (json.loads(Path(args.script).read_text()) if args.script else {})
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(Path(args.log).open("a")) if args.log else None
        asyncio.run(serve(Mock(script, log, args.side_no_tools), args.port))


async def serve(mock, port):
    """Serve until cancelled. Print the address as soon as connections are accepted (port 0: a free port)."""
    server = await asyncio.start_server(mock.serve, "127.0.0.1", port, limit=1 << 24)
    print(f"mock model on http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
