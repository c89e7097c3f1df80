"""A model that answers each conversation from its own list, and delegation with the product's own tools."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.engine.harness import Bench, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, DelegationRules, Role
from tui_agent.ports.model import ModelChunk, ModelRequest
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.messages import AssistantMessage, UserMessage
from tui_agent.protocol.parts import TextContent

LOOKS = ("read_file", "grep", "repo_map", "search_notes")
ROLES = {
    SUBTASK: Role(SUBTASK, "You work on one task."),
    INVESTIGATOR: Role(INVESTIGATOR, "You only look.", tools=LOOKS, max_iterations=5, read_only=True),
    "verify": Role("verify", "You check.", "checks", tools=("read_file",), max_iterations=3),
}


def rules(**changed: Any) -> DelegationRules:
    """Delegation as the product sets it up, with these limits."""
    return DelegationRules(roles=ROLES, offered_roles=("verify",), **changed)


def tools() -> list[object]:
    """The file, search and delegation tools."""
    return [one for plugin in ("files", "search", "subagent") for one in tools_of(plugin).values()]


def spawn(prompt: str, **more: Any) -> list[ModelChunk]:
    """An answer that begins a subtask."""
    return call(("spawn_subtask", json.dumps({"prompt": prompt, **more})))


def use(name: str, **arguments: Any) -> list[ModelChunk]:
    """An answer that calls a tool."""
    return call((name, json.dumps(arguments)))


class Talks:
    """Answers by conversation: the words that the first message begins with, then how many answers it holds.

    An answer may be a callable, awaited while the stream is open; behind the last one it says that it has no more.
    """

    def __init__(self, **talks: Sequence[object]) -> None:
        self.talks = talks
        self.requests: list[ModelRequest] = []

    def of(self, key: str) -> list[ModelRequest]:
        """The requests of one conversation."""
        return [one for one in self.requests if first_words(one).startswith(key)]

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        self.requests.append(request)
        key = next((key for key in self.talks if first_words(request).startswith(key)), "")
        at = sum(isinstance(message, AssistantMessage) for message in request.messages)
        answers = self.talks.get(key, ())
        yield self._chunks(answers[at] if at < len(answers) else say("No more."))

    async def _chunks(self, answer: object) -> AsyncIterator[ModelChunk]:
        assert isinstance(answer, list)
        for chunk in answer:
            if isinstance(chunk, Callable):  # type: ignore[arg-type]
                await chunk()
            else:
                yield chunk

    async def aclose(self) -> None:
        return


def first_words(request: ModelRequest) -> str:
    """The text of a conversation's first message of a user."""
    for message in request.messages:
        if isinstance(message, UserMessage):
            return "".join(str(one.text) for one in message.content if isinstance(one, TextContent))
    return ""


def judged(tool: str, effects: Any, facts: Any) -> Any:
    """As the product's own rules do."""
    return RulePolicy().decide(tool, effects, facts)


@asynccontextmanager
async def talking(
    tmp_path: Path, talks: Talks, delegation: DelegationRules | None = None, **more: Any
) -> AsyncIterator[Bench]:
    """An engine whose models answer by `talks`; what it is made with can be changed."""
    async with running(
        tmp_path,
        [],
        [*tools(), *more.pop("more_tools", ())],
        policy=more.pop("policy", judged),
        policy_name=more.pop("policy_name", "accept-edits"),
        delegation=delegation or rules(),
        **more,
    ) as bench:
        bench.use(talks)
        yield bench


async def turn(bench: Bench, text: str = "Main: go") -> TurnFinished:
    """Send it, and wait for the end of the turn."""
    bench.submit(SubmitPrompt(text=text))
    return await bench.until_payload(TurnFinished)


def results(bench: Bench, name: str = "spawn_subtask") -> list[ToolFinished]:
    """What the calls of this tool ended with, in the order of the calls."""
    return [one for one in bench.results() if one.name == name]


def told(result: ToolFinished) -> dict[str, Any]:
    """The report of a delegate, as its reader has it."""
    piece = result.content[0]
    assert isinstance(piece, TextContent) and isinstance(piece.text, str)
    found = json.loads(piece.text)
    assert isinstance(found, dict)
    return found
