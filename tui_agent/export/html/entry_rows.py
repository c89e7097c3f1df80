"""Conversion of a session's entries to rows of the HTML page."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from tui_agent.export.export_content import ExportContent, ExportedChange
from tui_agent.export.export_labels import (
    MESSAGE_STATES,
    STATES,
    answer_text,
    mention_labels,
    other_changes,
    tool_labels,
    turn_end,
    unsent_note,
)
from tui_agent.export.html.blocks import (
    block_html,
    change_html,
    diff_html,
    line_counts_html,
    markdown_html,
    output_html,
    picture_html,
)
from tui_agent.export.html.markup import Child, SafeHtml, element, join
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
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.units import format_milliseconds, format_time, format_time_of_day

SYMBOLS = {"done": "✓", "failed": "✗", "denied": "■", "interrupted": "■", "lost": "✗"}
FAILED_STATES = frozenset(("failed", "denied", "lost"))
GOOD_ENDS = frozenset(("finished", "interrupted"))


class Row(NamedTuple):
    """A row of the HTML page.

    - `tags`: filters that show the row.
    - `weight`: length in characters.
    """

    kind: str
    tags: tuple[str, ...]
    time: float
    turn: int
    body: SafeHtml
    weight: int
    paths: tuple[str, ...] = ()


def build_rows(story: ExportContent) -> Iterator[Row]:
    """Yield a row of the page for every entry with content, and for every file change outside tool calls."""
    turn = 0
    for item in story.items():
        if isinstance(item, ExportedChange):
            body = join(_row_line("·", "changed", item.path, "", ""), change_html(item))
            yield Row("note", ("files",), item.time, turn, body, len(item.diff), (item.path,))
            continue
        turn = item.turn
        row = _entry_row(item, story)
        if row is not None:
            yield row


def _entry_row(entry: Entry, story: ExportContent) -> Row | None:
    match entry:
        case UserEntry():
            return _user_row(entry, story)
        case AnswerEntry() | ReasoningEntry():
            return _answer_row(entry, story)
        case ToolEntry():
            return None if entry.is_question else _tool_row(entry, story)
        case QuestionEntry():
            return _question_row(entry, story)
        case NoticeEntry():
            return _notice_row(entry, story)
        case TurnEntry():
            return _turn_end_row(entry, story)


def _build_row(
    entry: Entry, kind: str, tags: tuple[str, ...], body: SafeHtml, weight: int, *paths: str
) -> Row:
    return Row(kind, tags, entry.time, entry.turn, body, weight, paths)


def _user_row(entry: UserEntry, story: ExportContent) -> Row:
    text = story.texts.full_text(entry.text)
    images = [
        picture_html(image.media_type, image.blob_sha256, image.name, story.texts)
        for image in entry.attachments
    ]
    note = unsent_note(entry, story.texts)
    state_label = MESSAGE_STATES[entry.state]
    mention_items = [
        element("li", element("code", name), f" {sent}") for name, sent in mention_labels(entry, story.texts)
    ]
    body = join(
        element(
            "div",
            element("p", text, class_="said"),
            element("ul", *mention_items, class_="aside") if mention_items else None,
            *images,
            element("p", note, class_="aside") if note else None,
        ),
        element(
            "div", state_label and element("span", state_label), _time_element(entry.time), class_="when"
        ),
    )
    return _build_row(entry, "you", ("you",), body, len(text))


def _answer_row(entry: AnswerEntry | ReasoningEntry, story: ExportContent) -> Row | None:
    text = story.texts.full_text(entry.text)
    if not text.strip():
        return None
    if isinstance(entry, ReasoningEntry):
        reasoning = element("div", markdown_html(text), class_="prose")
        folded = element("details", element("summary", "thinking"), reasoning, class_="fold thinking")
        return _build_row(entry, "think", ("agent",), folded, len(text))
    stopped = element("p", "cut short", class_="aside") if entry.stopped else None
    return _build_row(
        entry,
        "agent",
        ("agent",),
        join(element("div", markdown_html(text), class_="prose"), stopped),
        len(text),
    )


def _tool_row(entry: ToolEntry, story: ExportContent) -> Row:
    texts = story.texts
    verb, target, _ = tool_labels(entry, texts)
    others = other_changes(entry, story.changes_of(entry.call_id))
    own = _only_diff(entry, target)
    blocks = (
        [block_html(shown, texts) for shown in entry.blocks]
        if own is None
        else [diff_html("", texts.full_text(own.diff))]
    )
    if entry.output and not entry.blocks:
        blocks.append(output_html(texts.clean_text(entry.output)))
    paths = [texts.clean_text(shown.path) for shown in entry.blocks if isinstance(shown, DiffBlock)]
    paths += [other.path for other in others]
    is_bad = entry.state in FAILED_STATES
    outcome: Child = texts.clean_text(entry.result) or STATES[entry.state]
    if own is not None and not is_bad:
        outcome = line_counts_html(own.added, own.removed)
    line = _row_line(
        SYMBOLS.get(entry.state, "·"),
        verb,
        target,
        outcome,
        format_milliseconds(entry.duration_ms),
        bad=is_bad,
    )
    denial = element("p", texts.clean_text(entry.denial), class_="said") if entry.denied_by_user else None
    body = join(line, *blocks, denial, *(change_html(other) for other in others))
    tags = ("tools", *(("errors",) if is_bad else ()), *(("files",) if paths else ()))
    return _build_row(entry, "tool", tags, body, len(body) - len(line), *paths)


def _only_diff(entry: ToolEntry, target: str) -> DiffBlock | None:
    """Return the diff of the file `target` if a call's result contains nothing else, otherwise None."""
    match entry.blocks:
        case (DiffBlock(path=path) as only,) if path == target:
            return only
        case _:
            return None


def _row_line(
    symbol: str, verb: str, target: str, outcome: Child, duration_text: str, *, bad: bool = False
) -> SafeHtml:
    return element(
        "div",
        element("span", symbol, class_="sym bad" if bad else "sym ok" if symbol == "✓" else "sym"),
        element("span", verb, class_="verb"),
        element("span", target, class_="target"),
        element("span", outcome, class_="outcome bad" if bad else "outcome"),
        element("span", duration_text, class_="took"),
        class_="row",
    )


def _question_row(entry: QuestionEntry, story: ExportContent) -> Row:
    texts = story.texts
    text = texts.full_text(entry.text)
    chosen = entry.choice
    options = [
        element("li", texts.clean_text(option), class_="chosen" if number == chosen else None)
        for number, option in enumerate(entry.options)
    ]
    body = join(
        element("div", markdown_html(text), class_="prose"),
        element("ul", *options, class_="options") if options else None,
        element("p", answer_text(entry, texts), class_="said answer"),
    )
    return _build_row(entry, "question", ("agent", "you"), body, len(text))


def _notice_row(entry: NoticeEntry, story: ExportContent) -> Row | None:
    texts = story.texts
    lines = [texts.clean_text(line) for line in entry.lines if line]
    is_error = entry.level == "error"
    head: list[Child] = [element("p", line) for line in lines]
    if entry.kind == "shell":
        symbol = SYMBOLS["failed" if is_error else "done"]
        command = texts.clean_text(entry.command)
        head = [_row_line(symbol, "you ran", command, " · ".join(lines), "", bad=is_error)]
    body = join(*head, *(block_html(shown, texts) for shown in entry.blocks))
    if not body:
        return None
    kind = "note error" if is_error else "note warning" if entry.level == "warning" else "note"
    return _build_row(entry, kind, ("errors",) if is_error else ("agent",), body, sum(map(len, lines)))


def _turn_end_row(entry: TurnEntry, story: ExportContent) -> Row:
    is_bad = entry.reason not in GOOD_ENDS
    detail = story.texts.clean_text(entry.detail)
    body = element("p", f"turn {entry.turn} · {turn_end(entry)}", f" · {detail}" if detail else None)
    return _build_row(
        entry, "end error" if is_bad else "end", ("errors", "agent") if is_bad else ("agent",), body, 0
    )


def _time_element(time: float) -> SafeHtml:
    local_time = datetime.fromtimestamp(time).astimezone()
    return element(
        "time",
        format_time_of_day(time),
        datetime=local_time.isoformat(timespec="seconds"),
        title=format_time(time) if time else "",
    )
