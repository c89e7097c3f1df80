"""Hooks that reply as a test wants, and what came of them."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.engine.harness import Bench, call, say
from tui_agent.folds.projection import fold
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.policy import Decision
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.hook import HookEvent, HookRan
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import JsonMap

DENIED = Decision("deny", "test.deny", "the test denies it")
ONE_CALL = [call(("echo", '{"words":"a"}')), say("Done.")]

Answers = HookReply | Callable[[JsonMap], Awaitable[HookReply]]


class Asked:
    """A hook that gives one reply and keeps what it was asked."""

    def __init__(self, event: HookEvent, reply: Answers | None = None, *, words: str = "./check") -> None:
        self.asked: list[JsonMap] = []
        self._reply = reply if reply is not None else HookReply()
        self.hook = Hook(event, words, "user", self._ask)

    async def _ask(self, asked: JsonMap, time_limit_s: float) -> HookReply:
        self.asked.append(asked)
        return self._reply if isinstance(self._reply, HookReply) else await self._reply(asked)


def says(decision: Any = "", reason: str = "", **more: Any) -> HookReply:
    return HookReply(HookAnswer(decision, reason, **more))


def ran(bench: Bench) -> list[HookRan]:
    return bench.of(HookRan)


def told(bench: Bench, request: int = -1) -> str:
    """All that a person's messages of a request say."""
    messages = bench.model.requests[request].messages
    pieces = [piece for one in messages if isinstance(one, UserMessage) for piece in one.content]
    return "\n".join(str(piece.text) for piece in pieces if isinstance(piece, TextContent))


def notices(bench: Bench) -> list[str]:
    view = fold(Transcript(), bench.events)
    return [
        entry.lines[0] for entry in view.entries if isinstance(entry, NoticeEntry) and entry.kind == "hook"
    ]


async def a_turn(bench: Bench, text: str = "Go.") -> None:
    bench.submit(SubmitPrompt(text=text))
    await bench.until("turn.finished")
