"""Export of a session as a Markdown file that reads well in any viewer.

Invariant: text of programs and files is inside fences that it cannot close; no HTML of the session is live.
"""

import html
import re
from collections.abc import Iterator, Sequence

from tui_agent.export.labels import (
    AUTHORS,
    SAID,
    answered,
    block_text,
    facts,
    mentions,
    other_changes,
    pictures,
    tool_words,
    turn_end,
)
from tui_agent.export.story import Change, Story, Texts
from tui_agent.folds.transcript.entries import (
    AnswerEntry,
    Entry,
    NoticeEntry,
    QuestionEntry,
    ReasoningEntry,
    ToolEntry,
    TurnEntry,
    UserEntry,
)
from tui_agent.protocol.display import DiffBlock, DisplayBlock, MarkdownBlock
from tui_agent.units import format_time

OUTPUT_LINES = 40
"""Maximum lines shown of an output; of a longer one both ends."""
LINE_CHARS = 400
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_SPECIAL_CHARS = re.compile(r"[\\`*\[\]<|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LINK_TARGET = re.compile(r"\]([(:])\s*([^\s)]*)")
"""The target of a link, inline or in a reference definition."""
_SCHEME = re.compile(r"<?([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPED_CHAR = re.compile(r"\\([!-/:-@\[-`{-~])")
_CONTROL_CHARS = re.compile(r"[\x00-\x20\x7f]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def to_markdown(story: Story) -> str:
    """Return the complete file."""
    return "\n\n".join(block.rstrip() for block in _blocks(story) if block.strip()) + "\n"


def _blocks(story: Story) -> Iterator[str]:
    yield f"# {inline(story.title) or 'A session'}"
    yield "\n".join(f"- {name}: {inline(value)}" for name, value in facts(story))
    outside_changes = [change for change in story.changes if change.call_id is None]
    turn = 0
    for entry in story.entries:
        while outside_changes and outside_changes[0].seq < entry.seq:
            yield from _change(outside_changes.pop(0))
        if entry.turn > turn:
            turn = entry.turn
            yield f"## Turn {turn}"
        yield from _entry(entry, story)
    for change in outside_changes:
        yield from _change(change)


def _entry(entry: Entry, story: Story) -> Iterator[str]:
    texts = story.texts
    match entry:
        case UserEntry(text=text, state=state):
            yield f"**You**{_parenthesis(SAID[state], format_time(entry.at) if entry.at else '')}"
            yield quote("\n".join([texts.whole(text), *(f"[{name}]" for name in pictures(entry, texts))]))
            yield "\n".join(f"- {code(name)}: {inline(sent)}" for name, sent in mentions(entry, texts))
        case AnswerEntry(text=text, stopped=stopped):
            answer = _without_html(texts.whole(text))
            yield f"**Agent**{_parenthesis('cut short' if stopped else '')}" if answer.strip() else ""
            yield answer
        case ReasoningEntry(text=text):
            yield quote(f"*Thinking*\n\n{texts.whole(text)}") if texts.whole(text).strip() else ""
        case ToolEntry() if not entry.asks:
            yield from _tool(entry, story)
        case QuestionEntry(text=text, options=options):
            yield "**Question**"
            yield quote("\n".join([texts.whole(text), *(f"- {texts.plain(option)}" for option in options)]))
            yield quote(f"Answer: {answered(entry, texts)}")
        case NoticeEntry(lines=lines, blocks=blocks, level=level):
            sentences = inline(" ".join(texts.plain(line) for line in lines))
            yield f"*{level}:* {sentences}" if level in ("warning", "error") else f"*{sentences}*"
            yield from (_block(block, texts) for block in blocks)
        case TurnEntry(detail=detail):
            note = inline(texts.plain(detail))
            yield f"*Turn {entry.turn}: {turn_end(entry)}{'. ' + note if note else ''}*"


def _tool(entry: ToolEntry, story: Story) -> Iterator[str]:
    verb, target, outcome = tool_words(entry, story.texts)
    argument = f" {code(target)}" if target else ""
    yield f"- **{inline(verb)}**{argument}{' — ' + inline(outcome) if outcome else ''}"
    for block in entry.blocks:
        yield _block(block, story.texts)
    if entry.output and not entry.blocks:
        yield fenced(clipped(story.texts.plain(entry.output)), "")
    for change in other_changes(entry, story.changes_of(entry.call_id)):
        yield from _change(change)


def _block(block: DisplayBlock, texts: Texts) -> str:
    text = block_text(block, texts)
    if isinstance(block, DiffBlock):
        path = texts.plain(block.path)
        return f"{code(path)} +{block.added} −{block.removed}\n\n{fenced(clipped(text), 'diff')}"
    if isinstance(block, MarkdownBlock):
        return quote(_without_html(text))
    return fenced(clipped(text), "") if text.strip() else ""


def _change(change: Change) -> Iterator[str]:
    yield f"{code(change.path)} +{change.added} −{change.removed}, {AUTHORS.get(change.author, change.author)}"
    yield fenced(clipped(change.diff), "diff") if change.diff else f"({change.note})"


def clipped(text: str, lines: int = OUTPUT_LINES, width: int = LINE_CHARS) -> str:
    """Return the beginning and end of a long text, with a note on what was left out between them."""
    shown = [
        line if len(line) <= width else f"{line[:width]}… ({len(line)} characters)"
        for line in text.rstrip("\n").split("\n")
    ]
    if len(shown) > lines + 1:
        gap = f"… {len(shown) - lines} more lines …"
        shown = [*shown[: lines // 2], gap, *shown[-(lines - lines // 2) :]]
    return "\n".join(shown)


def _parenthesis(*phrases: str) -> str:
    text = ", ".join(phrase for phrase in phrases if phrase)
    return f" ({text})" if text else ""


def quote(text: str) -> str:
    """Return foreign Markdown as a quotation."""
    lines = _without_html(text).split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def fenced(text: str, language: str) -> str:
    """Return a text in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def code(text: str) -> str:
    """Return a one-line text as code, whatever characters it has."""
    one_line = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", one_line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {one_line} {ticks}" if longest else f"`{one_line}`"


def inline(text: str) -> str:
    """Return foreign text for a line of ours, with all its special characters escaped."""
    return _SPECIAL_CHARS.sub(r"\\\g<0>", " ".join(text.split()))


def _without_html(text: str) -> str:
    """Return foreign Markdown with its tags as text; fenced text stays unchanged."""
    lines, fence = [], ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            lines.append(line)
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = match[1] if match else ""
            lines.append(line if match else _neutralise(line))
    return "\n".join(_close_fence(lines, fence))


def _neutralise(line: str) -> str:
    """Return a foreign line without live tags, and with links only to the web, mail or nearby files."""
    return _LINK_TARGET.sub(_neutralise_link, _TAG_START.sub("&lt;", line))


def _neutralise_link(match: re.Match[str]) -> str:
    """Return a link unchanged if it is harmless, otherwise escaped. Its target may be in the next line: then
    escape it."""
    unknown = not match[2] and match.end() == len(match.string)
    return f"]\\{match[0][1:]}" if unknown or not _is_harmless(match[2]) else match[0]


def _is_harmless(target: str) -> bool:
    """Return True if a link may have this target, read as a viewer does: unescaped and without controls."""
    plain = _CONTROL_CHARS.sub("", html.unescape(_ESCAPED_CHAR.sub(r"\1", target)))
    scheme = _SCHEME.match(plain)
    return scheme is None or scheme[1].lower() in ("http", "https", "mailto")


def _close_fence(lines: Sequence[str], fence: str) -> list[str]:
    return [*lines, fence] if fence else list(lines)
