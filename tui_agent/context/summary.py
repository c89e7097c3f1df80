"""L3: the text that stands for what was summarised: what is recorded, in sections, and the story behind it.

Invariant: the task, the user's words, pins, plan, tasks, files and failing tests come from the record and from no
model; an older summary gives only its story, so that summaries do not grow by each other.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tui_agent.context.shrinking import TESTS, calls_of, chars_of, path_of
from tui_agent.context.truncate import head_and_tail
from tui_agent.folds.forgotten import call_words, preview, quoted
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.todo import TodoItem
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import Content, TextContent, TextPart, ToolCallPart

TITLE: Final = "# What came before"
STORY: Final = "What was done and found"
FAILING: Final = "Tests that fail"
CHAPTER: Final = "\n\n### After that\n"
"""Between what one summary after another told from the record."""
_LEFT_OUT: Final = "(left out: "
_INTRO: Final = (
    "The beginning of this session was put away to save room. All but the last section is from the record. "
    "Nothing here asks for anything anew: go on where the messages behind it stand."
)
_MARKS: Final = {"completed": "x", "in_progress": ">", "pending": " "}
_BESIDE: Final[dict[UserKind, str]] = {
    "mentions": "FILES that the user's message mentions",
    "map": "MAP of the repository, made by the program",
    "passing": "NOTE of the program",
    "restored": "BROUGHT BACK by the user",
}
MOST_CHANGED: Final = 60
MOST_READ: Final = 30
_ONLY_READ: Final[frozenset[str]] = frozenset(("read_file", "list_directory", "grep", "glob", "repo_map"))
MOST_ARTIFACTS: Final = 8
_LEAST: Final = 400
_TRIES: Final = 5

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


def summary_text(facts: Facts, story: str, room: int, text: Text) -> str:
    """The summary, of about `room` characters; the task is in it word for word as far as half of that reaches."""
    calls = calls_of(facts.originals)
    sections = [
        ("The task, in the user's words", _task(facts, room // 2, text)),
        ("What the user said since", _said(facts, room // 3, text)),
        ("To be kept, word for word", _pinned(facts, room // 2, text)),
        ("The plan", _short(_plan(facts, calls), room // 6)),
        ("Tasks", _short("\n".join(map(_todo, facts.todo)), room // 6)),
        *_files(facts, calls, room // 6),
        (FAILING, _failing(facts, calls, room // 6, text)),
        ("Outputs that read_artifact reads", "\n".join(map(_artifact, facts.artifacts[-MOST_ARTIFACTS:]))),
        (STORY, _short(_lowered(story), room // 2)),
    ]
    body = "\n\n".join(f"## {head}\n{said}" for head, said in sections if said)
    return f"{TITLE}\n{_INTRO}\n\n{body}"


def story_of(summary: str) -> str:
    """What an older summary told beside the record."""
    _, found, story = summary.rpartition(f"\n## {STORY}\n")
    return story if found else summary


def told(messages: Sequence[Message], room: int, text: Text) -> str:
    """What was done, from the record alone: what an older summary told, in up to half of the room, and a line for each
    thing since, the first and the newest where there is no room for all."""
    stories = [story_of(text(one.text)).strip() for one in messages if isinstance(one, SummaryMessage)]
    earlier = _chapters(CHAPTER.join(filter(None, stories)), room // 2)
    since = _gist("\n".join(_lines(messages, text)), room - len(earlier), 0.2)
    return CHAPTER.join(filter(None, (earlier, since)))


def _chapters(story: str, room: int) -> str:
    """A story of several summaries, each with its share of the room: the first and the newest by themselves, what is
    between them as one where they are many."""
    chapters = story.split(CHAPTER)
    most = max(3, room // _LEAST)
    if len(chapters) > most:
        newest = len(chapters) - most + 2
        chapters = [chapters[0], "\n".join(chapters[1:newest]), *chapters[newest:]]
    return CHAPTER.join(_gist(one, room // len(chapters)) for one in chapters)


def _gist(chapter: str, room: int, begin: float = 0.6) -> str:
    """Its first lines, in this share of the room, and its last."""
    if len(chapter) <= room:
        return chapter
    lines = [_line(one, room // 4) for one in chapter.split("\n") if not one.startswith(_LEFT_OUT)]
    first = max(1, _reach(lines, round(room * begin)))
    last = _reach(lines[:first:-1], round(room * (1 - begin)))
    gone = len(lines) - first - last
    return "\n".join([*lines[:first], f"{_LEFT_OUT}{gone} lines)", *lines[len(lines) - last :]])


def _reach(lines: Sequence[str], room: int) -> int:
    """How many of them the room is enough for."""
    sizes = accumulate(len(line) + 1 for line in lines)
    return sum(size <= room for size in sizes)


def _lines(messages: Sequence[Message], text: Text) -> Iterator[str]:
    ok = {one.call_id: one.ok for one in messages if isinstance(one, ToolMessage)}
    for one in messages:
        match one:
            case UserMessage(kind="said"):
                yield f"- The user: {_line(preview(one))}"
            case AssistantMessage(parts=parts):
                for part in parts:
                    if isinstance(part, ToolCallPart):
                        end = "" if ok.get(part.call_id, True) else " (failed)"
                        yield f"- Called {_line(call_words(part))}{end}"
                    elif isinstance(part, TextPart):
                        yield f"- You: {_line(text(part.text))}"
            case UserMessage() | SummaryMessage() | ToolMessage():
                pass


def transcript(messages: Sequence[Message], room: int, text: Text) -> str:
    """The messages as a text to be summarised: what an older summary told, and the newest whole as far as `room` characters
    reach, each within bounds."""
    first = [_short(_piece(one, text), room // 4) for one in messages[:1] if isinstance(one, SummaryMessage)]
    messages = messages[len(first) :]
    pieces, left = list[str](), room - sum(map(len, first))
    for one in reversed(messages):
        piece = _piece(one, text)
        left -= len(piece) + 2
        if left < 0:
            pieces.append(
                f"[… {len(messages) - len(pieces)} earlier messages are left out, for want of room …]"
            )
            break
        pieces.append(piece)
    return "\n\n".join([*first, *reversed(pieces)])


def transcript_within(
    messages: Sequence[Message], room: int, text: Text, count: Callable[[str], int], most: int
) -> str:
    """The transcript, of about `room` characters, and of at most so many tokens by `count`: what was found out last can be
    denser than the whole is on average."""
    words = transcript(messages, room, text)
    for _ in range(_TRIES):
        tokens = count(words)
        if tokens <= most:
            break
        room = int(min(room, len(words)) * max(most, 1) / tokens * 0.95)
        words = transcript(messages, room, text)
    return words


def _piece(message: Message, text: Text) -> str:
    match message:
        case UserMessage(kind="said", content=content):
            return f"USER: {_short(_words(content, text), 8_000)}"
        case UserMessage(kind=kind, content=content):
            words = _short(_words(content, text), 2_000 if kind == "mentions" else _LEAST)
            return f"{_BESIDE[kind]}: {words}"
        case ToolMessage(name=name, content=content, ok=ok):
            return f"RESULT of {name}{'' if ok else ' (failed)'}: {_short(_words(content, text), 2_000)}"
        case SummaryMessage(text=words):
            return f"EARLIER SUMMARY: {_short(story_of(text(words)), 8_000)}"
        case AssistantMessage(parts=parts):
            said = [
                f"CALL {call_words(part)}"
                if isinstance(part, ToolCallPart)
                else _short(text(part.text), 4_000)
                for part in parts
                if isinstance(part, ToolCallPart | TextPart)
            ]
            return "ASSISTANT: " + "\n".join(said)


def _task(facts: Facts, room: int, text: Text) -> str:
    first = next((one for one in _own(facts)), None)
    return "" if first is None else _short(_words(first.content, text), room)


def _own(facts: Facts) -> Iterator[UserMessage]:
    return (
        one
        for one in facts.originals
        if isinstance(one, UserMessage) and one.kind == "said" and one.seq in facts.spoken
    )


def _said(facts: Facts, room: int, text: Text) -> str:
    """The newest words of the user, whole as far as there is room, older ones as a line. Those that stay as messages are
    left out."""
    own = [one for one in list(_own(facts))[1:] if one.seq <= facts.through]
    lines, left = list[str](), room
    for one in reversed(own):
        words = _words(one.content, text)
        whole = "> " + words.replace("\n", "\n> ")
        piece = whole if len(whole) <= left else f"> {_line(words)}"
        left -= len(piece)
        if left < -_LEAST:
            lines.append(f"> [… {len(own) - len(lines)} earlier messages of the user …]")
            break
        lines.append(piece)
    return "\n\n".join(reversed(lines))


def _pinned(facts: Facts, room: int, text: Text) -> str:
    wanted = [one for one in facts.originals if one.seq in facts.pinned and one.seq <= facts.through]
    share = room // max(1, len(wanted))
    return "\n\n".join(_short(_words(quoted(one, 0).content, text), max(share, _LEAST)) for one in wanted)


def _plan(facts: Facts, calls: dict[CallId, ToolCallPart]) -> str:
    approved = {
        one.call_id for one in facts.originals if isinstance(one, ToolMessage) and one.ok and one.call_id
    }
    plans = [part for call, part in calls.items() if part.name == "present_plan" and call in approved]
    plan = plans[-1].arguments.get("plan") if plans else ""
    return plan if isinstance(plan, str) else ""


def _todo(item: TodoItem) -> str:
    return f"{'  ' if item.parent else ''}- [{_MARKS.get(item.status, ' ')}] {item.content} ({item.status})"


def _files(facts: Facts, calls: dict[CallId, ToolCallPart], room: int) -> list[tuple[str, str]]:
    """The files that were worked with, each with what was done and what was said of it: those that were changed, and
    those that were only read; the newest last."""
    ok = {one.call_id for one in facts.originals if isinstance(one, ToolMessage) and one.ok}
    why = _said_of(facts.originals)
    done: dict[str, dict[str, int]] = {}
    reason: dict[str, str] = {}
    for call, part in calls.items():
        path = path_of(part)
        if path and call in ok:
            counts = done.pop(path, {})
            counts[part.name] = counts.get(part.name, 0) + 1
            done[path] = counts
            reason[path] = why.get(call) or reason.get(path, "")
    changed, read = list[str](), list[str]()
    for path, counts in done.items():
        line = f"- {path}: {', '.join(f'{name} {count}×' for name, count in counts.items())}"
        said = f" ({reason[path]})" if reason[path] else ""
        (read if counts.keys() <= _ONLY_READ else changed).append(line + said)
    return [
        ("Files that were changed", _newest(changed, MOST_CHANGED, room)),
        ("Files that were read", _newest(read, MOST_READ, room // 2 if changed else room)),
    ]


def _said_of(messages: Sequence[Message]) -> dict[CallId, str]:
    """The words that stood before each call."""
    why: dict[CallId, str] = {}
    for one in messages:
        if isinstance(one, AssistantMessage):
            said = next((part.text for part in one.parts if isinstance(part, TextPart)), "")
            calls = [part.call_id for part in one.parts if isinstance(part, ToolCallPart)]
            why |= dict.fromkeys(calls, _line(preview_of(said), 100))
    return why


def _newest(lines: Sequence[str], most: int, room: int) -> str:
    """The newest of them that there is room for, and how many are not told."""
    fit = _reach(lines[::-1][:most], max(room, _LEAST))
    if fit == len(lines):
        return "\n".join(lines)
    return "\n".join([f"{_LEFT_OUT}{len(lines) - fit} older)", *lines[len(lines) - fit :]])


def preview_of(text: LongText) -> str:
    """What of a text is at hand."""
    return text if isinstance(text, str) else text.preview


def _failing(facts: Facts, calls: dict[CallId, ToolCallPart], room: int, text: Text) -> str:
    """The names of all that fail, and what the newest run of tests told where it failed."""
    results = [one for one in facts.originals if isinstance(one, ToolMessage) and one.name == TESTS]
    newest = results[-1] if results and not results[-1].ok and results[-1].call_id in calls else None
    told = _short(_words(newest.content, text), room) if newest is not None else ""
    names = [f"- {name}" for name in facts.failing if name not in told]
    return "\n".join([*names, *filter(None, [told])])


def _artifact(artifact: Artifact) -> str:
    return f"- {artifact.id}: {artifact.tool}, {artifact.size:,} bytes, {artifact.lines:,} lines"


def _words(content: Sequence[Content], text: Text) -> str:
    return "\n".join(text(one.text) if isinstance(one, TextContent) else "[an image]" for one in content)


def _short(words: str, room: int) -> str:
    return head_and_tail(words.strip(), max_bytes=max(room, _LEAST), max_lines=2_000).text


def _line(words: str, most: int = 160) -> str:
    one = " ".join(words.split())
    return one if len(one) <= most else f"{one[:most]}…"


def _lowered(story: str) -> str:
    """A story whose headings cannot be taken for those of the summary."""
    return "\n".join(f"#{line}" if line.startswith(("# ", "## ")) else line for line in story.split("\n"))


def total_chars(messages: Sequence[Message]) -> int:
    """Characters of a history."""
    return sum(map(chars_of, messages))
