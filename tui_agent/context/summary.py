"""The text that stands for what was summarised: what is recorded, in sections, and the story behind it.

Invariant: the task, the user's words, pins, plan, tasks, files and failing tests come from the record and from no
model; an older summary gives only its story, so that summaries do not grow by each other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from tui_agent.context.compaction_limits import chars_of
from tui_agent.context.priorities import Block, Short, shared_out
from tui_agent.context.summary_facts import LEFT_OUT, Facts, Text, lasting, line_of, reach, words_of
from tui_agent.context.truncation import head_and_tail
from tui_agent.folds.context.compacted_history import call_words, preview
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    SummaryMessage,
    SummaryShare,
    ToolMessage,
    UserKind,
    UserMessage,
)
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.unicode_text import counted

TITLE: Final = "# What came before"
STORY: Final = "What was done and found"
CHAPTER: Final = "\n\n### After that\n"
"""Between what one summary after another told from the record."""
_INTRO: Final = (
    "The beginning of this session was put away to save room. All but the last section is from the record. "
    "Nothing here asks for anything anew: go on where the messages behind it stand."
)
_BESIDE: Final[dict[UserKind, str]] = {
    "mentions": "FILES that the user's message mentions",
    "map": "MAP of the repository, made by the program",
    "passing": "NOTE of the program",
    "restored": "BROUGHT BACK by the user",
    "instructions": "INSTRUCTIONS that stay in the prompt",
}
_LEAST: Final = 400
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class CutText:
    """What should be whole and has no room: what it is, for a person, all of it, and characters that are left."""

    what: str
    whole: str
    chars: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, what in it are a person's own words, and what was cut."""

    text: str
    shares: tuple[SummaryShare, ...]
    cuts: tuple[CutText, ...]


def summary_of(facts: Facts, story: str, room: int, wished: int, text: Text) -> Summary:
    """The summary, of about `wished` characters, and of up to `room` where what must not be lost needs that."""
    told = _lowered(story).strip()
    last = Block(STORY, told, partial(_story_in, told), min(len(told), max(_LEAST, room // 16)), 0.06)
    blocks = [*lasting(facts, text), last]
    frame = f"{TITLE}\n{_INTRO}"
    heads = sum(len(one.title) + 6 for one in blocks if one.whole)
    made = shared_out(blocks, room - len(frame) - heads, wished - len(frame) - heads)
    pairs = list(zip(blocks, made, strict=True))
    body = "\n\n".join(f"## {block.title}\n{short.text}" for block, short in pairs if short.text)
    cuts = tuple(
        CutText(block.what, block.whole, len(short.text))
        for block, short in pairs
        if block.lasts and short.cut
    )
    words = f"{frame}\n\n{body}"
    return Summary(words, _shares(pairs, len(words)), cuts)


def needed_chars(facts: Facts, text: Text) -> tuple[int, int]:
    """Characters of what must not be lost, in its shortest whole form, and of a person's own words in it."""
    blocks = lasting(facts, text)
    return sum(block.needs for block in blocks), sum(block.needs for block in blocks if block.own)


def _shares(pairs: Sequence[tuple[Block, Short]], size: int) -> tuple[SummaryShare, ...]:
    """A person's words, where there are any, and the rest."""
    chars, less, dropped = [0, 0], [0, 0], [0, 0]
    for block, short in pairs:
        lost = max(0, len(block.whole) - len(short.text)) if block.lasts and short.cut else 0
        chars[block.own] += len(short.text)
        less[block.own] += lost
        dropped[block.own] += short.dropped if block.lasts else 0
    rest = size - chars[1]
    shares = (
        SummaryShare(
            section="task_contract", raw_chars=chars[1] + less[1], chars=chars[1], dropped_blocks=dropped[1]
        ),
        SummaryShare(
            section="packed_context", raw_chars=rest + less[0], chars=rest, dropped_blocks=dropped[0]
        ),
    )
    return shares if chars[1] else shares[1:]


def _story_in(told: str, room: int) -> Short:
    return Short(_short(told, room), cut=True)


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
    lines = [line_of(one, room // 4) for one in chapter.split("\n") if not one.startswith(LEFT_OUT)]
    first = max(1, reach(lines, round(room * begin)))
    last = reach(lines[:first:-1], round(room * (1 - begin)))
    gone = len(lines) - first - last
    return "\n".join([*lines[:first], f"{LEFT_OUT}{counted(gone, 'line')})", *lines[len(lines) - last :]])


def _lines(messages: Sequence[Message], text: Text) -> Iterator[str]:
    ok = {one.call_id: one.ok for one in messages if isinstance(one, ToolMessage)}
    for one in messages:
        match one:
            case UserMessage(kind="said"):
                yield f"- The user: {line_of(preview(one))}"
            case AssistantMessage(parts=parts):
                for part in parts:
                    if isinstance(part, ToolCallPart):
                        end = "" if ok.get(part.call_id, True) else " (failed)"
                        yield f"- Called {line_of(call_words(part))}{end}"
                    elif isinstance(part, TextPart):
                        yield f"- You: {line_of(text(part.text))}"
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
            return f"USER: {_short(words_of(content, text), 8_000)}"
        case UserMessage(kind=kind, content=content):
            words = _short(words_of(content, text), 2_000 if kind == "mentions" else _LEAST)
            return f"{_BESIDE[kind]}: {words}"
        case ToolMessage(name=name, content=content, ok=ok):
            return f"RESULT of {name}{'' if ok else ' (failed)'}: {_short(words_of(content, text), 2_000)}"
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


def _short(words: str, room: int) -> str:
    return head_and_tail(words.strip(), max_bytes=max(room, _LEAST), max_lines=2_000).text


def _lowered(story: str) -> str:
    """A story whose headings cannot be taken for those of the summary."""
    return "\n".join(f"#{line}" if line.startswith(("# ", "## ")) else line for line in story.split("\n"))


def total_chars(messages: Sequence[Message]) -> int:
    """Characters of a history."""
    return sum(map(chars_of, messages))
