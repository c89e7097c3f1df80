"""The working memory of a task: what calls' results say of it, in named blocks of bounded size.

Invariant: pure and deterministic: the same memory, call and result give the same blocks. What calls that run at once
find is only ever added to lists or taken out of them, so that none of it is lost.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from tui_agent.context.check_results import is_check, is_fault
from tui_agent.context.failing_tests import runs_all, still_failing
from tui_agent.folds.context.memory import after_update, of_command, of_places, plain, texts, told
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.base import JsonMap, text_preview
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.parts import TextContent, ToolCallPart

MOST_SHOWN = 30
"""Lines of a block that the model is shown."""
MOST_FAILING = 200
MOST_PLACES = 3
FEW_WORDS = 5
"""Blanks of a question that is too short to be found in another one."""
_LINE = 200
_QUESTION = 120
_DEFINES = re.compile(
    r"^\s*(?:\d+[\t|:]\s*)?(?:export\s+|public\s+|private\s+|pub\s+|async\s+|static\s+|abstract\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,60})",
    re.MULTILINE,
)
_WORDS = re.compile(r"[^\W_]+")
_FROM_A_FILE = 6
"""Symbols that are kept of one file."""


def begun(memory: JsonMap, asked: str) -> JsonMap:
    """The blocks that a turn's beginning changes: the goal is what was asked first."""
    known = memory.get("task")
    goal = known.get("goal") if isinstance(known, dict) else None
    task: JsonValue = {"goal": goal, "now": _line(asked)} if goal else {"goal": _line(asked)}
    return {} if memory.get("task") == task else {"task": task}


@dataclass(slots=True)
class _Learnt:
    """What one call taught, while it is gathered."""

    memory: JsonMap
    redact: Callable[[str], str]
    blocks: JsonMap = field(default_factory=dict)
    newest: dict[str, list[str]] = field(default_factory=dict)
    gone: dict[str, list[str]] = field(default_factory=dict)

    def line(self, text: str, most: int = _LINE) -> str:
        """A text in one line of bounded length; its secrets are taken out before it is cut."""
        return _line(self.redact(text), most)

    def add(self, block: str, *items: str) -> None:
        """Something comes to the end of a list."""
        self.newest.setdefault(block, []).extend(items)

    def drop(self, block: str, begins: str) -> None:
        """What begins so is in the list no more."""
        away = [one for one in texts(self.memory, block) if one.startswith(begins)]
        self.gone.setdefault(block, []).extend(away)

    def update(self) -> MemoryUpdated | None:
        """The event; None where nothing changes."""
        update = MemoryUpdated(
            blocks={name: value for name, value in self.blocks.items() if self.memory.get(name, []) != value},
            newest={block: tuple(items) for block, items in self.newest.items() if items},
            gone={block: tuple(items) for block, items in self.gone.items() if items},
        )
        return None if after_update(self.memory, update) == self.memory else update


def learnt(
    memory: JsonMap, call: ToolCallPart, result: ToolResult, redact: Callable[[str], str] = str
) -> MemoryUpdated | None:
    """What a call's result changes; None where it is nothing. `redact` takes secrets out of a text."""
    found = _Learnt(memory, redact)
    _explored(found, result)
    runs = [event for event in result.events if isinstance(event, TestFinished)]
    for run in runs:
        _tests(found, run)
    match call.name:
        case "run_command" if not runs:
            _command(found, call, result)
        case "ask_user" if result.ok:
            _answered(found, call, result)
        case "delegate_readonly":
            _investigated(found, call, result)
        case "spawn_subtask":
            _subtask(found, call, result)
        case _:
            pass
    return found.update()


def failing(memory: JsonMap) -> tuple[str, ...]:
    """The tests that are known to fail."""
    return tuple(texts(memory, "failing_tests"))


def rendered(memory: JsonMap) -> str:
    """The whole memory as a model is shown it; empty where there is nothing to tell."""
    said = [f"{title}:\n" + "\n".join(f"- {line}" for line in _few(some)) for title, some in told(memory)]
    return "<working_memory>\n" + "\n".join(said) + "\n</working_memory>" if said else ""


def _explored(found: _Learnt, result: ToolResult) -> None:
    """The file that was read, and what it defines."""
    path = result.data.get("path")
    read = any(isinstance(event, FileRead) for event in result.events)
    if not isinstance(path, str) or not result.ok or not read:
        return
    symbols = dict.fromkeys(_DEFINES.findall(_shown(result))[:_FROM_A_FILE])
    found.add("explored_files", path)
    found.add("relevant_symbols", *(f"{name} ({path})" for name in symbols))


def _tests(found: _Learnt, run: TestFinished) -> None:
    command = found.line(run.command)
    named = run.model_copy(update={"command": command, "failures": tuple(map(found.line, run.failures))})
    held = found.blocks.get("failing_tests", texts(found.memory, "failing_tests"))
    known = [str(one) for one in held] if isinstance(held, list) else []
    found.blocks["failing_tests"] = [*still_failing(known, named, MOST_FAILING)]
    found.drop("verified_facts", of_command(command, "passed"))
    if run.exit_code == 0:
        if runs_all(command):  # it stands for the tests of a part that passed before something was changed
            facts = texts(found.memory, "verified_facts")
            found.gone["verified_facts"] += [one for one in facts if plain(one) != one and "` passed" in one]
        count = f" ({run.passed} test{'' if run.passed == 1 else 's'})" if run.passed >= 0 else ""
        found.add("verified_facts", of_command(command, f"passed{count}"))


def _command(found: _Learnt, call: ToolCallPart, result: ToolResult) -> None:
    """A command that failed is open until it runs; what ran that checks something, or failed before, holds."""
    said, status = call.arguments.get("command"), result.data.get("exit_code")
    if not isinstance(said, str) or not isinstance(status, int):
        return
    command, shown = found.line(said), found.redact(_shown(result))
    found.drop("open_questions", of_command(command, ""))
    if status:
        found.drop("verified_facts", of_command(command, ""))
        if is_fault(said, status, shown):
            last = next((line for line in reversed(shown.splitlines()) if line.strip()), "")
            found.add("open_questions", of_command(command, f"ended with {status}: {found.line(last)}"))
    elif is_check(said) or found.gone.get("open_questions"):
        found.add("verified_facts", of_command(command, "ended with 0"))


def _answered(found: _Learnt, call: ToolCallPart, result: ToolResult) -> None:
    """What the user answers holds; without an answer the question is open."""
    asked, said = call.arguments.get("question"), result.data.get("answer")
    if not isinstance(asked, str) or not isinstance(said, str):
        return
    question = found.line(asked, _QUESTION)
    found.gone["open_questions"] = list(_within(asked, texts(found.memory, "open_questions")))
    unanswered, begins = f"the user gave no answer to: {question}", f"the user, asked “{question}”: "
    if said:
        found.gone["open_questions"].append(unanswered)
        found.drop("verified_facts", begins)
        found.add("verified_facts", begins + found.line(said))
    else:
        found.add("open_questions", unanswered)


def _investigated(found: _Learnt, call: ToolCallPart, result: ToolResult) -> None:
    """What an investigator is sure of, with its places, and what it left open."""
    data, task = result.data, call.arguments.get("task")
    questions, summary, evidence = data.get("open_questions"), data.get("summary"), data.get("evidence")
    if not isinstance(task, str) or not isinstance(summary, str):
        return
    if result.ok:
        left = (
            {found.line(one) for one in questions if isinstance(one, str)}
            if isinstance(questions, list)
            else set()
        )
        known = (one for one in texts(found.memory, "open_questions") if one not in left)
        found.gone["open_questions"] = list(_within(task, known))
    if isinstance(questions, list):
        found.add(
            "open_questions", *(found.line(one) for one in questions if isinstance(one, str) and one.strip())
        )
    places = list(_places(evidence if isinstance(evidence, list) else ()))
    if result.ok and data.get("confidence") == "high" and places:
        found.add("verified_facts", of_places(found.line(summary), places[:MOST_PLACES]))


def _subtask(found: _Learnt, call: ToolCallPart, result: ToolResult) -> None:
    """A subtask that did not go well is open until one of the same task does."""
    task, reason = call.arguments.get("prompt"), result.data.get("reason")
    if not isinstance(task, str) or not isinstance(reason, str):
        return
    begins = f"subtask “{found.line(task, _QUESTION)}” "
    found.drop("open_questions", begins)
    if not result.ok:
        found.add("open_questions", f"{begins}did not go well: {reason}")


def _places(evidence: Sequence[JsonValue]) -> Iterator[str]:
    """The places that are there, as `src/app.py:10-24`."""
    for one in evidence:
        path = one.get("path") if isinstance(one, dict) else None
        if isinstance(one, dict) and isinstance(path, str) and not one.get("not_found"):
            yield f"{path}:{one.get('lines')}" if one.get("lines") else path


def _within(asked: str, questions: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Those of the open questions that a question or a task takes up in the same words."""
    words = _bare(asked)
    few = words.count(" ") < FEW_WORDS
    return (
        one
        for one in questions
        if (bare := _bare(one)).strip() and (bare in words or (words in bare and not few))
    )


def _bare(text: str) -> str:
    return " ".join(("", *_WORDS.findall(text.casefold()), ""))


def _shown(result: ToolResult) -> str:
    return "\n".join(text_preview(piece.text) for piece in result.content if isinstance(piece, TextContent))


def _line(text: str, most: int = _LINE) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _few(lines: list[str]) -> list[str]:
    """The first and the last of many."""
    if len(lines) <= MOST_SHOWN:
        return lines
    half = MOST_SHOWN // 2
    return [*lines[:half], f"(and {len(lines) - 2 * half} more)", *lines[-half:]]
