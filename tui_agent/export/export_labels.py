"""Labels for times, sums and display blocks in all readable exports."""

import json
from collections.abc import Iterator, Sequence

from tui_agent.export.export_content import ExportContent, ExportedChange, Texts
from tui_agent.folds.session.changed_files import format_folders
from tui_agent.folds.text.labels import TURN_END_LABELS, mention_name, mention_result
from tui_agent.folds.transcript.entries import NoticeEntry, QuestionEntry, ToolEntry, TurnEntry, UserEntry
from tui_agent.protocol.display_blocks import (
    CustomBlock,
    DiffBlock,
    DisplayBlock,
    ImageBlock,
    JsonBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import (
    describe_line_changes,
    format_bytes,
    format_cost,
    format_milliseconds,
    format_time,
    format_tokens,
)

STATES = {
    "queued": "queued",
    "running": "did not end",
    "waiting": "waiting for an answer",
    "done": "",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "stopped",
    "lost": "lost",
}
MESSAGE_STATES = {"sent": "", "queued": "queued", "steered": "sent during the turn"}
AUTHORS = {"agent": "by the agent", "command": "by a command", "human": "by someone else"}


def header_rows(story: ExportContent) -> list[tuple[str, str]]:
    """Return the rows (name, text) at the top of an export, without empty rows."""
    metrics = story.metrics
    tokens = f"{format_tokens(metrics.input_tokens)} in ({format_tokens(metrics.cached_tokens)} cached), {format_tokens(metrics.output_tokens)} out"
    files = len(story.files) + story.unlisted_files
    added, removed = sum(file.added for file in story.files), sum(file.removed for file in story.files)
    undone_turns = metrics.turns - story.turns
    rows = [
        ("session", story.session),
        ("workspace", story.workspace),
        ("model", ", ".join(story.models)),
        ("started", format_time(metrics.first_at) if metrics.first_at else ""),
        ("lasted", format_milliseconds((metrics.last_at - metrics.first_at) * 1000)),
        ("turns", f"{story.turns}, and {undone_turns} undone" if undone_turns else str(story.turns)),
        (
            "files",
            f"{format_count(files, 'file')} changed, {describe_line_changes(added, removed)}"
            if files
            else "",
        ),
        ("tokens", tokens if metrics.model_calls else ""),
        ("cost", format_cost(metrics.cost_usd, metrics.cost_precision)),
    ]
    return [(name, value) for name, value in rows if value]


def turn_end(entry: TurnEntry) -> str:
    """Return the text of the row at a turn's end: reason, duration, model calls, files and cost."""
    files = (
        entry.files_text + ("" if entry.edits else f" {describe_line_changes(entry.added, entry.removed)}")
        if entry.files
        else ""
    )
    phrases = [
        TURN_END_LABELS.get(entry.reason, entry.reason),
        format_milliseconds(entry.duration_ms),
        format_count(entry.iterations, "model call") if entry.iterations else "",
        files,
        format_folders(entry.folders),
        format_cost(entry.cost_usd, entry.cost_precision),
    ]
    return " · ".join(phrase for phrase in phrases if phrase)


def tool_labels(entry: ToolEntry, texts: Texts) -> tuple[str, str, str]:
    """Return the verb, target and outcome for a tool call's row."""
    text = texts.clean_text(entry.result)
    # The result of such a call already says what happened to it, such as `stopped` or `not run`.
    state = "" if text and entry.state in ("interrupted", "lost") else STATES[entry.state]
    outcome = " · ".join(phrase for phrase in (state, text, format_milliseconds(entry.duration_ms)) if phrase)
    return texts.clean_text(entry.verb or entry.name), texts.clean_text(entry.target), outcome


def notice_text(entry: NoticeEntry, texts: Texts) -> str:
    """Return the lines of a notice as one paragraph. Lines without punctuation get a full stop, except the last line."""
    *lines, last = [texts.clean_text(line) for line in entry.lines] or [""]
    return " ".join([*(line if line.endswith((".", "!", "?", ":")) else f"{line}." for line in lines), last])


def answer_text(entry: QuestionEntry, texts: Texts) -> str:
    """Return the user's answer to a question, or a note that the user did not answer."""
    if entry.answer is not None:
        return texts.full_text(entry.answer)
    return "(no answer: the turn ended first)" if entry.is_void else "(no answer yet)"


def unsent_note(entry: UserEntry, texts: Texts) -> str:
    """Return a note if the pictures of a message were not sent to the model, otherwise an empty text."""
    model = texts.clean_text(entry.images_left_out_for)
    return f"not sent to {model}" if model else ""


def attachment_names(entry: UserEntry, texts: Texts) -> list[str]:
    """Return the names of a message's pictures, with a note if they were not sent."""
    note = unsent_note(entry, texts)
    suffix = f", {note}" if note else ""
    return [
        (texts.clean_text(image.name) or f"a picture of {format_bytes(image.size)}") + suffix
        for image in entry.attachments
    ]


def mention_labels(entry: UserEntry, texts: Texts) -> list[tuple[str, str]]:
    """Return (name, text sent to the model) for each mention in a message, such as `@src/app.py`."""
    return [
        (
            texts.clean_text(mention_name(mention)),
            texts.clean_text(mention_result(mention)),
        )
        for mention in entry.mentions
    ]


def other_changes(entry: ToolEntry, changes: Sequence[ExportedChange]) -> list[ExportedChange]:
    """Return the changes whose file has no diff among the blocks of the call's result."""
    shown = {block.path for block in entry.blocks if isinstance(block, DiffBlock)}
    return [change for change in changes if change.path not in shown]


def block_text(block: DisplayBlock, texts: Texts) -> str:
    """Return a block of a tool's result as plain text."""
    match block:
        case TextBlock(text=text) | MarkdownBlock(text=text):
            return texts.full_text(text)
        case TerminalBlock(text=text, omitted=omitted):
            return (f"… {format_count(omitted, 'earlier line')}\n" if omitted else "") + texts.full_text(text)
        case DiffBlock(diff=diff):
            return texts.full_text(diff)
        case TableBlock(columns=columns, rows=rows):
            return texts.clean_text("\n".join("\t".join(row) for row in (columns, *rows)))
        case TreeBlock(roots=roots):
            return texts.clean_text("\n".join(_tree(roots, 0)))
        case JsonBlock(data=data):
            return texts.clean_text(json.dumps(data, ensure_ascii=False, indent=2))
        case ImageBlock(name=name, size=size):
            return texts.clean_text(f"{name or 'picture'}, {format_bytes(size)}")
        case CustomBlock(text=text):
            return texts.clean_text(text)


def _tree(nodes: Sequence[TreeNode], depth: int) -> Iterator[str]:
    for node in nodes:
        yield "  " * depth + node.label
        yield from _tree(node.children, depth + 1)
