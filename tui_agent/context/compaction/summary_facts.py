"""Facts that a summary must keep: task, user messages, pins, plan, todo items, tests and files.

Invariant: all texts come from the log, and only the approved plan was written by a model.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import accumulate
from typing import Final

from tui_agent.context.compaction.offloadable_results import MAX_OPEN_FILES, READS, TESTS, path_of
from tui_agent.context.compaction.summary_blocks import Excerpt, FittedText, SummaryBlock
from tui_agent.context.truncation import artifact_id, head_and_tail
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.compacted_history import (
    UserReply,
    calls_by_id,
    quote_message,
    successful_calls,
)
from tui_agent.folds.session.todo_list import CLOSED_STATUSES, format_todo_item
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart, tool_calls
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_bytes, format_number

MAX_ARTIFACTS: Final = 8
LEFT_OUT_PREFIX: Final = "(left out: "
_ONLY_READ: Final[frozenset[str]] = frozenset(("read_file", "list_directory", "grep", "glob", "repo_map"))
_MIN_CUT_CHARS: Final = 400
MAX_NAMED_BYTES: Final = 64_000
"""Maximum total size of the listed paths of changed files, in bytes."""
_NOTE_CHARS: Final = 160
"""Number of characters reserved for a note about left-out content."""
_LINES: Final = (300, 120, 48)
"""Maximum characters per line in shortened messages. A shortened message keeps only its first and last line.

The numbers are tried in order until all messages fit.
"""

LONG_MESSAGE_LINES: Final = 60
LONG_MESSAGE_CHARS: Final = 4_000
"""A later message with more lines and more characters than these, such as a pasted log, is always shortened."""
LONG_MESSAGE_LABEL: Final = "your long messages"
_EXCERPT_BYTES: Final = 2_000
_EXCERPT_LINES: Final = 30

Text = Callable[[LongText], str]
"""Function that returns the full text for a `LongText`, even if the text is in a blob."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The recorded content of a session for a summary.

    `originals`: the whole history, including removed messages and complete outputs.
    `spoken`: maps the event numbers of the user's own messages to the words typed around a long paste.
    `pinned`: event numbers of pinned messages.
    """

    originals: Sequence[Message]
    spoken: Mapping[int, str]
    pinned: Collection[int]
    todo: Sequence[TodoItem]
    artifacts: Sequence[Artifact]
    through: int
    """The number (`seq`) of the newest event that the summary covers."""
    failing: Sequence[str] = ()
    """The tests known to fail."""
    stale_tests: str = ""
    """Reason why the results of the newest finished test run are stale; empty if they are not."""
    replies: Sequence[UserReply] = ()
    """The user's words in results of calls: reasons of refusals, answers, and edited plans."""
    plan: LongText = ""
    """The newest approved plan."""
    changed: Sequence[str] = ()
    """Files that were changed in the whole session, newest last."""
    removed: Mapping[str, bool] = field(default_factory=dict)
    """Maps each file that was removed and does not exist now to True if the session had created it."""


def fact_blocks(facts: Facts, text: Text) -> list[SummaryBlock]:
    """Return the blocks of recorded facts in order of rank; the last block is the first to be cut."""
    calls = calls_by_id(facts.originals)
    changed, read = _file_blocks(facts, calls)
    artifacts = "\n".join(map(_artifact, facts.artifacts[-MAX_ARTIFACTS:]))
    plan = text(facts.plan).strip()
    return [
        _required_block("The task, in the user's words", _task(facts, text), 0.30, "the task", is_users=True),
        _user_messages(facts, text, plan),
        _required_block("Pinned, word for word", _join_pinned(facts, text, calls), 0.14, "pinned messages"),
        _todo_block(facts.todo),
        _required_block("The plan", plan, 0.05, "the plan"),
        _failing_block(facts.failing, facts.stale_tests),
        changed,
        _optional_block(
            f"The last finished test run ({facts.stale_tests})" if facts.stale_tests else "The last test run",
            _failed_tests(facts, calls, text),
            0.03,
        ),
        read,
        _optional_block("Stored outputs: use read_file or grep", artifacts, 0.02),
    ]


def user_messages(facts: Facts) -> Iterator[UserMessage]:
    """Return the user's messages in order."""
    return (
        message
        for message in facts.originals
        if isinstance(message, UserMessage) and message.origin == "prompt" and message.seq in facts.spoken
    )


def text_of_content(content: Sequence[Content], text: Text) -> str:
    """Return the texts of a message's content; a note replaces each image."""
    return "\n".join(text(item.text) if isinstance(item, TextContent) else "[an image]" for item in content)


def first_line(words: str, limit: int = 160) -> str:
    """Return a text as one line, cut to `limit` characters."""
    line = " ".join(words.split())
    return line if len(line) <= limit else f"{line[:limit]}…"


def count_fitting(lines: Sequence[str], room: int) -> int:
    sizes = accumulate(len(line) + 1 for line in lines)
    return sum(size <= room for size in sizes)


def _required_block(
    title: str, words: str, share: float, user_label: str, *, is_users: bool = False
) -> SummaryBlock:
    """Return a summary block that stays complete if the window can hold it."""
    words = words.strip()
    return SummaryBlock(
        title,
        words,
        partial(_head_and_tail, words, has_artifact=True),
        len(words),
        share,
        user_label,
        is_users,
    )


def _optional_block(title: str, words: str, share: float) -> SummaryBlock:
    """Return a summary block that is shortened before any required block."""
    words = words.strip()
    return SummaryBlock(
        title,
        words,
        partial(_head_and_tail, words, has_artifact=False),
        min(len(words), _MIN_CUT_CHARS),
        share,
    )


def _head_and_tail(words: str, room: int, *, has_artifact: bool) -> FittedText:
    dense = len(words.encode("utf-8", "replace")) / len(words)
    size = max(room - _NOTE_CHARS, _MIN_CUT_CHARS)
    grain = 1 << max(0, size.bit_length() - 4)
    size -= size % grain  # rounding keeps the cut at the same position when the room changes slightly
    shown = head_and_tail(
        words,
        max_bytes=round(size * dense),
        max_lines=2_000_000,
        artifact=artifact_id(words) if has_artifact else "",
    )
    if len(shown.text) >= len(words):  # the note may be longer than the text that it replaces
        return FittedText(words, cut=False)
    return FittedText(shown.text, cut=shown.is_cut)


def _failing_block(tests: Sequence[str], staleness: str) -> SummaryBlock:
    title = f"Tests that failed ({staleness})" if staleness else "Tests that fail"
    lines = [f"- {name}" for name in tests]
    full_text = "\n".join(lines)
    fit = partial(_fit_newest, lines, full_text)
    return SummaryBlock(title, full_text, fit, len(full_text), 0.08, "tests that fail")


def _fit_newest(lines: Sequence[str], full_text: str, room: int) -> FittedText:
    """Return the newest lines that fit, after a note with the number of left-out lines."""
    fitting = max(1, count_fitting(lines[::-1], room - _NOTE_CHARS))
    if fitting >= len(lines):
        return FittedText("\n".join(lines))
    omitted = len(lines) - fitting
    return FittedText(
        "\n".join(
            [f"{LEFT_OUT_PREFIX}{omitted} older; read_file {artifact_id(full_text)})", *lines[omitted:]]
        ),
        cut=True,
        dropped=omitted,
    )


# -- the user's messages -----------------------------------------------------------------------------------------------


def _task(facts: Facts, text: Text) -> str:
    first = next(user_messages(facts), None)
    return "" if first is None else text_of_content(first.content, text)


def _user_messages(facts: Facts, text: Text, plan: str) -> SummaryBlock:
    """Return the summary's block with the user's later messages and replies, in order."""
    excerpts = list[Excerpt]()
    own = list[tuple[int, str]]()
    messages = list(user_messages(facts))
    # The newest message can be the task that the agent works on, so it stays whole, as pinned ones do.
    unshortened = {*facts.pinned, *(message.seq for message in messages[-1:])}
    for message in messages[1:]:
        words = text_of_content(message.content, text).strip()
        if message.seq not in unshortened and message.seq <= facts.through and _is_long(words):
            words = _take_excerpt(words, facts.spoken[message.seq], excerpts)
        own.append((message.seq, words))
    own += [
        (reply.seq, f"{reply.occasion}: {words}")
        for reply in facts.replies
        if (words := text(reply.words).strip()) != plan
    ]
    own = sorted(pair for pair in own if pair[0] <= facts.through)
    texts = [words for _, words in own]
    pinned = [seq in facts.pinned for seq, _ in own]
    full_text = "\n\n".join(map(_quote, texts))
    fit = partial(_fit_messages, texts, pinned, full_text)
    return SummaryBlock(
        "The user's later messages",
        full_text,
        fit,
        len(full_text),
        0.16,
        "your later messages",
        is_users=True,
        excerpts=excerpts,
    )


def _is_long(words: str) -> bool:
    return len(words) > LONG_MESSAGE_CHARS and words.count("\n") >= LONG_MESSAGE_LINES


def _take_excerpt(words: str, typed: str, excerpts: list[Excerpt]) -> str:
    """Return the head and the tail of a long message, and add the message to `excerpts`.

    `typed`: the words that the user typed around a long paste. These words are put before an excerpt that lacks them.
    """
    shown = head_and_tail(
        words, max_bytes=_EXCERPT_BYTES, max_lines=_EXCERPT_LINES, artifact=artifact_id(words)
    )
    text = shown.text if typed in " ".join(shown.text.split()) else f"{typed}\n{shown.text}"
    excerpts.append(Excerpt(words, len(text), LONG_MESSAGE_LABEL))
    return text


def _fit_messages(messages: Sequence[str], pinned: Sequence[bool], full_text: str, room: int) -> FittedText:
    """Shorten the messages, oldest first, until all of them fit. If that is not enough, leave out the middle ones."""
    pieces = list(map(_quote, messages))
    excess = sum(map(len, pieces)) + 2 * len(pieces) - (room - _NOTE_CHARS)
    order = sorted(range(len(messages)), key=lambda index: (pinned[index], index))
    for max_chars in _LINES:
        for index in order:
            if excess <= 0:
                break
            ends = _quote(_first_and_last_line(messages[index], max_chars))
            if len(ends) < len(pieces[index]):
                excess -= len(pieces[index]) - len(ends)
                pieces[index] = ends
    note = f"(Some messages are shortened: read_file {artifact_id(full_text)})"
    omitted = 0
    if excess > 0:
        first = max(1, count_fitting(pieces, room // 4))
        newest = max(1, count_fitting(pieces[:first:-1], room // 2))
        omitted = max(0, len(pieces) - first - newest)
        pieces = [
            *pieces[:first],
            f"> [… {format_count(omitted, 'message')} …]",
            *pieces[len(pieces) - newest :],
        ]
    return FittedText("\n\n".join([note, *pieces]), cut=True, dropped=omitted)


def _quote(words: str) -> str:
    return "> " + words.replace("\n", "\n> ")


def _first_and_last_line(words: str, max_chars: int) -> str:
    """Return the first and the last line of a message, each with at most `max_chars` characters."""
    lines = [line for line in words.splitlines() if line.strip()]
    if len(lines) < 2:
        line = " ".join(words.split())
        return line if len(line) <= 2 * max_chars else f"{line[:max_chars]} […] {line[-max_chars:]}"
    between = "\n[…]\n" if len(lines) > 2 else "\n"
    last = lines[-1].strip()
    return f"{first_line(lines[0], max_chars)}{between}{last if len(last) <= max_chars else f'…{last[-max_chars:]}'}"


def _join_pinned(facts: Facts, text: Text, calls: dict[CallId, ToolCallPart]) -> str:
    """Return the text of all pinned messages that the user did not write."""
    own = {id(message) for message in user_messages(facts)}
    pinned = [
        message
        for message in facts.originals
        if message.seq in facts.pinned and message.seq <= facts.through and id(message) not in own
    ]
    return "\n\n".join(text_of_content(quote_message(message, 0, calls).content, text) for message in pinned)


# -- todo items --------------------------------------------------------------------------------------------------------


def _todo_block(items: Sequence[TodoItem]) -> SummaryBlock:
    lines = [(item.status in CLOSED_STATUSES, _todo_line(item)) for item in items]
    full_text = "\n".join(line for _, line in lines)
    open_lines = [line for is_closed, line in lines if not is_closed]
    needs = sum(len(line) + 1 for line in open_lines) + (_NOTE_CHARS if len(open_lines) < len(lines) else 0)
    fit = partial(_fit_todo, lines, full_text)
    return SummaryBlock("Tasks", full_text, fit, min(len(full_text), needs), 0.10, "tasks")


def _fit_todo(lines: Sequence[tuple[bool, str]], full_text: str, room: int) -> FittedText:
    """Return the todo lines that fit into `room`. Closed items are left out first."""
    open_lines = [line for is_closed, line in lines if not is_closed]
    remaining = room - _NOTE_CHARS - sum(len(line) + 1 for line in open_lines)
    if remaining < 0:
        fit = max(1, count_fitting(open_lines, room - _NOTE_CHARS))
        note = (
            f"{LEFT_OUT_PREFIX}{format_count(len(lines) - fit, 'task')}; read_file {artifact_id(full_text)})"
        )
        return FittedText("\n".join([*open_lines[:fit], note]), cut=True, dropped=len(lines) - fit)
    closed_lines = [line for is_closed, line in lines if is_closed]
    kept_count = count_fitting(closed_lines[::-1], remaining)
    omitted, closed_count, shown_lines = len(closed_lines) - kept_count, 0, list[str]()
    for is_closed, line in lines:
        closed_count += is_closed
        if not is_closed or closed_count > omitted:
            shown_lines.append(line)
    return FittedText(
        "\n".join([f"{LEFT_OUT_PREFIX}{format_number(omitted)} done or abandoned)", *shown_lines])
    )


def _todo_line(item: TodoItem) -> str:
    return f"{'  ' if item.parent else ''}- {format_todo_item(item)}"


# -- tests -------------------------------------------------------------------------------------------------------------


def _failed_tests(facts: Facts, calls: dict[CallId, ToolCallPart], text: Text) -> str:
    """Return the counts, the command and the artifact of the newest test run if the run failed."""
    for message in reversed(facts.originals):
        if isinstance(message, ToolMessage) and message.name == TESTS and message.call_id in calls:
            headline, command, *_ = [*text_of_content(message.content, text).splitlines(), "", ""]
            if command.startswith("$ "):  # A call that ran no tests has no command.
                artifact = f"read_file {message.artifact_id}" if message.artifact_id else ""
                return "" if message.ok else "\n".join(filter(None, (headline, command, artifact)))
    return ""


# -- files -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _File:
    """A file in a summary. `name`: its path, marked if the file was deleted. `counts`: the calls that used it."""

    name: str
    counts: str
    why: str

    @property
    def line(self) -> str:
        counts = f": {self.counts}" if self.counts else ""
        return f"- {self.name}{counts}{f' ({self.why})' if self.why else ''}"


def _file_blocks(facts: Facts, calls: dict[CallId, ToolCallPart]) -> tuple[SummaryBlock, SummaryBlock]:
    """Return two blocks: the changed files, and the files that were only read, newest last.

    A file that was created and removed again is in neither: the model would try to read or repair it.
    """
    ok = successful_calls(facts.originals)
    texts_by_call = _texts_before_calls(facts.originals)
    sizes = accumulate(len(path.encode("utf-8", "replace")) + 1 for path in reversed(facts.changed))
    listed_count = sum(size <= MAX_NAMED_BYTES for size in sizes)
    calls_by_file: dict[str, dict[str, int]] = {
        path: {} for path in facts.changed[len(facts.changed) - listed_count :]
    }
    reason: dict[str, str] = {}
    edited = set[str]()
    for call, part in calls.items():
        path = path_of(part)
        if path and call in ok and part.name != TESTS:
            # Removed and added again, so that the file that was used last is at the end.
            counts = calls_by_file.pop(path, {})
            calls_by_file[path] = counts
            # For an edited file only the edits count, so earlier reads are forgotten.
            if part.name not in _ONLY_READ and path not in edited:
                edited.add(path)
                counts.clear()
            if part.name not in _ONLY_READ or path not in edited:
                counts[part.name] = counts.get(part.name, 0) + 1
                reason[path] = texts_by_call.get(call) or reason.get(path, "")
    changed, read, known = list[_File](), list[_File](), frozenset(facts.changed)
    for path, counts in calls_by_file.items():
        if facts.removed.get(path):
            continue
        name = f"{path} (deleted)" if path in facts.removed else path
        if path in known and path not in edited:
            # A command or a delegate changed the file. The calls in `counts` only read it.
            changed.append(_File(name, "", ""))
            continue
        file = _File(
            name, ", ".join(f"{tool} {count}×" for tool, count in counts.items()), reason.get(path, "")
        )
        if path in edited:
            changed.append(file)
        elif READS in counts:  # The path of another call may be a folder.
            read.append(file)
    return (
        _file_block(
            "Changed files",
            changed,
            0.08,
            "files that were changed",
            more=len(facts.changed) - listed_count,
        ),
        _file_block("Files read", read, 0.03, ""),
    )


def _file_block(
    title: str, files: Sequence[_File], share: float, user_label: str, *, more: int = 0
) -> SummaryBlock:
    first = f"- … and {format_number(more)} more, changed earlier\n" if more else ""
    full_text = first + "\n".join(file.line for file in files)
    shortest = files if user_label else files[-MAX_OPEN_FILES:]
    needs = len(first) + len(_list_by_folder(shortest)) + (0 if user_label else _NOTE_CHARS)
    fit = partial(_fit_files, files, full_text, first, bool(user_label))
    return SummaryBlock(title, full_text, fit, min(len(full_text), needs), share, user_label)


def _fit_files(files: Sequence[_File], full_text: str, first: str, lasts: bool, room: int) -> FittedText:
    """Return the longest list that fits into `room`: files with counts, files by folder, or only the newest files.

    - `first`: text before a complete list.
    - `lasts`: True if an artifact with `full_text` exists. The note about left-out files then names it.
    """
    with_counts = "\n".join(
        f"- {file.name}: {file.counts}" if file.counts else f"- {file.name}" for file in files
    )
    folders = _list_by_folder(files)
    for form in (first + with_counts, first + folders):
        if len(form) <= room:
            return FittedText(form)
    lines = [f"- {file.name}" for file in files]
    fitting = min(len(files), max(1, count_fitting(lines[::-1], room - _NOTE_CHARS)))
    omitted = len(files) - fitting
    note = f"{LEFT_OUT_PREFIX}{omitted} older{f'; read_file {artifact_id(full_text)}' if lasts else ''})"
    return FittedText("\n".join([note, *lines[omitted:]]), cut=True, dropped=omitted)


def _list_by_folder(files: Sequence[_File]) -> str:
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, name = file.name.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return "\n".join(
        f"- {folder}/: {', '.join(names)}" if folder else f"- {', '.join(names)}"
        for folder, names in folders.items()
    )


def _texts_before_calls(messages: Sequence[Message]) -> dict[CallId, str]:
    texts_by_call: dict[CallId, str] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            answer_text = next((part.text for part in message.parts if isinstance(part, TextPart)), "")
            calls = [part.call_id for part in tool_calls(message.parts)]
            texts_by_call |= dict.fromkeys(calls, first_line(text_preview(answer_text), 100))
    return texts_by_call


def _artifact(artifact: Artifact) -> str:
    return f"- {artifact.id}: {artifact.tool}, {format_bytes(artifact.size)}, {format_count(artifact.lines, 'line')}"
