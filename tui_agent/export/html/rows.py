"""The entries of a session as rows of the reader."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tui_agent.export.html.blocks import block, change, counts, diff, output, picture
from tui_agent.export.html.markup import Child, Safe, el, join
from tui_agent.export.html.prose import prose
from tui_agent.export.labels import (
    SAID,
    answered,
    duration,
    mentions,
    moment,
    other_changes,
    tool_words,
    turn_end,
)
from tui_agent.export.story import Change, Story
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
from tui_agent.protocol.display import DiffBlock

SYMBOLS = {"done": "✓", "failed": "✗", "denied": "■", "interrupted": "■", "lost": "✗"}
BAD = frozenset(("failed", "denied", "lost"))
BAD_ENDS = frozenset(("finished", "interrupted"))


class Row(NamedTuple):
    """One row. `tags` are the filters that show it, `weight` how much it says, in characters."""

    kind: str
    tags: tuple[str, ...]
    at: float
    turn: int
    body: Safe
    weight: int
    paths: tuple[str, ...] = ()


def rows(story: Story) -> Iterator[Row]:
    """Every entry in order, and what others changed in files between them."""
    strangers = [each for each in story.changes if each.call_id is None]
    turn = 0
    for entry in story.entries:
        while strangers and strangers[0].seq < entry.seq:
            yield _stranger(strangers.pop(0), turn)
        turn = entry.turn
        made = _row(entry, story)
        if made is not None:
            yield made
    for each in strangers:
        yield _stranger(each, turn)


def _stranger(changed: Change, turn: int) -> Row:
    body = join(_line("·", "changed", changed.path, "", ""), change(changed))
    return Row("note", ("files",), changed.at, turn, body, len(changed.diff), (changed.path,))


def _row(entry: Entry, story: Story) -> Row | None:
    match entry:
        case UserEntry():
            return _you(entry, story)
        case AnswerEntry() | ReasoningEntry():
            return _words(entry, story)
        case ToolEntry():
            return None if entry.asks else _tool(entry, story)
        case QuestionEntry():
            return _question(entry, story)
        case NoticeEntry():
            return _notice(entry, story)
        case TurnEntry():
            return _end(entry, story)


def _made(entry: Entry, kind: str, tags: tuple[str, ...], body: Safe, weight: int, *paths: str) -> Row:
    return Row(kind, tags, entry.at, entry.turn, body, weight, paths)


def _you(entry: UserEntry, story: Story) -> Row:
    text = story.texts.whole(entry.text)
    seen = [picture(each.media_type, each.blob_sha256, each.name, story.texts) for each in entry.attachments]
    said = SAID[entry.state]
    with_it = [el("li", el("code", name), f" {sent}") for name, sent in mentions(entry, story.texts)]
    body = join(
        el(
            "div",
            el("p", text, class_="said"),
            el("ul", *with_it, class_="aside") if with_it else None,
            *seen,
        ),
        el("div", said and el("span", said), _time(entry.at), class_="when"),
    )
    return _made(entry, "you", ("you",), body, len(text))


def _words(entry: AnswerEntry | ReasoningEntry, story: Story) -> Row | None:
    text = story.texts.whole(entry.text)
    if not text.strip():
        return None
    if isinstance(entry, ReasoningEntry):
        said = el("div", prose(text), class_="prose")
        folded = el("details", el("summary", "thinking"), said, class_="fold thinking")
        return _made(entry, "think", ("agent",), folded, len(text))
    stopped = el("p", "cut short", class_="aside") if entry.stopped else None
    return _made(entry, "agent", ("agent",), join(el("div", prose(text), class_="prose"), stopped), len(text))


def _tool(entry: ToolEntry, story: Story) -> Row:
    texts = story.texts
    verb, target, _ = tool_words(entry, texts)
    others = other_changes(entry, story.changes_of(entry.call_id))
    own = _only_diff(entry, target)
    blocks = (
        [block(each, texts) for each in entry.blocks] if own is None else [diff("", texts.whole(own.diff))]
    )
    if entry.output and not entry.blocks:
        blocks.append(output(texts.plain(entry.output)))
    paths = [texts.plain(each.path) for each in entry.blocks if isinstance(each, DiffBlock)]
    paths += [each.path for each in others]
    bad = entry.state in BAD
    said: Child = texts.plain(entry.denied or entry.outcome) or ("" if entry.state == "done" else entry.state)
    if own is not None and not bad:
        said = counts(own.added, own.removed)
    line = _line(SYMBOLS.get(entry.state, "·"), verb, target, said, duration(entry.duration_ms), bad=bad)
    body = join(line, *blocks, *(change(each) for each in others))
    tags = ("tools", *(("errors",) if bad else ()), *(("files",) if paths else ()))
    return _made(entry, "tool", tags, body, len(body) - len(line), *paths)


def _only_diff(entry: ToolEntry, target: str) -> DiffBlock | None:
    """The diff of the file that the row names already, where the result is nothing else."""
    match entry.blocks:
        case (DiffBlock(path=path) as only,) if path == target:
            return only
        case _:
            return None


def _line(symbol: str, verb: str, target: str, said: Child, took: str, *, bad: bool = False) -> Safe:
    return el(
        "div",
        el("span", symbol, class_="sym bad" if bad else "sym ok" if symbol == "✓" else "sym"),
        el("span", verb, class_="verb"),
        el("span", target, class_="target"),
        el("span", said, class_="outcome bad" if bad else "outcome"),
        el("span", took, class_="took"),
        class_="row",
    )


def _question(entry: QuestionEntry, story: Story) -> Row:
    texts = story.texts
    text = texts.whole(entry.text)
    chosen = entry.choice
    options = [
        el("li", texts.plain(option), class_="chosen" if number == chosen else None)
        for number, option in enumerate(entry.options)
    ]
    body = join(
        el("div", prose(text), class_="prose"),
        el("ul", *options, class_="options") if options else None,
        el("p", answered(entry, texts), class_="said answer"),
    )
    return _made(entry, "question", ("agent", "you"), body, len(text))


def _notice(entry: NoticeEntry, story: Story) -> Row | None:
    texts = story.texts
    lines = [texts.plain(line) for line in entry.lines if line]
    bad = entry.level == "error"
    words: list[Child] = [el("p", line) for line in lines]
    body = join(*words, *(block(each, texts) for each in entry.blocks))
    if not body:
        return None
    kind = "note error" if bad else "note warning" if entry.level == "warning" else "note"
    return _made(entry, kind, ("errors",) if bad else ("agent",), body, sum(map(len, lines)))


def _end(entry: TurnEntry, story: Story) -> Row:
    bad = entry.reason not in BAD_ENDS
    said = story.texts.plain(entry.detail)
    body = el("p", f"turn {entry.turn} · {turn_end(entry)}", f" · {said}" if said else None)
    return _made(entry, "end error" if bad else "end", ("errors", "agent") if bad else ("agent",), body, 0)


def _time(at: float) -> Safe:
    then = datetime.fromtimestamp(at).astimezone()
    return el("time", then.strftime("%H:%M"), datetime=then.isoformat(timespec="seconds"), title=moment(at))
