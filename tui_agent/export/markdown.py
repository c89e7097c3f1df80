"""Export of a session as a Markdown file that is readable in any viewer.

Invariant: output and file content are inside code fences, and nothing in them can end the fence.
"""

import html
import re
from collections.abc import Iterator, Sequence

from tui_agent.export.export_content import ExportContent, ExportedChange, Texts
from tui_agent.export.export_labels import (
    AUTHORS,
    MESSAGE_STATES,
    answer_text,
    attachment_names,
    block_text,
    header_rows,
    mention_labels,
    notice_text,
    other_changes,
    tool_labels,
    turn_end,
)
from tui_agent.folds.text.redaction_placeholders import note_hidden_differences
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
from tui_agent.protocol.display_blocks import DiffBlock, DisplayBlock, MarkdownBlock
from tui_agent.units import describe_line_changes, format_number, format_time

OUTPUT_LINES = 40
"""Maximum number of lines of an output. Of a longer one, only the beginning and the end are kept."""
LINE_CHARS = 400
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>]*>)")
"""Matches the start of a tag, but not of an address such as `<https://example.org>`."""
_SPECIAL_CHARS = re.compile(r"[\\`*\[\]<|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LINK_TARGET = re.compile(r"\]([(:])\s*([^\s)]*)")
"""Matches the target of a link, inline or in a reference definition."""
_SCHEME = re.compile(r"<?([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPED_CHAR = re.compile(r"\\([!-/:-@\[-`{-~])")
_CONTROL_CHARS = re.compile(r"[\x00-\x20\x7f]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=|-)\1*[ \t]*")
"""Matches a line of `=` or `-` that makes the line above it a heading."""
_NON_PARAGRAPH_LINE = re.compile(r"\s*$| {4}|\t| {0,3}(?:#{1,6}\s|>|[-+*]\s|\d{1,9}[.)]\s|`{3}|~{3})")
"""Matches the start of a line that is not a paragraph, such as a list item.

`_UNDERLINE` after such a line does not make the line a heading.
"""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def to_markdown(story: ExportContent) -> str:
    """Return the complete Markdown file of an exported session."""
    return "\n\n".join(block.rstrip() for block in _blocks(story) if block.strip()) + "\n"


def _blocks(story: ExportContent) -> Iterator[str]:
    yield f"# {escape_inline(story.title) or 'A session'}"
    yield "\n".join(f"- {name}: {escape_inline(value)}" for name, value in header_rows(story))
    turn = 0
    for item in story.items():
        if isinstance(item, ExportedChange):
            yield from _change(item)
            continue
        if item.turn > turn:
            turn = item.turn
            yield f"## Turn {turn}"
        yield from _entry(item, story)


def _entry(entry: Entry, story: ExportContent) -> Iterator[str]:
    texts = story.texts
    match entry:
        case UserEntry(text=text, state=state):
            yield f"**You**{_parenthesis(MESSAGE_STATES[state], format_time(entry.time) if entry.time else '')}"
            yield quote(
                "\n".join([texts.full_text(text), *(f"[{name}]" for name in attachment_names(entry, texts))])
            )
            yield "\n".join(
                f"- {inline_code(name)}: {escape_inline(sent)}" for name, sent in mention_labels(entry, texts)
            )
        case AnswerEntry(text=text, stopped=stopped):
            answer = _without_html(texts.full_text(text), demote=True)
            yield f"**Agent**{_parenthesis('cut short' if stopped else '')}" if answer.strip() else ""
            yield answer
        case ReasoningEntry(text=text):
            yield quote(f"*Thinking*\n\n{texts.full_text(text)}") if texts.full_text(text).strip() else ""
        case ToolEntry() if not entry.is_question:
            yield from _tool(entry, story)
        case QuestionEntry(text=text, options=options):
            yield "**Question**"
            yield quote(
                "\n".join([texts.full_text(text), *(f"- {texts.clean_text(option)}" for option in options)])
            )
            yield quote(f"Answer: {answer_text(entry, texts)}")
        case NoticeEntry(kind="shell", command=command, blocks=blocks):
            outcome = escape_inline(notice_text(entry, texts))
            yield f"**You ran** {inline_code(texts.clean_text(command))}{' — ' + outcome if outcome else ''}"
            yield from (_block(block, texts) for block in blocks)
        case NoticeEntry(blocks=blocks, level=level):
            sentences = escape_inline(notice_text(entry, texts))
            yield f"*{level}:* {sentences}" if level in ("warning", "error") else f"*{sentences}*"
            yield from (_block(block, texts) for block in blocks)
        case TurnEntry(detail=detail):
            note = escape_inline(texts.clean_text(detail))
            yield f"*Turn {entry.turn}: {turn_end(entry)}{'. ' + note if note else ''}*"


def _tool(entry: ToolEntry, story: ExportContent) -> Iterator[str]:
    verb, target, outcome = tool_labels(entry, story.texts)
    argument = f" {inline_code(target)}" if target else ""
    yield f"- **{escape_inline(verb)}**{argument}{' — ' + escape_inline(outcome) if outcome else ''}"
    for block in entry.blocks:
        yield _block(block, story.texts)
    if entry.output and not entry.blocks:
        yield fence(clip_lines(story.texts.clean_text(entry.output)), "")
    if entry.denied_by_user:
        lines = story.texts.clean_text(entry.denial).split("\n")
        yield "\n".join(f"> {escape_inline(line)}" for line in lines)
    for change in other_changes(entry, story.changes_of(entry.call_id)):
        yield from _change(change)


def _block(block: DisplayBlock, texts: Texts) -> str:
    text = block_text(block, texts)
    if isinstance(block, DiffBlock):
        path = texts.clean_text(block.path)
        return f"{inline_code(path)} {describe_line_changes(block.added, block.removed)}\n\n{fence(clip_lines(note_hidden_differences(text)), 'diff')}"
    if isinstance(block, MarkdownBlock):
        return quote(_without_html(text))
    return fence(clip_lines(text), "") if text.strip() else ""


def _change(change: ExportedChange) -> Iterator[str]:
    lines = describe_line_changes(change.added, change.removed)
    yield f"{inline_code(change.path)} {lines}, {AUTHORS.get(change.author, change.author)}"
    yield fence(clip_lines(change.diff), "diff") if change.diff else f"({change.note})"


def clip_lines(text: str, lines: int = OUTPUT_LINES, width: int = LINE_CHARS) -> str:
    """Shorten a text to at most `lines` lines of at most `width` characters. A note replaces the middle lines."""
    shown = [
        line if len(line) <= width else f"{line[:width]}… ({format_number(len(line))} characters)"
        for line in text.rstrip("\n").split("\n")
    ]
    if len(shown) > lines + 1:
        gap = f"… {format_number(len(shown) - lines)} more lines …"
        shown = [*shown[: lines // 2], gap, *shown[-(lines - lines // 2) :]]
    return "\n".join(shown)


def _parenthesis(*phrases: str) -> str:
    text = ", ".join(phrase for phrase in phrases if phrase)
    return f" ({text})" if text else ""


def quote(text: str) -> str:
    """Format untrusted Markdown as a quotation."""
    lines = _without_html(text).split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def fence(text: str, language: str) -> str:
    """Return `text` in a code fence. Nothing in `text` can end the fence."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def inline_code(text: str) -> str:
    """Format a text as inline code on one line, even if it contains backticks."""
    one_line = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", one_line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {one_line} {ticks}" if longest else f"`{one_line}`"


def escape_inline(text: str) -> str:
    """Escape all special characters of untrusted text, for use inside a line."""
    return _SPECIAL_CHARS.sub(r"\\\g<0>", " ".join(text.split()))


def _without_html(text: str, *, demote: bool = False) -> str:
    """Escape the HTML tags in untrusted Markdown. Text in code fences stays unchanged.

    `demote`: lower the headings by two levels.
    """
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if fence:
            lines.append(line)
            if match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = match[1] if match else ""
            underline = _UNDERLINE.fullmatch(line) if demote else None
            if underline and lines and _is_paragraph(lines[-1]):
                lines[-1] = f"{'###' if underline[1] == '=' else '####'} {lines[-1].strip()}"
            elif demote and (heading := _HEADING.match(line)):
                level = min(6, len(heading[1]) + 2)
                lines.append(_neutralise(f"{'#' * level}{line[heading.end() :]}"))
            else:
                lines.append(line if match else _neutralise(line))
    return "\n".join(_close_fence(lines, fence))


def _is_paragraph(line: str) -> bool:
    return _NON_PARAGRAPH_LINE.match(line) is None


def _neutralise(line: str) -> str:
    """Escape the tags and the unsafe links in a line of untrusted Markdown."""
    # An image becomes a link, because a viewer would load it from any address.
    return _LINK_TARGET.sub(_neutralise_link, _TAG_START.sub("&lt;", line.replace("![", "&#33;[")))


def _neutralise_link(match: re.Match[str]) -> str:
    """Return a link of untrusted Markdown unchanged if it is harmless, otherwise escaped."""
    unknown = not match[2] and match.end() == len(match.string)  # the target can be on the next line
    return f"]\\{match[0][1:]}" if unknown or not _is_harmless(match[2]) else match[0]


def _is_harmless(target: str) -> bool:
    plain = _CONTROL_CHARS.sub("", html.unescape(_ESCAPED_CHAR.sub(r"\1", target)))
    scheme = _SCHEME.match(plain)
    return scheme is None or scheme[1].lower() in ("http", "https", "mailto")


def _close_fence(lines: Sequence[str], fence: str) -> list[str]:
    return [*lines, fence] if fence else list(lines)
