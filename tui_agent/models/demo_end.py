"""The end of a built-in demo.

A demo ends after its last scripted answer, after a refused call, or at a task that is not in its script.

Invariant: the ending depends only on the conversation, and every later answer says that the demo has ended.
"""

from tui_agent.models.script_format import ScriptedAnswer
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import TextContent, TextPart

END_TEXT = "The demo ends here"
NEXT_STEPS = (
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
    return ScriptedAnswer(text=f"**{END_TEXT}{reason}.** {NEXT_STEPS}")


def _has_ended(messages: tuple[Message, ...]) -> bool:
    return any(
        isinstance(part, TextPart) and text_preview(part.text).startswith(f"**{END_TEXT}")
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
