"""L3: the working memory of a task: what tool results say of it, in named blocks of bounded size.

Invariant: pure and deterministic: the same memory, call and result give the same blocks.
"""

import re
from typing import Final

from pydantic import JsonValue

from tui_agent.context.failing import still_failing
from tui_agent.folds.memory_words import told
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.parts import TextContent, ToolCallPart

MOST: Final = {"patch_summary": 200, "verified_facts": 12}
MOST_OPEN = 8
MOST_SHOWN = 30
"""Lines of a block that the model is shown."""
MOST_FAILING = 200
_LINE = 200
_DEFINES = re.compile(
    r"^\s*(?:\d+[\t|:]\s*)?(?:export\s+|public\s+|private\s+|pub\s+|async\s+|static\s+|abstract\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,60})",
    re.MULTILINE,
)
_FROM_A_FILE = 6
"""Symbols that are kept of one file."""


def begun(memory: JsonMap, asked: str) -> JsonMap:
    """The blocks that a turn's beginning changes: the goal is what was asked first."""
    known = memory.get("task")
    goal = known.get("goal") if isinstance(known, dict) else None
    task: JsonValue = {"goal": goal, "now": _line(asked)} if goal else {"goal": _line(asked)}
    return {} if memory.get("task") == task else {"task": task}


def explored(memory: JsonMap, result: ToolResult) -> dict[str, tuple[str, ...]]:
    """What a call's result adds to lists, without what stands at their end: the file that was read, and what it
    defines."""
    path = result.data.get("path")
    read = any(isinstance(event, FileRead) for event in result.events)
    if not isinstance(path, str) or not result.ok or not read:
        return {}
    found = _DEFINES.findall(_shown(result))[:_FROM_A_FILE]
    symbols = tuple(f"{name} ({path})" for name in dict.fromkeys(found))
    more = {"explored_files": (path,), "relevant_symbols": symbols}
    return {
        block: items for block, items in more.items() if items != (*_texts(memory, block),)[-len(items) :]
    }


def learnt(memory: JsonMap, call: ToolCallPart, result: ToolResult) -> JsonMap:
    """The blocks that a call's result changes, with their new values."""
    new: JsonMap = {}
    _changes(new, memory, result)
    for event in result.events:
        if isinstance(event, TestFinished):
            _tests(new, memory, event)
    if call.name == "run_command":
        _command(new, memory, call, result)
    return {name: value for name, value in new.items() if memory.get(name) != value}


def _changes(new: JsonMap, memory: JsonMap, result: ToolResult) -> None:
    path = result.data.get("path")
    if not isinstance(path, str) or not result.ok:
        return
    added, removed = result.data.get("added"), result.data.get("removed")
    if isinstance(added, int) and isinstance(removed, int):
        held = memory.get("patch_summary")
        changes = dict(held) if isinstance(held, dict) else {}
        before = changes.pop(path, None)
        counts = before if isinstance(before, list) and len(before) == 2 else [0, 0]
        changes[path] = [_number(counts[0]) + added, _number(counts[1]) + removed]
        new["patch_summary"] = dict(list(changes.items())[-MOST["patch_summary"] :])


def failing(memory: JsonMap) -> tuple[str, ...]:
    """The tests that are known to fail."""
    return tuple(_texts(memory, "failing_tests"))


def changed(memory: JsonMap) -> tuple[str, ...]:
    """The files that were changed, the newest last."""
    held = memory.get("patch_summary")
    return tuple(held) if isinstance(held, dict) else ()


def _tests(new: JsonMap, memory: JsonMap, run: TestFinished) -> None:
    command = _line(run.command)
    passes = run.exit_code == 0
    named = run.model_copy(update={"command": command, "failures": tuple(map(_line, run.failures))})
    new["failing_tests"] = list(still_failing(_texts(memory, "failing_tests"), named, MOST_FAILING))
    facts = [fact for fact in _texts(memory, "verified_facts") if not fact.startswith(f"`{command}` ")]
    if passes:
        facts.append(f"`{command}` passed" + (f" ({run.passed} tests)" if run.passed >= 0 else ""))
    new["verified_facts"] = list(facts[-MOST["verified_facts"] :])


def _command(new: JsonMap, memory: JsonMap, call: ToolCallPart, result: ToolResult) -> None:
    command = call.arguments.get("command")
    status = result.data.get("exit_code")
    if not isinstance(command, str) or not isinstance(status, int):
        return
    begins = f"`{_line(command)}` "
    still = [one for one in _texts(memory, "open_questions") if not one.startswith(begins)]
    if status:
        last = next((line for line in reversed(_shown(result).splitlines()) if line.strip()), "")
        still.append(f"{begins}ended with {status}: {_line(last)}")
    new["open_questions"] = list(still[-MOST_OPEN:])


def _shown(result: ToolResult) -> str:
    return "\n".join(text_preview(piece.text) for piece in result.content if isinstance(piece, TextContent))


def _texts(memory: JsonMap, block: str) -> list[str]:
    held = memory.get(block)
    return [one for one in held if isinstance(one, str)] if isinstance(held, list) else []


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def _few(lines: list[str]) -> list[str]:
    """The first and the last of many."""
    if len(lines) <= MOST_SHOWN:
        return lines
    half = MOST_SHOWN // 2
    return [*lines[:half], f"(and {len(lines) - 2 * half} more)", *lines[-half:]]


def rendered(memory: JsonMap) -> str:
    """The whole memory as a model is shown it; empty where there is nothing to tell."""
    said = [f"{title}:\n" + "\n".join(f"- {line}" for line in _few(some)) for title, some in told(memory)]
    return "<working_memory>\n" + "\n".join(said) + "\n</working_memory>" if said else ""
