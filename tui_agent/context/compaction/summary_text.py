"""The text of a summary: recorded facts in sections, followed by the story of the work so far.

Invariant: the recorded facts come from the log and not from a model.
"""
# A new summary takes over only the story of an older summary, so that summaries do not grow.

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Literal

from tui_agent.context.compaction.summarised_messages import chars_of
from tui_agent.context.compaction.summary_blocks import FittedText, SummaryBlock, fit_blocks
from tui_agent.context.compaction.summary_facts import (
    LEFT_OUT_PREFIX,
    Facts,
    Text,
    count_fitting,
    fact_blocks,
    first_line,
    text_of_content,
)
from tui_agent.context.truncation import head_and_tail
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.compacted_history import format_call, preview
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    SummaryShare,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import TextPart, ToolCallPart
from tui_agent.protocol.unicode_text import format_count

TITLE: Final = "# What came before"
STORY: Final = "What was done and found"
CHAPTER: Final = "\n\n### After that\n"
"""Heading between an older summary's story and the story of the later work."""
_INTRO: Final = (
    "The beginning of this session was summarised to save space. All sections except the last are "
    "copied from the session log. Nothing here is a new request. Continue after the last message."
)
_BESIDE: Final[dict[MessageOrigin, str]] = {
    "mentions": "FILES mentioned in the user's message",
    "map": "MAP of the repository, from tui-agent",
    "transient": "NOTE from tui-agent",
    "restored": "RESTORED by the user",
    "instructions": "INSTRUCTIONS that stay in the prompt",
    "hook": "NOTE from a hook",
}
_MIN_TEXT_CHARS: Final = 400
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class CutText:
    """A text that was shortened because there was no room.

    `label`: description of the text for the user.
    `chars`: number of characters that remain.
    """

    label: str
    full_text: str
    chars: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, the sizes of its sections, and the texts that were cut."""

    text: str
    shares: tuple[SummaryShare, ...]
    cuts: tuple[CutText, ...]


def build_summary(facts: Facts, story: str, room: int, preferred: int, text: Text) -> Summary:
    """Build a summary of about `preferred` characters, or up to `room` characters if required content needs more."""
    story_text = _lower_headings(story).strip()
    last = SummaryBlock(
        STORY,
        story_text,
        partial(_fit_story, story_text),
        min(len(story_text), max(_MIN_TEXT_CHARS, room // 16)),
        0.06,
    )
    blocks = [*fact_blocks(facts, text), last]
    frame = f"{TITLE}\n{_INTRO}"
    heads = sum(len(block.title) + 6 for block in blocks if block.full_text)
    texts = fit_blocks(blocks, room - len(frame) - heads, preferred - len(frame) - heads)
    pairs = list(zip(blocks, texts, strict=True))
    body = "\n\n".join(f"## {block.title}\n{short.text}" for block, short in pairs if short.text)
    cuts = tuple(
        CutText(block.user_label, block.full_text, len(short.text))
        for block, short in pairs
        if block.is_required and short.cut
    )
    cuts += tuple(
        CutText(excerpt.user_label, excerpt.full_text, excerpt.shown_chars)
        for block in blocks
        for excerpt in block.excerpts
    )
    full_text = f"{frame}\n\n{body}"
    return Summary(full_text, _shares(pairs, len(full_text)), cuts)


def needed_chars(facts: Facts, text: Text) -> tuple[int, int]:
    """Return two numbers: the characters of all required content, and the characters of the user's words in it."""
    blocks = fact_blocks(facts, text)
    return sum(block.needs for block in blocks), sum(block.needs for block in blocks if block.is_users)


def _shares(pairs: Sequence[tuple[SummaryBlock, FittedText]], size: int) -> tuple[SummaryShare, ...]:
    user_pairs = [pair for pair in pairs if pair[0].is_users]
    other_pairs = [pair for pair in pairs if not pair[0].is_users]
    user_chars = sum(len(short.text) for _, short in user_pairs)
    other_share = _share("packed_context", size - user_chars, other_pairs)
    return (_share("task_contract", user_chars, user_pairs), other_share) if user_chars else (other_share,)


def _share(
    section: Literal["task_contract", "packed_context"],
    chars: int,
    pairs: Sequence[tuple[SummaryBlock, FittedText]],
) -> SummaryShare:
    required = [(block, short) for block, short in pairs if block.is_required]
    lost = sum(max(0, len(block.full_text) - len(short.text)) for block, short in required if short.cut)
    lost += sum(
        len(excerpt.full_text) - excerpt.shown_chars for block, _ in pairs for excerpt in block.excerpts
    )
    dropped = sum(short.dropped for _, short in required)
    return SummaryShare(section=section, raw_chars=chars + lost, chars=chars, dropped_blocks=dropped)


def _fit_story(story_text: str, room: int) -> FittedText:
    return FittedText(_shorten(story_text, room), cut=True)


def story_of(summary: str) -> str:
    """Return the story section of an older summary. If the summary has no such section, return all of it."""
    _, heading, story = summary.rpartition(f"\n## {STORY}\n")
    return story if heading else summary


def story_from_record(messages: Sequence[Message], room: int, text: Text) -> str:
    """Return a story built from the log alone, without a model."""
    stories = [
        story_of(text(message.text)).strip() for message in messages if isinstance(message, SummaryMessage)
    ]
    earlier = _shorten_chapters(CHAPTER.join(filter(None, stories)), room // 2)
    since = _shorten_chapter("\n".join(_turn_lines(messages, text)), room - len(earlier), 0.2)
    return CHAPTER.join(filter(None, (earlier, since)))


def _shorten_chapters(story: str, room: int) -> str:
    """Shorten a story of several chapters: each chapter gets an equal share of `room` characters."""
    chapters = story.split(CHAPTER)
    max_chapters = max(3, room // _MIN_TEXT_CHARS)
    if len(chapters) > max_chapters:
        newest = len(chapters) - max_chapters + 2
        chapters = [chapters[0], "\n".join(chapters[1:newest]), *chapters[newest:]]
    return CHAPTER.join(_shorten_chapter(chapter, room // len(chapters)) for chapter in chapters)


def _shorten_chapter(chapter: str, room: int, begin: float = 0.6) -> str:
    """Return the chapter, cut to `room` characters by leaving out its middle.

    `begin`: fraction of the characters for the first lines.
    """
    if len(chapter) <= room:
        return chapter
    lines = [
        first_line(line, room // 4) for line in chapter.split("\n") if not line.startswith(LEFT_OUT_PREFIX)
    ]
    first = max(1, count_fitting(lines, round(room * begin)))
    # The slice ends before `lines[first]`, so at least one line is left out and the note below is true.
    last = count_fitting(lines[:first:-1], round(room * (1 - begin)))
    omitted = len(lines) - first - last
    return "\n".join(
        [*lines[:first], f"{LEFT_OUT_PREFIX}{format_count(omitted, 'line')})", *lines[len(lines) - last :]]
    )


def _turn_lines(messages: Sequence[Message], text: Text) -> Iterator[str]:
    ok = {message.call_id: message.ok for message in messages if isinstance(message, ToolMessage)}
    for message in messages:
        match message:
            case UserMessage(origin="prompt"):
                yield f"- The user: {first_line(preview(message))}"
            case AssistantMessage(parts=parts):
                for part in parts:
                    if isinstance(part, ToolCallPart):
                        end = "" if ok.get(part.call_id, True) else " (failed)"
                        yield f"- Called {first_line(format_call(part))}{end}"
                    elif isinstance(part, TextPart):
                        yield f"- You: {first_line(text(part.text))}"
            case UserMessage() | SummaryMessage() | ToolMessage():
                pass


def transcript(messages: Sequence[Message], room: int, text: Text) -> str:
    """Return the text to summarise, with at most `room` characters."""
    first = [
        _shorten(_format_message(message, text), room // 4)
        for message in messages[:1]
        if isinstance(message, SummaryMessage)
    ]
    messages = messages[len(first) :]
    pieces, remaining = list[str](), room - sum(map(len, first))
    for message in reversed(messages):
        piece = _format_message(message, text)
        remaining -= len(piece) + 2
        if remaining < 0:
            pieces.append(f"[… {len(messages) - len(pieces)} earlier messages left out: no room …]")
            break
        pieces.append(piece)
    return "\n\n".join([*first, *reversed(pieces)])


def transcript_within(
    messages: Sequence[Message], room: int, text: Text, count: Callable[[str], int], limit: int
) -> str:
    """Return the transcript, shortened to `limit` tokens or fewer.

    `count`: returns the number of tokens of a text.
    """
    # A limit in characters is not enough, because new text can have more tokens per character than the average.
    transcript_text = transcript(messages, room, text)
    for _ in range(_TRIES):
        tokens = count(transcript_text)
        if tokens <= limit:
            break
        # Slightly less than proportional, because the remaining text can have more tokens per character.
        room = int(min(room, len(transcript_text)) * max(limit, 1) / tokens * 0.95)
        transcript_text = transcript(messages, room, text)
    return transcript_text


def _format_message(message: Message, text: Text) -> str:
    match message:
        case UserMessage(origin="prompt", content=content):
            return f"USER: {_shorten(text_of_content(content, text), 8_000)}"
        case UserMessage(origin=kind, content=content):
            words = _shorten(
                text_of_content(content, text), 2_000 if kind in ("mentions", "hook") else _MIN_TEXT_CHARS
            )
            return f"{_BESIDE[kind]}: {words}"
        case ToolMessage(name=name, content=content, ok=ok):
            return f"RESULT of {name}{'' if ok else ' (failed)'}: {_shorten(text_of_content(content, text), 2_000)}"
        case SummaryMessage(text=words):
            return f"EARLIER SUMMARY: {_shorten(story_of(text(words)), 8_000)}"
        case AssistantMessage(parts=parts):
            pieces = [
                f"CALL {format_call(part)}"
                if isinstance(part, ToolCallPart)
                else _shorten(text(part.text), 4_000)
                for part in parts
                if isinstance(part, ToolCallPart | TextPart)
            ]
            return "ASSISTANT: " + "\n".join(pieces)


def _shorten(words: str, room: int) -> str:
    return head_and_tail(words.strip(), max_bytes=max(room, _MIN_TEXT_CHARS), max_lines=2_000).text


def _lower_headings(story: str) -> str:
    """Move a story's headings to levels below the summary's headings."""
    return "\n".join(f"#{line}" if line.startswith(("# ", "## ")) else line for line in story.split("\n"))


def total_chars(messages: Sequence[Message]) -> int:
    return sum(map(chars_of, messages))
