"""A session as a Markdown file that reads well in any viewer.

Invariant: what a program or a file said stands in fences that it cannot close; no HTML of the session's is live.
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
    moment,
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

OUTPUT_LINES = 40
"""Lines of an output that are shown; of a longer one the ends."""
LINE_CHARS = 400
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SIGNS = re.compile(r"[\\`*\[\]<|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LEADS = re.compile(r"\]([(:])\s*([^\s)]*)")
"""Where a link leads: in a line, or in one of its own that names it."""
_SCHEME = re.compile(r"<?([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def to_markdown(story: Story) -> str:
    """The whole file."""
    return "\n\n".join(block.rstrip() for block in _blocks(story) if block.strip()) + "\n"


def _blocks(story: Story) -> Iterator[str]:
    yield f"# {inline(story.title) or 'A session'}"
    yield "\n".join(f"- {name}: {inline(value)}" for name, value in facts(story))
    strangers = [change for change in story.changes if change.call_id is None]
    turn = 0
    for entry in story.entries:
        while strangers and strangers[0].seq < entry.seq:
            yield from _change(strangers.pop(0))
        if entry.turn > turn:
            turn = entry.turn
            yield f"## Turn {turn}"
        yield from _entry(entry, story)
    for change in strangers:
        yield from _change(change)


def _entry(entry: Entry, story: Story) -> Iterator[str]:
    texts = story.texts
    match entry:
        case UserEntry(text=text, state=state):
            yield f"**You**{_aside(SAID[state], moment(entry.at))}"
            yield quote("\n".join([texts.whole(text), *(f"[{name}]" for name in pictures(entry, texts))]))
            yield "\n".join(f"- {code(name)}: {inline(sent)}" for name, sent in mentions(entry, texts))
        case AnswerEntry(text=text, stopped=stopped):
            words = _without_html(texts.whole(text))
            yield f"**Agent**{_aside('cut short' if stopped else '')}" if words.strip() else ""
            yield words
        case ReasoningEntry(text=text):
            yield quote(f"*Thinking*\n\n{texts.whole(text)}") if texts.whole(text).strip() else ""
        case ToolEntry() if not entry.asks:
            yield from _tool(entry, story)
        case QuestionEntry(text=text, options=options):
            yield "**Question**"
            yield quote("\n".join([texts.whole(text), *(f"- {texts.plain(option)}" for option in options)]))
            yield quote(f"Answer: {answered(entry, texts)}")
        case NoticeEntry(lines=lines, blocks=blocks, level=level):
            words = inline(" ".join(texts.plain(line) for line in lines))
            yield f"*{level}:* {words}" if level in ("warning", "error") else f"*{words}*"
            yield from (_block(block, texts) for block in blocks)
        case TurnEntry(detail=detail):
            said = inline(texts.plain(detail))
            yield f"*Turn {entry.turn}: {turn_end(entry)}{'. ' + said if said else ''}*"


def _tool(entry: ToolEntry, story: Story) -> Iterator[str]:
    verb, target, outcome = tool_words(entry, story.texts)
    what = f" {code(target)}" if target else ""
    yield f"- **{inline(verb)}**{what}{' — ' + inline(outcome) if outcome else ''}"
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
    """The beginning and the end of a text of many lines, with what was left out between them."""
    found = [
        line if len(line) <= width else f"{line[:width]}… ({len(line)} characters)"
        for line in text.rstrip("\n").split("\n")
    ]
    if len(found) > lines + 1:
        rest = f"… {len(found) - lines} more lines …"
        found = [*found[: lines // 2], rest, *found[-(lines - lines // 2) :]]
    return "\n".join(found)


def _aside(*words: str) -> str:
    said = ", ".join(word for word in words if word)
    return f" ({said})" if said else ""


def quote(text: str) -> str:
    """Markdown of others, set off from ours."""
    lines = _without_html(text).split("\n")
    return "\n".join(f"> {line}" if line.strip() else ">" for line in lines)


def fenced(text: str, language: str) -> str:
    """A text in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """A text of one line as code, whatever signs it has."""
    one_line = " ".join(text.split())
    longest = max((len(run) for run in re.findall("`+", one_line)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {one_line} {ticks}" if longest else f"`{one_line}`"


def inline(text: str) -> str:
    """Words of others in a line of ours: none of their signs means anything."""
    return _SIGNS.sub(r"\\\g<0>", " ".join(text.split()))


def _without_html(text: str) -> str:
    """Markdown of others, in which tags are text; what stands in fences is left as it is."""
    out, fence = [], ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            out.append(line)
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = found[1] if found else ""
            out.append(line if found else _tame(line))
    return "\n".join(_closed(out, fence))


def _tame(line: str) -> str:
    """A line of others, of which no tag is live and no link leads anywhere but to the web, to mail or to a file near it."""
    return _LEADS.sub(_leads, _TAG.sub("&lt;", line))


def _leads(found: re.Match[str]) -> str:
    """What leads somewhere as it was, or with its sign escaped. Where to may stand in the next line: then nobody knows."""
    unknown = not found[2] and found.end() == len(found.string)
    return f"]\\{found[0][1:]}" if unknown or not _is_harmless(found[2]) else found[0]


def _is_harmless(target: str) -> bool:
    """Whether a link may lead there. As a viewer reads it: with its escapes and entities resolved, without controls."""
    plain = _UNSEEN.sub("", html.unescape(_ESCAPED.sub(r"\1", target)))
    scheme = _SCHEME.match(plain)
    return scheme is None or scheme[1].lower() in ("http", "https", "mailto")


def _closed(lines: Sequence[str], fence: str) -> list[str]:
    return [*lines, fence] if fence else list(lines)
