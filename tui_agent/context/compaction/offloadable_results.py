"""Selection of the tool results that can be offloaded: which old results of tools may be left out of requests.

Offloaded results stay in the log. `engine/compaction/offload.py` replaces them.

Invariant: the newest results and the results of `PROTECTED_TOOLS` are never offloaded.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from tui_agent.context.compaction.summarised_messages import chars_of
from tui_agent.folds.context.compacted_history import calls_by_id, successful_calls
from tui_agent.protocol.artifacts import ARTIFACT_PREFIX
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage
from tui_agent.protocol.parts import ToolCallPart

PROTECTED_TOOLS: Final[frozenset[str]] = frozenset(("write_todos", "present_plan", "ask_user"))
"""Tools whose results are never offloaded: todo lists, plans and answers of the user."""
TESTS: Final = "run_tests"
READS: Final = "read_file"
NEWEST_ANSWERS: Final = 2
MAX_OPEN_FILES: Final = 5
"""Number of most recently used files whose contents are offloaded last."""
MIN_OUTPUT_CHARS: Final = 1_200
"""A tool's output with fewer characters than this is not offloaded."""


def offloadable_results(
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
