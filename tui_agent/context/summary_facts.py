"""What of a session a summary must not lose, as the record has it: the task, a person's words, pins, plan, tasks,
tests and files, each as a block that knows its shorter forms.

Invariant: no model's words are among them but the approved plan; a form that leaves something out says so, with the
artifact that holds all of it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final

from tui_agent.context.compaction_limits import OPEN_FILES, TESTS, path_of
from tui_agent.context.priorities import Block, Short
from tui_agent.context.truncation import head_and_tail, is_artifact
from tui_agent.folds.context.compacted_history import calls_of, quoted
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart
from tui_agent.protocol.unicode_text import counted

FAILING: Final = "Tests that fail"
MOST_ARTIFACTS: Final = 8
LEFT_OUT: Final = "(left out: "
_MARKS: Final = {"completed": "x", "in_progress": ">", "pending": " "}
_ONLY_READ: Final[frozenset[str]] = frozenset(("read_file", "list_directory", "grep", "glob", "repo_map"))
_LEAST: Final = 400
MOST_NAMED: Final = 64_000
"""Bytes of the paths of changed files that are named; of older ones only how many there are."""
_NOTE: Final = 160
"""Characters of the line that tells what is left out."""
_LINES: Final = (300, 120, 48)
"""Characters of the first and of the last line of a message that has no room whole."""

Text = Callable[[LongText], str]
"""The whole of a text, wherever it is kept."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a summary must not lose. `originals` is the whole history, whatever was put away before."""

    originals: Sequence[Message]
    spoken: Collection[int]
    pinned: Collection[int]
    todo: Sequence[TodoItem]
    artifacts: Sequence[Artifact]
    through: int
    """The newest event that the summary stands for."""
    failing: Sequence[str] = ()
    """The tests that are known to fail."""
    changed: Sequence[str] = ()
    """Files that were changed in the whole session, the newest last: the history has not every call of it any more."""


def lasting(facts: Facts, text: Text) -> list[Block]:
    """The blocks, in the order of their rank: the first is the last to give way."""
    calls = calls_of(facts.originals)
    changed, read = _files(facts, calls)
    artifacts = "\n".join(map(_artifact, facts.artifacts[-MOST_ARTIFACTS:]))
    return [
        _whole("The task, in the user's words", _task(facts, text), 0.30, "the task", own=True),
        _said(facts, text),
        _whole("To be kept, word for word", _pinned(facts, text, calls), 0.14, "what was pinned"),
        _tasks(facts.todo),
        _whole("The plan", _plan(facts, calls), 0.05, "the plan"),
        _lines(FAILING, [f"- {name}" for name in facts.failing], 0.08, "tests that fail"),
        changed,
        _passing("What the newest tests told", _told_by_tests(facts, calls, text), 0.03),
        read,
        _passing("Outputs that read_artifact reads", artifacts, 0.02),
    ]


def own_words(facts: Facts) -> Iterator[UserMessage]:
    """A person's messages, in their order."""
    return (
        one
        for one in facts.originals
        if isinstance(one, UserMessage) and one.kind == "said" and one.seq in facts.spoken
    )


def words_of(content: Sequence[Content], text: Text) -> str:
    """What a content says."""
    return "\n".join(text(one.text) if isinstance(one, TextContent) else "[an image]" for one in content)


def line_of(words: str, most: int = 160) -> str:
    """The beginning of it, on one line."""
    one = " ".join(words.split())
    return one if len(one) <= most else f"{one[:most]}…"


def reach(lines: Sequence[str], room: int) -> int:
    """How many of them the room is enough for."""
    sizes = accumulate(len(line) + 1 for line in lines)
    return sum(size <= room for size in sizes)


def _whole(title: str, words: str, share: float, what: str, *, own: bool = False) -> Block:
    """A text that stands whole, or as its beginning and end."""
    words = words.strip()
    return Block(title, words, partial(_head_and_tail, words, kept=True), len(words), share, what, own)


def _passing(title: str, words: str, share: float) -> Block:
    """A text that gives way before anything is lost."""
    words = words.strip()
    return Block(title, words, partial(_head_and_tail, words, kept=False), min(len(words), _LEAST), share)


def _head_and_tail(words: str, room: int, *, kept: bool) -> Short:
    dense = len(words.encode("utf-8", "replace")) / len(words)
    size = max(room - _NOTE, _LEAST)
    grain = 1 << max(0, size.bit_length() - 4)
    size -= size % grain  # a little more or less room cuts it at the same place
    shown = head_and_tail(words, max_bytes=round(size * dense), max_lines=2_000_000, artifact=kept)
    return Short(shown.text, cut=shown.cut)


def _lines(title: str, lines: Sequence[str], share: float, what: str) -> Block:
    whole = "\n".join(lines)
    return Block(title, whole, partial(_newest, lines, whole), len(whole), share, what)


def _newest(lines: Sequence[str], whole: str, room: int) -> Short:
    """The newest of them that there is room for, and how many are not told."""
    fit = max(1, reach(lines[::-1], room - _NOTE))
    if fit >= len(lines):
        return Short("\n".join(lines))
    gone = len(lines) - fit
    return Short(
        "\n".join([f"{LEFT_OUT}{gone} older; {is_artifact(whole)})", *lines[gone:]]), cut=True, dropped=gone
    )


# -- what a person said ------------------------------------------------------------------------------------------------


def _task(facts: Facts, text: Text) -> str:
    first = next((one for one in own_words(facts)), None)
    return "" if first is None else words_of(first.content, text)


def _said(facts: Facts, text: Text) -> Block:
    """What a person said after that, but for what stays as messages."""
    own = [one for one in list(own_words(facts))[1:] if one.seq <= facts.through]
    said = [words_of(one.content, text).strip() for one in own]
    pinned = [one.seq in facts.pinned for one in own]
    whole = "\n\n".join(map(_quote, said))
    fit = partial(_said_in, said, pinned, whole)
    return Block("What the user said since", whole, fit, len(whole), 0.16, "what you said since", own=True)


def _said_in(said: Sequence[str], pinned: Sequence[bool], whole: str, room: int) -> Short:
    """Each message whole as far as there is room; of the oldest long ones the first and the last line, where rules mostly
    stand; what is pinned gives way last. Only where lines have no room either, some have none."""
    pieces = list(map(_quote, said))
    over = sum(map(len, pieces)) + 2 * len(pieces) - (room - _NOTE)
    order = sorted(range(len(said)), key=lambda at: (pinned[at], at))
    for most in _LINES:
        for at in order:
            if over <= 0:
                break
            ends = _quote(_ends(said[at], most))
            if len(ends) < len(pieces[at]):
                over -= len(pieces[at]) - len(ends)
                pieces[at] = ends
    note = f"(Not all of it is whole here: {is_artifact(whole)})"
    gone = 0
    if over > 0:
        first = max(1, reach(pieces, room // 4))
        newest = max(1, reach(pieces[:first:-1], room // 2))
        gone = max(0, len(pieces) - first - newest)
        pieces = [*pieces[:first], f"> [… {counted(gone, 'message')} …]", *pieces[len(pieces) - newest :]]
    return Short("\n\n".join([note, *pieces]), cut=True, dropped=gone)


def _quote(words: str) -> str:
    return "> " + words.replace("\n", "\n> ")


def _ends(words: str, most: int) -> str:
    """Its first and its last line."""
    lines = [line for line in words.splitlines() if line.strip()]
    if len(lines) < 2:
        one = " ".join(words.split())
        return one if len(one) <= 2 * most else f"{one[:most]} […] {one[-most:]}"
    between = "\n[…]\n" if len(lines) > 2 else "\n"
    last = lines[-1].strip()
    return f"{line_of(lines[0], most)}{between}{last if len(last) <= most else f'…{last[-most:]}'}"


def _pinned(facts: Facts, text: Text, calls: dict[CallId, ToolCallPart]) -> str:
    """What else is to be kept: a person's own words stand above."""
    own = {id(one) for one in own_words(facts)}
    wanted = [
        one
        for one in facts.originals
        if one.seq in facts.pinned and one.seq <= facts.through and id(one) not in own
    ]
    return "\n\n".join(words_of(quoted(one, 0, calls).content, text) for one in wanted)


# -- plan and tasks ----------------------------------------------------------------------------------------------------


def _plan(facts: Facts, calls: dict[CallId, ToolCallPart]) -> str:
    approved = {
        one.call_id for one in facts.originals if isinstance(one, ToolMessage) and one.ok and one.call_id
    }
    plans = [part for call, part in calls.items() if part.name == "present_plan" and call in approved]
    plan = plans[-1].arguments.get("plan") if plans else ""
    return plan if isinstance(plan, str) else ""


def _tasks(items: Sequence[TodoItem]) -> Block:
    lines = [(item.status == "completed", _todo(item)) for item in items]
    whole = "\n".join(line for _, line in lines)
    opened = [line for done, line in lines if not done]
    needs = sum(len(line) + 1 for line in opened) + (_NOTE if len(opened) < len(lines) else 0)
    fit = partial(_tasks_in, lines, whole)
    return Block("Tasks", whole, fit, min(len(whole), needs), 0.10, "tasks")


def _tasks_in(lines: Sequence[tuple[bool, str]], whole: str, room: int) -> Short:
    """The done ones go first, the oldest of them before; open ones only where they alone have no room."""
    opened = [line for done, line in lines if not done]
    left = room - _NOTE - sum(len(line) + 1 for line in opened)
    if left < 0:
        fit = max(1, reach(opened, room - _NOTE))
        note = f"{LEFT_OUT}{counted(len(lines) - fit, 'task')}; {is_artifact(whole)})"
        return Short("\n".join([*opened[:fit], note]), cut=True, dropped=len(lines) - fit)
    done = [line for was_done, line in lines if was_done]
    kept = reach(done[::-1], left)
    gone, seen, shown = len(done) - kept, 0, list[str]()
    for was_done, line in lines:
        seen += was_done
        if not was_done or seen > gone:
            shown.append(line)
    return Short("\n".join([f"{LEFT_OUT}{gone:,} done)", *shown]))


def _todo(item: TodoItem) -> str:
    return f"{'  ' if item.parent else ''}- [{_MARKS.get(item.status, ' ')}] {item.content} ({item.status})"


# -- tests -------------------------------------------------------------------------------------------------------------


def _told_by_tests(facts: Facts, calls: dict[CallId, ToolCallPart], text: Text) -> str:
    """What the newest run of tests told, where it failed."""
    results = [one for one in facts.originals if isinstance(one, ToolMessage) and one.name == TESTS]
    newest = results[-1] if results and not results[-1].ok and results[-1].call_id in calls else None
    return "" if newest is None else words_of(newest.content, text)


# -- files -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    counts: str
    why: str

    @property
    def line(self) -> str:
        counts = f": {self.counts}" if self.counts else ""
        return f"- {self.path}{counts}{f' ({self.why})' if self.why else ''}"


def _files(facts: Facts, calls: dict[CallId, ToolCallPart]) -> tuple[Block, Block]:
    """The files that were worked with, each with what was done and what was said of it: those that were changed, and
    those that were only read; the newest last."""
    ok = {one.call_id for one in facts.originals if isinstance(one, ToolMessage) and one.ok}
    why = _said_of(facts.originals)
    sizes = accumulate(len(path.encode("utf-8", "replace")) + 1 for path in reversed(facts.changed))
    named = sum(size <= MOST_NAMED for size in sizes)
    done: dict[str, dict[str, int]] = {path: {} for path in facts.changed[len(facts.changed) - named :]}
    reason: dict[str, str] = {}
    for call, part in calls.items():
        path = path_of(part)
        if path and call in ok:
            counts = done.pop(path, {})
            counts[part.name] = counts.get(part.name, 0) + 1
            done[path] = counts
            reason[path] = why.get(call) or reason.get(path, "")
    changed, read, known = list[_File](), list[_File](), frozenset(facts.changed)
    for path, counts in done.items():
        told = ", ".join(f"{name} {count}×" for name, count in counts.items())
        only_read = counts.keys() <= _ONLY_READ and path not in known
        (read if only_read else changed).append(_File(path, told, reason.get(path, "")))
    return (
        _file_block(
            "Files that were changed",
            changed,
            0.08,
            "files that were changed",
            more=len(facts.changed) - named,
        ),
        _file_block("Files that were read", read, 0.03, ""),
    )


def _file_block(title: str, files: Sequence[_File], share: float, what: str, *, more: int = 0) -> Block:
    first = f"- … and {more:,} more, which were changed before these\n" if more else ""
    whole = first + "\n".join(one.line for one in files)
    shortest = files if what else files[-OPEN_FILES:]
    needs = len(first) + len(_by_folder(shortest)) + (0 if what else _NOTE)
    fit = partial(_files_in, files, whole, first, bool(what))
    return Block(title, whole, fit, min(len(whole), needs), share, what)


def _files_in(files: Sequence[_File], whole: str, first: str, lasts: bool, room: int) -> Short:
    """With what was done and why, without why, as paths below their folders; then the newest of them."""
    counted = "\n".join(f"- {one.path}: {one.counts}" if one.counts else f"- {one.path}" for one in files)
    folders = _by_folder(files)
    for form in (first + counted, first + folders):
        if len(form) <= room:
            return Short(form)
    lines = [f"- {one.path}" for one in files]
    fit = min(len(files), max(1, reach(lines[::-1], room - _NOTE)))
    gone = len(files) - fit
    note = f"{LEFT_OUT}{gone} older{f'; {is_artifact(whole)}' if lasts else ''})"
    return Short("\n".join([note, *lines[gone:]]), cut=True, dropped=gone)


def _by_folder(files: Sequence[_File]) -> str:
    folders: dict[str, list[str]] = {}
    for one in files:
        folder, _, name = one.path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return "\n".join(
        f"- {folder}/: {', '.join(names)}" if folder else f"- {', '.join(names)}"
        for folder, names in folders.items()
    )


def _said_of(messages: Sequence[Message]) -> dict[CallId, str]:
    """The words that stood before each call."""
    why: dict[CallId, str] = {}
    for one in messages:
        if isinstance(one, AssistantMessage):
            said = next((part.text for part in one.parts if isinstance(part, TextPart)), "")
            calls = [part.call_id for part in one.parts if isinstance(part, ToolCallPart)]
            why |= dict.fromkeys(calls, line_of(text_preview(said), 100))
    return why


def _artifact(artifact: Artifact) -> str:
    return f"- {artifact.id}: {artifact.tool}, {counted(artifact.size, 'byte')}, {counted(artifact.lines, 'line')}"
