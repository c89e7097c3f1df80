"""Working memory of a task: facts from the results of tool calls, in named blocks of limited size.

Invariant: all functions are pure, and results of parallel calls never overwrite each other's facts.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from tui_agent.context.failing_tests import command_line, runs_all, still_failing
from tui_agent.folds.context.memory import (
    apply_update,
    block_items,
    command_fact,
    fact_with_places,
    list_blocks,
    strip_change_note,
)
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.parts import ToolCallPart, text_previews
from tui_agent.protocol.stored_text import JsonMap

MAX_SHOWN = 30
"""Maximum number of a block's lines that are sent to the model."""
MAX_FAILING = 200
TEST_COMMANDS: Final = "test_commands"
"""Name of the hidden block that stores the test command for each failing test."""
MAX_PLACES = 3
MIN_QUESTION_WORDS = 5
"""An answered question with at least this many words also closes longer open questions that contain its text."""
# A shorter question could be part of many questions.
_LINE = 200
_QUESTION = 120
_DEFINES = re.compile(
    r"^[ \t]*+(?:\d++[\t|:][ \t]*+)?(?:(?:export|public|private|pub|async|static|abstract)[ \t]++)*+"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module)[ \t]++(?:\([^)\n]*+\)[ \t]*+)?([A-Za-z_]\w{2,60})",
    re.MULTILINE,
)
_WORDS = re.compile(r"[^\W_]+")
_MAX_FILE_SYMBOLS = 6
"""Maximum number of symbols remembered for each file that the agent reads."""
_CHECKERS: Final = frozenset(
    """make cmake ninja bazel gradle gradlew mvn mvnw meson tox nox pre-commit ruff mypy pyright flake8 pylint
    black isort bandit shellcheck hadolint tsc eslint prettier biome stylelint golangci-lint staticcheck
    rubocop phpstan""".split()  # noqa: SIM905 - read as prose
)
_PROGRAMS_WITH_VERB: Final = frozenset(
    ("cargo", "go", "npm", "pnpm", "yarn", "bun", "dotnet", "swift", "zig")
)
"""Programs that build or check the code if the next word is one of `_VERBS`."""
_VERBS: Final = frozenset(
    ("build", "check", "clippy", "vet", "lint", "typecheck", "compile", "verify", "fmt")
)
_QUERY_PROGRAMS: Final = frozenset(
    ("grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "which", "command", "pgrep")
)
"""Programs whose exit status 1 means "no" and not an error."""
_STARTERS: Final = frozenset(
    ("uv", "run", "poetry", "pipenv", "hatch", "npx", "python", "python3", "-m", "time", "env")
)
_ENDS = re.compile(r"&&|\|\||;|\n")
_SETS = re.compile(r"\w+=")


def is_check(command: str) -> bool:
    """Return True if the command builds or checks the code."""
    words = _last_command_words(command)
    # The exit status of a pipe is that of its last command, so it says nothing about the check.
    if not words or "|" in command:
        return False
    name = words[0].rpartition("/")[2]
    return name in _CHECKERS or (name in _PROGRAMS_WITH_VERB and not _VERBS.isdisjoint(words[1:]))


def is_fault(command: str, status: int, output: str) -> bool:
    """Return True if a nonzero exit status means that the command failed."""
    # Status 1 of a search without matches, or of any command without output, is not a failure.
    if status != 1:
        return True
    words = _last_command_words(command.rpartition("|")[2])
    is_query = bool(words) and (
        words[0].rpartition("/")[2] in _QUERY_PROGRAMS or words[:2] == ["git", "diff"]
    )
    return not is_query and bool(output.strip())


def _last_command_words(command: str) -> list[str]:
    """Return the words of a line's last command: `pytest`, `-q` for `cd lib && DEBUG=1 uv run pytest -q`."""
    words = _ENDS.split(command.strip())[-1].split()
    while words and (words[0] in _STARTERS or _SETS.match(words[0])):
        words = words[1:]
    return words


def start_turn(memory: JsonMap, asked: str) -> JsonMap:
    """Return the blocks of the memory that change when a turn starts. `asked`: the user's message."""
    known = memory.get("task")
    goal = known.get("goal") if isinstance(known, dict) else None
    task: JsonValue = {"goal": goal, "now": _line(asked)} if goal else {"goal": _line(asked)}
    return {} if memory.get("task") == task else {"task": task}


@dataclass(slots=True)
class _Changes:
    """The changes that one call makes to the working memory, collected for one event."""

    memory: JsonMap
    redact: Callable[[str], str]
    blocks: JsonMap = field(default_factory=dict)
    newest: dict[str, list[str]] = field(default_factory=dict)
    gone: dict[str, list[str]] = field(default_factory=dict)

    def line(self, text: str, limit: int = _LINE) -> str:
        """Return the redacted text as one line of up to `limit` characters."""
        return _line(self.redact(text), limit)

    def add(self, block: str, *items: str) -> None:
        self.newest.setdefault(block, []).extend(items)

    def drop(self, block: str, begins: str) -> None:
        """Remove the items that start with `begins` from a block's list."""
        removed = [text for text in block_items(self.memory, block) if text.startswith(begins)]
        self.gone.setdefault(block, []).extend(removed)

    def update(self) -> MemoryUpdated | None:
        """Return the event that records the changes, or None if the memory stays the same."""
        update = MemoryUpdated(
            blocks={name: value for name, value in self.blocks.items() if self.memory.get(name, []) != value},
            appended={block: tuple(items) for block, items in self.newest.items() if items},
            removed={block: tuple(items) for block, items in self.gone.items() if items},
        )
        return None if apply_update(self.memory, update) == self.memory else update


def update_from_result(
    memory: JsonMap, call: ToolCallPart, result: ToolResult, redact: Callable[[str], str] = str
) -> MemoryUpdated | None:
    """Return the event that updates the memory after a tool call, or None if the memory stays the same.

    `redact`: removes secrets from a text.
    """
    changes = _Changes(memory, redact)
    _add_explored(changes, result)
    runs = [event for event in result.events if isinstance(event, TestFinished)]
    for run in runs:
        _add_tests(changes, run)
    match call.name:
        case "run_command" if not runs:
            _add_command(changes, call, result)
        case "ask_user" if result.ok:
            _add_user_answer(changes, call, result)
        case "delegate_readonly":
            _add_investigation(changes, call, result)
        case "spawn_subtask":
            _add_subtask(changes, call, result)
        case _:
            pass
    return changes.update()


def render_memory(memory: JsonMap) -> str:
    """Format the memory for the model."""
    blocks = [
        f"{title}:\n" + "\n".join(f"- {line}" for line in _limit_lines(lines))
        for title, lines in list_blocks(memory)
    ]
    return "<working_memory>\n" + "\n".join(blocks) + "\n</working_memory>" if blocks else ""


def _add_explored(changes: _Changes, result: ToolResult) -> None:
    path = result.data.get("path")
    read = any(isinstance(event, FileRead) for event in result.events)
    if not isinstance(path, str) or not result.ok or not read:
        return
    symbols = dict.fromkeys(_DEFINES.findall(_result_text(result))[:_MAX_FILE_SYMBOLS])
    changes.add("explored_files", path)
    changes.add("relevant_symbols", *(f"{name} ({path})" for name in symbols))


def _add_tests(changes: _Changes, run: TestFinished) -> None:
    command = changes.line(command_line(run))
    redacted_run = run.model_copy(update={"failures": tuple(map(changes.line, run.failures))})
    memory: JsonMap = {**changes.memory, **changes.blocks}
    known = memory.get(TEST_COMMANDS)
    commands = known if isinstance(known, dict) else {}
    failing_before = {name: str(commands.get(name, "")) for name in block_items(memory, "failing_tests")}
    failing = still_failing(failing_before, redacted_run, command, MAX_FAILING)
    changes.blocks |= {"failing_tests": [*failing], TEST_COMMANDS: {**failing}}
    changes.drop("verified_facts", command_fact(command, "passed"))
    if run.exit_code == 0:
        if runs_all(command):  # the full run also replaces older passes of partial runs
            facts = block_items(changes.memory, "verified_facts")
            changes.gone["verified_facts"] += [
                fact for fact in facts if strip_change_note(fact) != fact and "` passed" in fact
            ]
        count = f" ({run.passed} test{'' if run.passed == 1 else 's'})" if run.passed >= 0 else ""
        changes.add("verified_facts", command_fact(command, f"passed{count}"))


def _add_command(changes: _Changes, call: ToolCallPart, result: ToolResult) -> None:
    """Remember a failed command as an open problem until it passes, and a passing check as a fact."""
    command_text, status = call.arguments.get("command"), result.data.get("exit_code")
    if not isinstance(command_text, str) or not isinstance(status, int):
        return
    command, shown = changes.line(command_text), changes.redact(_result_text(result))
    changes.drop("open_questions", command_fact(command, ""))
    if status:
        changes.drop("verified_facts", command_fact(command, ""))
        if is_fault(command_text, status, shown):
            last = next((line for line in reversed(shown.splitlines()) if line.strip()), "")
            changes.add("open_questions", command_fact(command, f"ended with {status}: {changes.line(last)}"))
    # Other commands are worth a fact only if they failed before.
    elif is_check(command_text) or changes.gone.get("open_questions"):
        changes.add("verified_facts", command_fact(command, "ended with 0"))


def _add_user_answer(changes: _Changes, call: ToolCallPart, result: ToolResult) -> None:
    """Remember the user's answer as a fact, or the question as open if there was no answer."""
    question_text, answer = call.arguments.get("question"), result.data.get("answer")
    if not isinstance(question_text, str) or not isinstance(answer, str):
        return
    question = changes.line(question_text, _QUESTION)
    changes.gone["open_questions"] = list(
        _matching_questions(question_text, block_items(changes.memory, "open_questions"))
    )
    unanswered, begins = f"the user gave no answer to: {question}", f"asked “{question}”, the user answered: "
    if answer:
        changes.gone["open_questions"].append(unanswered)
        changes.drop("verified_facts", begins)
        changes.add("verified_facts", begins + changes.line(answer))
    else:
        changes.add("open_questions", unanswered)


def _add_investigation(changes: _Changes, call: ToolCallPart, result: ToolResult) -> None:
    """Remember a read-only delegate's open questions and its answer.

    The answer is remembered as a verified fact if its confidence is high and it names locations.
    """
    data, task = result.data, call.arguments.get("task")
    listed, summary, evidence = data.get("open_questions"), data.get("summary"), data.get("evidence")
    questions = [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
    if not isinstance(task, str) or not isinstance(summary, str):
        return
    if result.ok:
        still_open = set(map(changes.line, questions))
        other_questions = (
            text for text in block_items(changes.memory, "open_questions") if text not in still_open
        )
        changes.gone["open_questions"] = list(_matching_questions(task, other_questions))
    changes.add("open_questions", *(changes.line(text) for text in questions if text.strip()))
    places = list(_format_places(evidence if isinstance(evidence, list) else ()))
    if result.ok and data.get("confidence") == "high" and places:
        changes.add("verified_facts", fact_with_places(changes.line(summary), places[:MAX_PLACES]))


def _add_subtask(changes: _Changes, call: ToolCallPart, result: ToolResult) -> None:
    """Record a failed subtask as an open question. Remove the question when the subtask succeeds later."""
    task, reason = call.arguments.get("prompt"), result.data.get("reason")
    if not isinstance(task, str) or not isinstance(reason, str):
        return
    begins = f"subtask “{changes.line(task, _QUESTION)}” "
    changes.drop("open_questions", begins)
    if not result.ok:
        changes.add("open_questions", f"{begins}failed: {reason}")


def _format_places(evidence: Sequence[JsonValue]) -> Iterator[str]:
    """Yield the locations in `evidence`, each as `src/app.py:10-24`. Places that were not found are left out."""
    for entry in evidence:
        path = entry.get("path") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(path, str) and not entry.get("not_found"):
            yield f"{path}:{entry.get('lines')}" if entry.get("lines") else path


def _matching_questions(asked: str, questions: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Yield each open question that contains `asked` or is contained in `asked`."""
    words = _normalise_words(asked)
    is_short = len(words.split()) < MIN_QUESTION_WORDS
    return (
        question
        for question in questions
        if (question_words := _normalise_words(question)).strip()
        and (question_words in words or (words in question_words and not is_short))
    )


def _normalise_words(text: str) -> str:
    return " ".join(("", *_WORDS.findall(text.casefold()), ""))


def _result_text(result: ToolResult) -> str:
    return "\n".join(text_previews(result.content))


def _line(text: str, max_chars: int = _LINE) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"


def _limit_lines(lines: list[str]) -> list[str]:
    if len(lines) <= MAX_SHOWN:
        return lines
    # The oldest lines are often about the task's beginning, and the newest about the current work.
    half = MAX_SHOWN // 2
    return [*lines[:half], f"(and {len(lines) - 2 * half} more)", *lines[-half:]]
