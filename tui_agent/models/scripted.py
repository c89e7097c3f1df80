"""Model that answers from a script, for demos, tests and evaluations without account or network.

Invariant: the number of answers in the conversation selects the next answer, so that a session can be resumed. After a
demo has ended, every answer says so.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeGuard

from anyio.lowlevel import checkpoint

from tui_agent.models import pricing
from tui_agent.models.provider_faults import fault
from tui_agent.models.script_format import (
    Expect,
    ExpectResult,
    Script,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedFault,
    Words,
    repeat_answers,
)
from tui_agent.ports.clock import Clock
from tui_agent.ports.model import (
    FinishChunk,
    ModelChunk,
    ModelFault,
    ModelRequest,
    ReasoningChunk,
    TextChunk,
    ToolCallChunk,
    UsageChunk,
)
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, TextContent, TextPart, Usage, text_previews
from tui_agent.protocol.stored_text import text_preview

PIECE = 48
"""Maximum characters in one chunk of a scripted answer."""

FRAME = 0.03
"""Approximate time between two chunks of a paced answer, in seconds."""
DEMO_END_TEXT = "The demo ends here"
DEMO_END_HINTS = (
    "The demo's model is a script that knows only this task. Next:\n\n"
    "- `/diff` shows its changes, `/trace` its calls\n"
    "- `/quit` quits; `tui-agent demo --list` lists the other demos\n"
    "- `tui-agent` in your own folder starts with a real model\n"
)
_REFUSAL_STARTS = (
    "Not allowed: ",
    "The user did not allow this call",
    "This call was stopped",
    "The user stopped",
    "Not run: ",
)
"""Beginnings of results that show that a person or a policy stopped the call."""
_DELEGATE_TOOL = "spawn_subtask"
"""Name of the tool that starts a subtask."""


@dataclass(slots=True)
class _Place:
    """A conversation's position in its script: newest request, index of its answer, and number of attempts."""

    request_id: str = ""
    index: int = -1
    attempts: int = 0


@dataclass(slots=True)
class ScriptedClient:
    """Model client that answers requests from a script.

    `name`: name of the script in messages.

    If a request does not fit the script, a demo answers that the demo has ended. With any other script, the request
    fails.
    """

    script: Script
    name: str
    clock: Clock
    demo: bool = False
    _places: dict[str, _Place] = field(default_factory=dict)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Return one answer; see `ports.model.ModelClient`."""
        return aclosing(self._chunks(request))

    async def aclose(self) -> None:
        """Do nothing: no resources are open."""

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        await checkpoint()  # even without pacing, an answer must let other tasks run
        key, answers = self._conversation(request)
        place = self._find_place(key, request)
        if self.demo and not key:
            wrong = place.index < len(answers) and bool(mismatch(answers[place.index].expect, request))
            last = demo_ending(len(answers), place.index, request.messages, wrong=wrong)
            if last is not None:
                async for chunk in self._play(last, request, place.index, None):
                    yield chunk
                return
        if place.index >= len(answers):
            yield fault(
                "script",
                f"The script {self.name} has only {len(answers)} answers{f' for {key}' if key else ''}, but another"
                f" was requested. {_describe_input(request)}",
            )
            return
        answer = answers[place.index]
        problem = mismatch(answer.expect, request)
        if problem:
            position = f"answer {place.index + 1} of {len(answers)}{f' for {key}' if key else ''}"
            yield fault("script", f"The script {self.name}, {position}: {problem} {_describe_input(request)}")
            return
        failure = answer.faults[place.attempts - 1] if place.attempts <= len(answer.faults) else None
        async for chunk in self._play(answer, request, place.index, failure):
            yield chunk

    async def _play(
        self, answer: ScriptedAnswer, request: ModelRequest, index: int, failure: ScriptedFault | None
    ) -> AsyncGenerator[ModelChunk, None]:
        pace = self.script.pace if answer.pace is None else answer.pace
        if answer.delay:
            await self.clock.sleep(answer.delay)
        remaining = failure.after if failure is not None else None
        due = 0.0
        for chunk in _split_answer(answer, index, _chunk_size(pace)):
            size = _size(chunk)
            if remaining is not None and size > remaining:
                if isinstance(chunk, TextChunk):
                    yield TextChunk(chunk.text[:remaining])
                break
            remaining = remaining - size if remaining is not None else None
            due += size / pace if pace else 0.0
            if due >= FRAME:
                await self.clock.sleep(due)
                due = 0.0
            yield chunk
        if failure is not None:
            if failure.kind != "cut":
                yield _build_fault(failure)
            return
        # Only a complete answer has a usage and an end: the engine takes anything else for a cut stream.
        usage = _build_usage(answer, request)
        yield UsageChunk(usage, pricing.cost(request.model, usage))
        yield FinishChunk(
            answer.finish or ("tool_calls" if answer.calls else "stop"), f"scripted-{index + 1}"
        )

    def _conversation(self, request: ModelRequest) -> tuple[str, list[ScriptedAnswer]]:
        first = _first_words(request)
        for number, conversation in enumerate(self.script.conversations, 1):
            match = conversation.match
            if _contains_all(match.first_user, first) and _contains_all(match.system, request.system):
                return f"conversation {number}", repeat_answers(conversation.answers)
        return "", repeat_answers(self.script.answers)

    def _find_place(self, key: str, request: ModelRequest) -> _Place:
        """Return a conversation's position in its script, and count this attempt."""
        # Two delegates of the same kind have separate conversations, distinguished by their first words. A request
        # without tools, such as a summary, does not advance a conversation with tools.
        words = _first_words(request)[:200] if key else ""
        place = self._places.setdefault(f"{key}|{bool(request.tools)}|{words}", _Place())
        if place.request_id != request.request_id:
            place.request_id, place.index, place.attempts = request.request_id, request.answer_index, 0
        place.attempts += 1
        return place


def mismatch(expect: Expect | None, request: ModelRequest) -> str:
    """Describe the first unmet expectation about the request, or return an empty string."""
    if expect is None:
        return ""
    last = _last_user(request.messages)
    if not _contains_all(expect.last_user, last):
        return f"it expected a last user message with {_quote(expect.last_user)}."
    if not _contains_all(expect.system, request.system):
        return f"it expected a system prompt with {_quote(expect.system)}."
    offered = {tool.name for tool in request.tools}
    absent = [name for name in expect.tools if name not in offered]
    if absent:
        return f"it expected the tools {', '.join(absent)} to be offered."
    results = _last_results(request.messages)
    if expect.tool_results is not None and expect.tool_results != len(results):
        return f"it expected {expect.tool_results} tool results."
    return _result_mismatch(expect.tool_result, results)


def _result_mismatch(expect: ExpectResult | None, results: list[ToolMessage]) -> str:
    if expect is None:
        return ""
    for result in results:
        fits = expect.name in ("", result.name) and expect.ok in (None, result.ok)
        if fits and _contains_all(expect.contains, _text(result.content)):
            return ""
    expected = [f"of {expect.name}"] if expect.name else []
    if expect.ok is not None:
        expected.append("that succeeded" if expect.ok else "that failed")
    if expect.contains:
        expected.append(f"with {_quote(expect.contains)}")
    return f"it expected a tool result {' '.join(expected)}."


def _chunk_size(pace: float) -> int:
    return max(1, min(PIECE, round(pace * FRAME))) if pace else PIECE


def _split_answer(answer: ScriptedAnswer, index: int, size: int) -> list[ModelChunk]:
    out: list[ModelChunk] = [ReasoningChunk(piece) for piece in _split_text(answer.reasoning, size)]
    out += [TextChunk(piece) for piece in _split_text(answer.text, size)]
    for number, call in enumerate(answer.calls):
        out += _split_call(call, index, number, size)
    return out


def _split_text(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _split_call(call: ScriptedCall, index: int, number: int, size: int) -> list[ModelChunk]:
    raw = call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)
    call_id = call.id or f"call_s{index + 1}_{number + 1}"
    rest = (ToolCallChunk(number, None, None, piece) for piece in _split_text(raw, size))
    return [ToolCallChunk(number, call_id, call.name, ""), *rest]


def _size(chunk: ModelChunk) -> int:
    match chunk:
        case TextChunk(text) | ReasoningChunk(text):
            return len(text)
        case ToolCallChunk():
            return len(chunk.arguments)
        case _:
            return 0


def _build_fault(failure: ScriptedFault) -> ModelFault:
    plain = fault(failure.kind, failure.message, retry_after=failure.retry_after, original=failure.message)
    return replace(plain, status=failure.status)


def _build_usage(answer: ScriptedAnswer, request: ModelRequest) -> Usage:
    """Return the token counts from the script, or an estimate of one token per four characters."""
    if answer.usage is not None:
        counts = answer.usage
        return Usage(
            input_tokens=counts.input,
            output_tokens=counts.output,
            cached_tokens=counts.cached,
            reasoning_tokens=counts.reasoning,
        )
    input_chars = len(request.system) + sum(_length(message) for message in request.messages)
    input_chars += sum(
        len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools
    )
    output_chars = len(answer.reasoning) + len(answer.text)
    output_chars += sum(len(str(call.arguments)) for call in answer.calls)
    return Usage(input_tokens=input_chars // 4, output_tokens=max(1, output_chars // 4), estimated=True)


def _length(message: Message) -> int:
    match message:
        case UserMessage() | ToolMessage():
            return len(_text(message.content))
        case SummaryMessage(text=text):
            return len(text_preview(text))
        case AssistantMessage():
            return sum(
                len(str(getattr(part, "text", getattr(part, "arguments", "")))) for part in message.parts
            )


def _first_words(request: ModelRequest) -> str:
    if request.starts_with_summary:
        return request.opening_text
    return next((_text(message.content) for message in request.messages if _is_user_text(message)), "")


def _last_user(messages: tuple[Message, ...]) -> str:
    return next((_text(message.content) for message in reversed(messages) if _is_user_text(message)), "")


def _is_user_text(message: Message) -> TypeGuard[UserMessage]:
    """Return True for the user's own words, and False for text that the program added."""
    return isinstance(message, UserMessage) and message.origin == "prompt"


def _last_results(messages: tuple[Message, ...]) -> list[ToolMessage]:
    newest = takewhile(lambda message: not isinstance(message, AssistantMessage), reversed(messages))
    return [message for message in newest if isinstance(message, ToolMessage)][::-1]


def _text(content: tuple[Content, ...]) -> str:
    return "\n".join(text_previews(content))


def _as_tuple(words: Words) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def _contains_all(words: Words, text: str) -> bool:
    folded = text.lower()
    return all(word.lower() in folded for word in _as_tuple(words))


def _quote(words: Words) -> str:
    return " and ".join(repr(word) for word in _as_tuple(words))


def _describe_input(request: ModelRequest) -> str:
    results = _last_results(request.messages)
    if results:
        shown = "; ".join(
            f"{result.name} ({'ok' if result.ok else 'failed'}) {_text(result.content)[:300]!r}"
            for result in results
        )
        return f"It got: {shown}."
    return f"It got the user message {_last_user(request.messages)[:300]!r}."


def demo_ending(
    answers: int, index: int, messages: tuple[Message, ...], *, wrong: bool
) -> ScriptedAnswer | None:
    """Return the answer that ends the demo, or None if the script continues.

    - `answers`: number of scripted answers.
    - `index`: index of the next answer.
    - `wrong`: True if the request differs from the script.
    """
    if _has_ended(messages):
        return _end_answer("")
    if wrong and _was_refused(messages):
        return _end_answer(". Its script cannot continue, because a call was refused or stopped")
    if index >= answers:
        return _end_answer("")
    if wrong and not isinstance(messages[-1] if messages else None, ToolMessage):
        return _end_answer(". Its script has no answer to your message")
    return None


def _end_answer(reason: str) -> ScriptedAnswer:
    return ScriptedAnswer(text=f"**{DEMO_END_TEXT}{reason}.** {DEMO_END_HINTS}")


def _has_ended(messages: tuple[Message, ...]) -> bool:
    return any(
        isinstance(part, TextPart) and text_preview(part.text).startswith(f"**{DEMO_END_TEXT}")
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
    )


def _was_refused(messages: tuple[Message, ...]) -> bool:
    return any(
        message.name == _DELEGATE_TOOL
        or any(
            isinstance(item, TextContent) and text_preview(item.text).startswith(_REFUSAL_STARTS)
            for item in message.content
        )
        for message in messages
        if isinstance(message, ToolMessage) and not message.ok
    )
