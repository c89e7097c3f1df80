"""A comparison as Markdown. Invariant: text from models and files is escaped, so it renders as plain text."""

from collections.abc import Iterator

from tui_agent.cli.compare.table import rows
from tui_agent.export.markdown import code, fenced, inline, quote
from tui_agent.export.story import clean
from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.screens.compare.figures import beginning, missing


def to_markdown(compared: Comparison) -> str:
    """Return the Markdown file of a comparison."""
    return "\n\n".join(_blocks(compared)) + "\n"


def _blocks(compared: Comparison) -> Iterator[str]:
    left, right = compared.left, compared.right
    yield f"# {_inline(left.title or right.title or 'Two sessions')}: what if"
    yield _inline("".join(beginning(compared.fork_point))) + "."
    head, *rest = [row for row in rows(compared) if any(row)]
    lines = [_row(*head), "|---|---|---|", *(_row(*row) for row in rest)]
    yield "\n".join(lines)
    yield "## Where they differ"
    if not compared.differ:
        yield "No files differ at the end."
    for file in compared.differ:
        yield f"### {code(clean(file.path))}"
        sides = ((left, file.left, file.left_note), (right, file.right, file.right_note))
        for side, hunks, note in sides:
            yield f"**{_inline(side.name)}**{'' if hunks else ': ' + (note or missing(file, side))}"
            if hunks:
                yield fenced(clean(hunks), "diff")
    yield "## Answers"
    for side in (left, right):
        yield f"**{_inline(side.name)}**: {_inline(side.outcome.words)}"
        yield quote(clean(side.answer)) if side.answer else "(no answer)"


def _row(label: str, left: str, right: str) -> str:
    return f"| {_inline(label)} | {_inline(left)} | {_inline(right)} |"


def _inline(text: str) -> str:
    return inline(clean(text))
