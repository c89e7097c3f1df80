"""CPU time for streaming a reply of about 20,000 deltas through a model client, without screen and engine.

    python benchmarks/model_stream.py [--client chat|responses|litellm-anthropic|litellm-openai] [--runs 5]

Starts mock_llm.py on a free port and requests its scenario `stream`. Prints chunks, CPU and wall seconds (medians, only
of the client's process, without imports) and microseconds per chunk. With `--json`, prints one JSON line.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.factory import ModelFactory
from tui_agent.ports.model import ModelRequest
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent

CLIENTS: Mapping[str, tuple[str, str]] = {
    "chat": ("openai-chat/mock", "/v1"),
    "responses": ("openai-responses/mock", "/v1"),
    "litellm-openai": ("litellm/openai/mock", "/v1"),
    "litellm-anthropic": ("litellm/anthropic/claude-sonnet-4-5", ""),
}


class RealClock:
    """The system's clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(port: int) -> subprocess.Popen[bytes]:
    """Start the mock server and wait until it accepts connections."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "mock_llm.py"), "--port", str(port)], stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    server.stdout.readline()
    return server


async def measure(name: str, base_url: str, runs: int) -> dict[str, float]:
    """Return medians over `runs` replies, after one short reply that loads modules and opens connections."""
    factory = ModelFactory({}, {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, RealClock())
    info = factory.resolve(name, base_url)
    client = factory.client(info)

    async def ask(text: str) -> tuple[int, int]:
        message = UserMessage(content=(TextContent(text=text),))
        assembler, count = Assembler(), 0
        async with client.stream(ModelRequest(RequestId("r"), info, "", (message,), (), 32_000)) as chunks:
            async for chunk in chunks:
                assembler.feed(chunk)
                count += 1
        fault = assembler.final_fault()
        if fault is not None:
            raise SystemExit(fault.message)
        return count, len(assembler.text)

    await ask("scenario-default")
    cpu: list[float] = []
    wall: list[float] = []
    count = size = 0
    for _ in range(runs):
        began, used = time.perf_counter(), time.process_time()
        count, size = await ask("scenario-stream")
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    await client.aclose()
    median = statistics.median(cpu)
    return {
        "chunks": count,
        "characters": size,
        "cpu_s": round(median, 3),
        "wall_s": round(statistics.median(wall), 3),
        "us_per_chunk": round(median / count * 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--client", choices=sorted(CLIENTS), action="append")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    os.environ.pop("HTTP_PROXY", None)
    port = free_port()
    server = start_server(port)
    try:
        for client in arguments.client or ("chat", "responses"):
            name, path = CLIENTS[client]
            found = asyncio.run(measure(name, f"http://127.0.0.1:{port}{path}", arguments.runs))
            if arguments.json:
                print(json.dumps({"client": client, **found}))
            else:
                print(f"{client:<18} " + "  ".join(f"{key} {value}" for key, value in found.items()))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
