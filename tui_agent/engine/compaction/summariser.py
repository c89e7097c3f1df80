"""Requests for a summary of old messages, written by the model.

Invariant: in each turn, the model is not asked again after `MAX_FAILURES` failures.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from anyio import to_thread

from tui_agent.context.budgets import Room
from tui_agent.context.compaction.summary_text import transcript_within
from tui_agent.engine.components import EngineParts
from tui_agent.engine.interruption_cleanup import close_unused_calls
from tui_agent.errors import ConfigError, ContextOverflow, ModelError
from tui_agent.ports.agent import AskModel, ModelQuery
from tui_agent.ports.model import ModelReply
from tui_agent.protocol.ids import COMPACTION_AGENT, RequestId
from tui_agent.protocol.messages import Message, UserMessage
from tui_agent.protocol.parts import TextContent, text_previews, tool_calls
from tui_agent.protocol.stored_text import LongText

MAX_FAILURES: Final = 2
MAX_SUMMARY_FRACTION: Final = 0.20
"""Maximum size of a summary written by the model, as a fraction of the window."""
MAX_SUMMARY_TOKENS: Final = 4_096
"""Maximum tokens of a summary that the model writes."""
FRAME_TOKENS: Final = 60
"""Estimated size of a summary request without its prompt and messages, in tokens."""
SUMMARY_REQUEST_FRACTION: Final = 0.9
"""Fraction of the window that a summary request and its answer use."""


class Summariser:
    """Asks the model for summaries.

    - `resolve_text`: function that returns the full text of a stored text.
    - `report_failures`: called when the model has failed `MAX_FAILURES` times in a turn.
    """

    def __init__(
        self,
        parts: EngineParts,
        ask_model: AskModel,
        resolve_text: Callable[[LongText], str],
        report_failures: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._ask_model = ask_model
        self._resolve_text = resolve_text
        self._report_failures = report_failures
        self._failures = 0

    def begin_turn(self) -> None:
        """Forget the failures of the last turn."""
        self._failures = 0

    async def ask(
        self, messages: Sequence[Message], focus: str, window: int, per_char: float, model: str
    ) -> tuple[str, RequestId | None, str]:
        """Ask the model to summarise these messages. Return (summary, id of the request, fault).

        - `focus`: what the user wants the summary to focus on; can be empty.
        - `window`: the model's window in tokens.
        - `per_char`: tokens per character.

        The summary is empty if the request failed. The fault then says why, and is empty otherwise.
        """
        prompt, tokens = self._parts.compaction_limits.prompt, self._parts.tokens
        if self._failures >= MAX_FAILURES:
            return "", None, "it failed twice in this turn"
        answer = min(MAX_SUMMARY_TOKENS, max(256, window // 8))
        max_chars = max(
            500, round((window * SUMMARY_REQUEST_FRACTION - answer) / per_char) - len(prompt + focus) - 400
        )

        def count_tokens(text: str) -> int:
            return tokens.to_model_tokens(tokens.count(text), model)

        available = Room.for_window(window, answer).tokens or max_chars
        max_tokens = available - count_tokens(prompt + focus) - FRAME_TOKENS
        render = partial(transcript_within, messages, max_chars, self._resolve_text, count_tokens, max_tokens)
        transcript = await to_thread.run_sync(render)
        emphasis = f"\n\nThe user wants the summary to focus on this:\n{focus}" if focus else ""
        text = f"Summarise this part of the session:\n\n<session>\n{transcript}\n</session>{emphasis}"
        message = UserMessage(content=(TextContent(text=text),))
        try:
            reply = await self._ask_model(
                ModelQuery(messages=(message,), system=prompt, tools=(), max_tokens=answer)
            )
        except (ModelError, ContextOverflow, ConfigError) as error:
            return self._record_failure(error.message)
        close_unused_calls(self._parts.recorder, COMPACTION_AGENT)
        story, fault = check_summary(reply, round(MAX_SUMMARY_FRACTION * window / per_char))
        if fault:
            return self._record_failure(fault)
        self._failures = 0
        return story, reply.request_id, ""

    def _record_failure(self, fault: str) -> tuple[str, None, str]:
        self._failures += 1
        if self._failures == MAX_FAILURES:
            self._report_failures()
        return "", None, fault.rstrip(".")


def check_summary(reply: ModelReply, max_chars: int) -> tuple[str, str]:
    """Return (summary, "") for a usable summary of at most `max_chars` characters, otherwise ("", fault)."""
    summary = "\n".join(text_previews(reply.parts)).strip()
    if reply.finish == "refusal":
        return "", "it refused"
    if tool_calls(reply.parts) or not summary:
        return "", "it gave no summary"
    if reply.finish == "length" or len(summary) > max_chars:
        return "", "its summary was too long"
    return summary, ""
