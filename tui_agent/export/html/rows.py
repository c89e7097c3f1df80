"""The entries of a session as rows of the HTML page."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tui_agent.export.html.blocks import block, change, counts, diff, output, picture
from tui_agent.export.html.markup import Child, Safe, el, join
from tui_agent.export.html.prose import prose
from tui_agent.export.labels import (
    SAID,
    answered,
    mentions,
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
from tui_agent.units import format_milliseconds, format_time

SYMBOLS = {"done": "✓", "failed": "✗", "denied": "■", "interrupted": "■", "lost": "✗"}
BAD = frozenset(("failed", "denied", "lost"))
BAD_ENDS = frozenset(("finished", "interrupted"))


class Row(NamedTuple):
    """One row. `tags` are the filters that show it; `weight` is its length in characters."""

    kind: str
    tags: tuple[str, ...]
    at: float
    turn: int
    body: Safe
    weight: int
    paths: tuple[str, ...] = ()


def rows(story: Story) -> Iterator[Row]:
    """Yield every entry in order, with the changes to files by others between them."""
    outside_changes = [outside_change for outside_change in story.changes if outside_change.call_id is None]
    turn = 0
    for entry in story.entries:
        while outside_changes and outside_changes[0].seq < entry.seq:
            yield _outside_change_row(outside_changes.pop(0), turn)
        turn = entry.turn
        row = _entry_row(entry, story)
        if row is not None:
            yield row
    for outside_change in outside_changes:
        yield _outside_change_row(outside_change, turn)


def _outside_change_row(changed: Change, turn: int) -> Row:
    body = join(_row_line("·", "changed", changed.path, "", ""), change(changed))
    return Row("note", ("files",), changed.at, turn, body, len(changed.diff), (changed.path,))


def _entry_row(entry: Entry, story: Story) -> Row | None:
    match entry:
        case UserEntry():
            return _user_row(entry, story)
        case AnswerEntry() | ReasoningEntry():
            return _answer_row(entry, story)
        case ToolEntry():
            return None if entry.asks else _tool_row(entry, story)
        case QuestionEntry():
            return _question_row(entry, story)
        case NoticeEntry():
            return _notice_row(entry, story)
        case TurnEntry():
            return _turn_end_row(entry, story)


def _build_row(entry: Entry, kind: str, tags: tuple[str, ...], body: Safe, weight: int, *paths: str) -> Row:
    return Row(kind, tags, entry.at, entry.turn, body, weight, paths)


def _user_row(entry: UserEntry, story: Story) -> Row:
    text = story.texts.whole(entry.text)
    images = [
        picture(image.media_type, image.blob_sha256, image.name, story.texts) for image in entry.attachments
    ]
    state_label = SAID[entry.state]
    mention_items = [el("li", el("code", name), f" {sent}") for name, sent in mentions(entry, story.texts)]
    body = join(
        el(
            "div",
            el("p", text, class_="said"),
            el("ul", *mention_items, class_="aside") if mention_items else None,
            *images,
        ),
        el("div", state_label and el("span", state_label), _time_element(entry.at), class_="when"),
    )
    return _build_row(entry, "you", ("you",), body, len(text))


def _answer_row(entry: AnswerEntry | ReasoningEntry, story: Story) -> Row | None:
    text = story.texts.whole(entry.text)
    if not text.strip():
        return None
    if isinstance(entry, ReasoningEntry):
        reasoning = el("div", prose(text), class_="prose")
        folded = el("details", el("summary", "thinking"), reasoning, class_="fold thinking")
        return _build_row(entry, "think", ("agent",), folded, len(text))
    stopped = el("p", "cut short", class_="aside") if entry.stopped else None
    return _build_row(
        entry, "agent", ("agent",), join(el("div", prose(text), class_="prose"), stopped), len(text)
    )


def _tool_row(entry: ToolEntry, story: Story) -> Row:
    texts = story.texts
    verb, target, _ = tool_words(entry, texts)
    others = other_changes(entry, story.changes_of(entry.call_id))
    own = _only_diff(entry, target)
    blocks = (
        [block(shown, texts) for shown in entry.blocks] if own is None else [diff("", texts.whole(own.diff))]
    )
    if entry.output and not entry.blocks:
        blocks.append(output(texts.plain(entry.output)))
    paths = [texts.plain(shown.path) for shown in entry.blocks if isinstance(shown, DiffBlock)]
    paths += [other.path for other in others]
    is_bad = entry.state in BAD
    outcome: Child = texts.plain(entry.denied or entry.outcome) or (
        "" if entry.state == "done" else entry.state
    )
    if own is not None and not is_bad:
        outcome = counts(own.added, own.removed)
    line = _row_line(
        SYMBOLS.get(entry.state, "·"),
        verb,
        target,
        outcome,
        format_milliseconds(entry.duration_ms),
        bad=is_bad,
    )
    body = join(line, *blocks, *(change(other) for other in others))
    tags = ("tools", *(("errors",) if is_bad else ()), *(("files",) if paths else ()))
    return _build_row(entry, "tool", tags, body, len(body) - len(line), *paths)


def _only_diff(entry: ToolEntry, target: str) -> DiffBlock | None:
    """Return the diff of the file that the row already names, if the result is nothing else."""
    match entry.blocks:
        case (DiffBlock(path=path) as only,) if path == target:
            return only
        case _:
            return None


def _row_line(
    symbol: str, verb: str, target: str, outcome: Child, duration_text: str, *, bad: bool = False
) -> Safe:
    return el(
        "div",
        el("span", symbol, class_="sym bad" if bad else "sym ok" if symbol == "✓" else "sym"),
        el("span", verb, class_="verb"),
        el("span", target, class_="target"),
        el("span", outcome, class_="outcome bad" if bad else "outcome"),
        el("span", duration_text, class_="took"),
        class_="row",
    )


def _question_row(entry: QuestionEntry, story: Story) -> Row:
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
    return _build_row(entry, "question", ("agent", "you"), body, len(text))


def _notice_row(entry: NoticeEntry, story: Story) -> Row | None:
    texts = story.texts
    lines = [texts.plain(line) for line in entry.lines if line]
    is_error = entry.level == "error"
    paragraphs: list[Child] = [el("p", line) for line in lines]
    body = join(*paragraphs, *(block(shown, texts) for shown in entry.blocks))
    if not body:
        return None
    kind = "note error" if is_error else "note warning" if entry.level == "warning" else "note"
    return _build_row(entry, kind, ("errors",) if is_error else ("agent",), body, sum(map(len, lines)))


def _turn_end_row(entry: TurnEntry, story: Story) -> Row:
    is_bad = entry.reason not in BAD_ENDS
    detail = story.texts.plain(entry.detail)
    body = el("p", f"turn {entry.turn} · {turn_end(entry)}", f" · {detail}" if detail else None)
    return _build_row(
        entry, "end error" if is_bad else "end", ("errors", "agent") if is_bad else ("agent",), body, 0
    )


def _time_element(at: float) -> Safe:
    local_time = datetime.fromtimestamp(at).astimezone()
    return el(
        "time",
        local_time.strftime("%H:%M"),
        datetime=local_time.isoformat(timespec="seconds"),
        title=format_time(at) if at else "",
    )
