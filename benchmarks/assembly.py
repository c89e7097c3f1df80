"""Cost of assembling a request: `python -m benchmarks.assembly` prints JSON with milliseconds of CPU time.

The history has about 100,000 tokens. The first request counts all of them, later requests only the new messages. A
second run has a smaller window, so that old results must be shortened. `taken_up_ms` is the first request of a resumed
session, whose history was counted in a thread while the user typed.
"""

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tui_agent.context.request_assembly import Assembly, RequestInput
from tui_agent.context.token_counter import Tokens, load_bundled_vocabulary
from tui_agent.ports.middleware import Fragment
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo

TOKENS = 100_000
REQUESTS = 40
PAIR = 560
"""Tokens of an answer with its result."""
FRAGMENTS = (Fragment(id="identity", text="You are careful. " * 200),)


def history() -> Iterator[Message]:
    """Yield a user message, then calls with results of 2,000 characters, endlessly."""
    source = Path(__file__).read_text(encoding="utf-8")
    yield UserMessage(content=(TextContent(text="Look at everything."),), seq=0)
    number = 0
    while True:
        number += 1
        call = ToolCallPart(call_id=CallId(str(number)), name="read_file", arguments={"path": f"{number}.py"})
        yield AssistantMessage(parts=(TextPart(text="I look at the next one."), call), model="m", seq=number)
        result = TextContent(text=f"{number}\n{source[:2_000]}")
        yield ToolMessage(call_id=call.call_id, name=call.name, content=(result,), seq=number)


def measure(window: int) -> dict[str, float]:
    """Return the time of the first request, and the median and maximum of the later requests."""
    tokens = Tokens(load_bundled_vocabulary)
    tokens.load()
    assembly, said, spent = Assembly(tokens), history(), []
    messages = [next(said)]
    model = ModelInfo(profile="m", provider="scripted", model="m", window=window)
    while len(messages) < 2 * TOKENS // PAIR:
        messages += [next(said), next(said)]
    taken_up = _taken_up(tokens, model, messages)
    for _ in range(REQUESTS):
        wanted = RequestInput(RequestId("r"), model, FRAGMENTS, tuple(messages), (), 8_000)
        began = time.process_time()
        packed = assembly.pack(wanted)
        spent.append((time.process_time() - began) * 1000)
        messages += [next(said), next(said)]
    return {
        "tokens": packed.manifest.total_tokens,
        "first_ms": round(spent[0], 1),
        "taken_up_ms": round(taken_up, 1),
        "next_median_ms": round(statistics.median(spent[1:]), 2),
        "next_most_ms": round(max(spent[1:]), 2),
    }


def _taken_up(tokens: Tokens, model: ModelInfo, messages: list[Message]) -> float:
    """Return the milliseconds of the first request after the history was counted in advance."""
    assembly = Assembly(tokens)
    wanted = RequestInput(RequestId("r"), model, FRAGMENTS, tuple(messages), (), 8_000)
    assembly.prepare(wanted)
    new = UserMessage(content=(TextContent(text="Go on."),), seq=0)
    began = time.process_time()
    assembly.pack(replace(wanted, messages=(*messages, new)))
    return (time.process_time() - began) * 1000


def main() -> None:
    """Print the figures."""
    print(json.dumps({"fits": measure(200_000), "does_not_fit": measure(90_000)}))


if __name__ == "__main__":
    main()
