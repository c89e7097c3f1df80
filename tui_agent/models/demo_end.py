"""How a built-in demo ends: after its last answer, after a refused call, and when it is asked something else.

Invariant: what is said depends on the conversation alone; once a demo has ended, every later answer says so. A result
that nobody refused and that the script did not expect is no end but a fault: the demo is broken then.
"""

from tui_agent.models.script_format import ScriptedAnswer
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import TextContent, TextPart

ENDS = "The demo ends here"
NEXT = (
    "Its model is a script that knows this one task. Next:\n\n"
    "- `/diff` shows what it changed, `/trace` what it did\n"
    "- `/quit` leaves; `tui-agent demo --list` names the other demos\n"
    "- `tui-agent` in a folder of yours begins with a real model\n"
)
_REFUSED = (
    "Not allowed: ",
    "The user did not allow this call",
    "This call was stopped",
    "The user stopped",
    "Not run: ",
)
"""How the results of calls begin that a person or a policy kept from running to their end."""
_DELEGATES = "spawn_subtask"
"""A subtask that did not end well was stopped, or refused what it needs."""


def ending(answers: int, index: int, messages: tuple[Message, ...], *, wrong: bool) -> ScriptedAnswer | None:
    """What a demo says in place of its next answer, None where it goes on.

    `answers` is how many its script has, `index` the next one's; `wrong`: it expected something else.
    """
    if _ended(messages):
        return _say("")
    if _refused(messages):
        return _say(": a call was refused or stopped, and its script cannot go on without it")
    if index >= answers:
        return _say("")
    if wrong and not isinstance(messages[-1] if messages else None, ToolMessage):
        return _say(": this is not the task that its script knows")
    return None


def _say(why: str) -> ScriptedAnswer:
    return ScriptedAnswer(text=f"**{ENDS}{why}.** {NEXT}")


def _ended(messages: tuple[Message, ...]) -> bool:
    return any(
        isinstance(part, TextPart) and text_preview(part.text).startswith(f"**{ENDS}")
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
    )


def _refused(messages: tuple[Message, ...]) -> bool:
    return any(
        message.name == _DELEGATES
        or any(
            isinstance(item, TextContent) and text_preview(item.text).startswith(_REFUSED)
            for item in message.content
        )
        for message in messages
        if isinstance(message, ToolMessage) and not message.ok
    )
