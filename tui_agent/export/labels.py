"""The words in which readable exports tell times, sums and display blocks, the same in each of them."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from tui_agent.export.story import Change, Story, Texts
from tui_agent.folds.context.mention_labels import mention_name, mention_sent
from tui_agent.folds.text.labels import TURN_ENDS
from tui_agent.folds.transcript.entries import QuestionEntry, ToolEntry, TurnEntry, UserEntry
from tui_agent.protocol.display import (
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
from tui_agent.protocol.unicode_text import counted

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
SAID = {"sent": "", "queued": "queued", "steered": "into the running turn", "removed": "taken back"}
AUTHORS = {"agent": "by the agent", "command": "by a command", "human": "by someone else"}


def moment(at: float) -> str:
    """A time as the exporting machine's clock shows it."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else ""


def duration(ms: float | None) -> str:
    """A duration; nothing where there is none."""
    if not ms:
        return ""
    seconds = ms / 1_000
    if seconds < 1:
        return f"{ms:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def cost(usd: float | None) -> str:
    """A sum of money; nothing where no price is known."""
    if usd is None:
        return ""
    return f"${usd:.{2 if usd >= 1 else 3 if usd >= 0.01 else 4}f}"


def changed_files(story: Story) -> dict[str, tuple[int, int]]:
    """Lines that were added to and removed from each file, without those that are again as they were: of one whose
    permissions changed that is not known."""
    sums: dict[str, tuple[int, int]] = {}
    bits = set[str]()
    first, last = dict[str, str | None](), dict[str, str | None]()
    for change in story.changes:
        added, removed = sums.get(change.path, (0, 0))
        sums[change.path] = (added + change.added, removed + change.removed)
        first.setdefault(change.path, change.before)
        last[change.path] = change.after
        if change.before is not None and change.before == change.after:
            bits.add(change.path)
    return {
        path: lines
        for path, lines in sums.items()
        if first[path] != last[path] or (path in bits and last[path] is not None)
    }


def facts(story: Story) -> list[tuple[str, str]]:
    """What stands at the head of an export; lines that would say nothing are left out."""
    figures = story.metrics
    tokens = f"{figures.input_tokens:,} in ({figures.cached_tokens:,} cached), {figures.output_tokens:,} out"
    changed = changed_files(story)
    files, added, removed = (
        len(changed),
        sum(a for a, _ in changed.values()),
        sum(r for _, r in changed.values()),
    )
    rows = [
        ("session", story.session),
        ("workspace", story.workspace),
        ("model", story.model),
        ("begun", moment(figures.first_at)),
        ("lasted", duration((figures.last_at - figures.first_at) * 1_000)),
        ("turns", counted(figures.turns, "turn") + f", {counted(figures.parts, 'part')}"),
        ("files", f"{counted(files, 'file')} changed, +{added} −{removed}" if files else ""),
        ("tokens", tokens if figures.model_calls else ""),
        ("cost", cost(figures.cost_usd)),
    ]
    return [(name, value) for name, value in rows if value]


def turn_end(entry: TurnEntry) -> str:
    """A turn's end row."""
    files = f"{counted(entry.files, 'file')} +{entry.added} −{entry.removed}" if entry.files else ""
    words = [
        TURN_ENDS.get(entry.reason, entry.reason),
        duration(entry.duration_ms),
        counted(entry.iterations, "model call") if entry.iterations else "",
        files,
        cost(entry.cost_usd),
    ]
    return " · ".join(word for word in words if word)


def tool_words(entry: ToolEntry, texts: Texts) -> tuple[str, str, str]:
    """A tool row: what it did, to what, and how it came out."""
    state = STATES[entry.state]
    said = texts.plain(entry.denied or entry.outcome)
    outcome = " · ".join(word for word in (state, said, duration(entry.duration_ms)) if word)
    return texts.plain(entry.verb or entry.name), texts.plain(entry.target), outcome


def answered(entry: QuestionEntry, texts: Texts) -> str:
    """What was answered to a question."""
    if entry.answer is not None:
        return texts.whole(entry.answer)
    return "(no answer was waited for)" if entry.void else "(no answer yet)"


def pictures(entry: UserEntry, texts: Texts) -> list[str]:
    """The names of what was attached."""
    return [texts.plain(image.name) or f"a picture of {image.size} bytes" for image in entry.attachments]


def mentions(entry: UserEntry, texts: Texts) -> list[tuple[str, str]]:
    """What the message mentions: its name, and what the model was sent of it."""
    return [
        (
            texts.plain(mention_name(one)),
            texts.plain(mention_sent(one, f"{one.size:,} bytes", f"{one.tokens:,}")),
        )
        for one in entry.mentions
    ]


def other_changes(entry: ToolEntry, changes: Sequence[Change]) -> list[Change]:
    """What a call changed beyond the diffs that its result shows."""
    shown = {block.path for block in entry.blocks if isinstance(block, DiffBlock)}
    return [change for change in changes if change.path not in shown]


def block_text(block: DisplayBlock, texts: Texts) -> str:
    """A display block in plain text."""
    match block:
        case TextBlock(text=text) | MarkdownBlock(text=text):
            return texts.whole(text)
        case TerminalBlock(text=text, omitted=omitted):
            return (f"… {counted(omitted, 'earlier line')}\n" if omitted else "") + texts.whole(text)
        case DiffBlock(diff=diff):
            return texts.whole(diff)
        case TableBlock(columns=columns, rows=rows):
            return texts.plain("\n".join("\t".join(row) for row in (columns, *rows)))
        case TreeBlock(roots=roots):
            return texts.plain("\n".join(_tree(roots, 0)))
        case JsonBlock(data=data):
            return texts.plain(json.dumps(data, ensure_ascii=False, indent=2))
        case ImageBlock(name=name, size=size):
            return texts.plain(f"{name or 'picture'}, {size} bytes")
        case CustomBlock(text=text):
            return texts.plain(text)


def _tree(nodes: Sequence[TreeNode], depth: int) -> Iterator[str]:
    for node in nodes:
        yield "  " * depth + node.label
        yield from _tree(node.children, depth + 1)
