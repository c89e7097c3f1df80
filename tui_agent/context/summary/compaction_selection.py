"""Selection of messages for a summary, and of tool outputs for offloading.

Offloaded outputs are left out of requests, but stay in the log.

Invariant: the newest outputs are never offloaded, and the messages after a summary form a valid history.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.compacted_history import calls_by_id, successful_calls
from tui_agent.protocol.artifacts import ARTIFACT_PREFIX
from tui_agent.protocol.base import CallId, text_size
from tui_agent.protocol.messages import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, ImageContent, ToolCallPart

IMAGE_CHARS: Final = 4_800
PROTECTED_TOOLS: Final[frozenset[str]] = frozenset(("write_todos", "present_plan", "ask_user"))
"""Tools whose results are never offloaded: todo lists, plans and answers of the user."""
TESTS: Final = "run_tests"
READS: Final = "read_file"
NEWEST_ANSWERS: Final = 2
MAX_OPEN_FILES: Final = 5
"""Number of most recently used files whose contents are offloaded last."""
MIN_OUTPUT_CHARS: Final = 1_200
"""A tool's output with fewer characters than this is not offloaded."""


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Limits of compaction, as fractions of the model's window.

    `reduce_at`: fraction at which old outputs are offloaded.
    `reduce_to`: fraction at which offloading stops.
    `compact_at`: fraction at which old turns are summarised (0: never automatically).
    `keep`: size of the newest messages that stay unchanged.
    """

    reduce_at: float = 0.70
    reduce_to: float = 0.50
    compact_at: float = 0.85
    keep: float = 0.20
    prompt: str = ""
    """The prompt that asks a model to write a summary."""


def chars_of(message: Message) -> int:
    """Return the number of characters of a message as sent to the model. An image counts as `IMAGE_CHARS`."""
    match message:
        case UserMessage(content=content) | ToolMessage(content=content):
            return sum(map(_content_chars, content))
        case SummaryMessage(text=text):
            return text_size(text)
        case AssistantMessage(parts=parts):
            return sum(
                len(part.name) + len(str(part.arguments))
                if isinstance(part, ToolCallPart)
                else text_size(part.text)
                for part in parts
            )


def _content_chars(piece: Content) -> int:
    return IMAGE_CHARS if isinstance(piece, ImageContent) else text_size(piece.text)


def summary_cut(history: Sequence[Message], keep_chars: int, first: int = 0) -> int:
    """Return how many messages at the start of `history` a summary can replace.

    `keep_chars`: approximate number of characters in the messages that stay.
    `first`: number of messages at the start that belong to an older summary. The new summary always replaces these
    messages.
    """
    # Messages that stay must have a higher `seq` than replaced ones: the log records only the last replaced `seq`.
    starts = [
        index for index in range(first + 1, len(history)) if not isinstance(history[index], ToolMessage)
    ]
    candidates, remaining = list[int](), keep_chars
    tail = len(history)
    for start in reversed(starts):
        remaining -= sum(map(chars_of, history[start:tail]))
        tail = start
        if candidates and remaining < 0:
            break
        candidates.append(start)
    earlier = [start for start in reversed(starts) if start < min(candidates, default=0)]
    in_order = (*sorted(candidates), *earlier)
    return next((start for start in in_order if _is_separable(history, first, start)), 0)


def _is_separable(history: Sequence[Message], first: int, start: int) -> bool:
    newest_before = max(message.seq for message in history[first:start])
    return newest_before < min(message.seq for message in history[start:])


def reducible_results(
    history: Sequence[Message], keep_chars: int, spared: Collection[CallId] = ()
) -> list[ToolMessage]:
    """Return the tool results that can be offloaded, oldest first.

    `spared`: calls whose results must stay.
    `keep_chars`: number of characters at the end of the history that must stay.
    """
    end, remaining, answers = len(history), keep_chars, 0
    while end > 0 and (remaining > 0 or answers < NEWEST_ANSWERS):
        end -= 1
        remaining -= chars_of(history[end])
        answers += isinstance(history[end], AssistantMessage)
    return [
        message
        for message in history[:end]
        if isinstance(message, ToolMessage)
        and message.name not in PROTECTED_TOOLS
        and message.call_id not in spared
        and chars_of(message) >= MIN_OUTPUT_CHARS
    ]


def needed_calls(history: Sequence[Message], pinned: Collection[int] = ()) -> set[CallId]:
    """Return the calls whose results must stay: pinned calls, and the newest test run if it failed."""
    calls = calls_by_id(history)
    results = {message.call_id: message for message in history if isinstance(message, ToolMessage)}
    needed = {call for call, message in results.items() if message.seq in pinned}
    tests = [call for call, part in calls.items() if part.name == TESTS and call in results]
    if tests and not results[tests[-1]].ok:
        needed.add(tests[-1])
    return needed


def newest_readings(history: Sequence[Message]) -> set[CallId]:
    """Return the ids of the calls that show the `MAX_OPEN_FILES` most recently used files."""
    successful = successful_calls(history)
    used: dict[str, CallId] = {}
    for call, part in calls_by_id(history).items():
        path = path_of(part)
        if path and call in successful:
            previous = used.pop(path, None)
            used[path] = call if part.name == READS or previous is None else previous
    return set(list(used.values())[-MAX_OPEN_FILES:])


def path_of(call: ToolCallPart | None) -> str:
    """Return the path argument of a call; empty if the path is an artifact."""
    arguments: Mapping[str, object] = call.arguments if call is not None else {}
    path = arguments.get("path")
    return path if isinstance(path, str) and not path.startswith(ARTIFACT_PREFIX) else ""
