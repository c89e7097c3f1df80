"""Compare two sessions, or two branches of a session: their outcome, cost and changed files.

The events shared by two sessions are not compared. A single session is compared with its parent or, if it has no
parent, with its newest fork.
"""

import argparse
import dataclasses
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tui_agent.cli.console.output import (
    escape_control,
    say,
    say_json,
    say_result,
    say_text,
    terminal_width,
    warn,
)
from tui_agent.cli.console.shared_options import GROUPS, RECORDING_HELP, add_flag, add_option, load_context
from tui_agent.errors import UsageError
from tui_agent.export.export_content import strip_controls
from tui_agent.export.markdown import escape_inline, fence, inline_code, quote
from tui_agent.export.output_file import output_path, write_new
from tui_agent.folds.comparison.compared_branch import Branch
from tui_agent.folds.comparison.fold import Comparison, compare
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.branch_tree import name_branch
from tui_agent.store.damage_report import describe_damage
from tui_agent.store.lineage import open_blobs, read_origin
from tui_agent.store.log_reader import read_records
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import summarise_session
from tui_agent.tui.screens.compare.figures import (
    Cell,
    build_figures,
    describe_fork_point,
    describe_missing,
    describe_model,
    describe_tools,
)

EXAMPLES = """\
examples:
  tui-agent compare ses_01 ses_02
  tui-agent compare latest
  tui-agent compare ses_01@120 ses_01
  tui-agent compare ses_01 ses_02 --json | jq '.right.outcome.label'
  tui-agent compare ses_01 ses_02 --markdown -o two-ways.md

ID@SEQ is the branch of a session that ends at event SEQ; ID alone is its current branch.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the two branches, and the options for the output format."""
    parser.add_argument(
        "left", metavar="A", help=f"{RECORDING_HELP}; A@SEQ is the branch that ends at event SEQ"
    )
    parser.add_argument(
        "right", metavar="B", nargs="?", help="the second session or branch, in the same form as A"
    )
    add_flag(parser, "--json", "print one JSON object")
    add_flag(parser, "--markdown", "write Markdown to a new file in your documents or downloads folder")
    add_option(
        parser,
        "-o --output FILE",
        "with --markdown: the file to write, or a folder for a new file; - for standard output",
    )
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare the two branches, and print the result or write it to a file."""
    if arguments.output and not arguments.markdown:
        raise UsageError("-o needs --markdown.", hint="Add --markdown.")
    base = load_context(arguments)
    pair = (arguments.left, arguments.right) if arguments.right else default_pair(base.store, arguments.left)
    comparison = compare_named(base.store, *pair)
    if not arguments.markdown:
        show(comparison, as_json=arguments.json)
        return
    text = base.redactor.redact_text(to_markdown(comparison))
    if arguments.output == "-":
        say_text(text)
        return
    stem = f"compare-{comparison.left.session}-{comparison.right.session}"
    dest = output_path(arguments.output, base.config.data_dir, base.options.cwd, stem, "md")
    write_new(dest, text.encode())
    say_result({"path": str(dest.absolute())}, str(dest), as_json=arguments.json)


def show(compared: Comparison, *, as_json: bool) -> None:
    """Print a comparison as one JSON object, or as a table as wide as the terminal."""
    if as_json:
        say_json(dataclasses.asdict(compared))
        return
    for line in table(compared, terminal_width()):
        say(line)


def compare_named(store: SessionStore, left: str, right: str) -> Comparison:
    """Compare two branches given as `ID` or `ID@SEQ`.

    Raise `SessionNotFound` for an unknown session, `UsageError` for an unknown event.
    """
    return compare(resolve_branch(store, left), resolve_branch(store, right))


def resolve_branch(store: SessionStore, name: str) -> Branch:
    """Return the branch given as `ID` or `ID@SEQ`; warn if the session's log is damaged."""
    session, seq = _split_name(name)
    folder = store.find(session)
    records = read_records(folder, skip_deltas=True)
    for flaw in describe_damage(folder, records):
        warn(f"{folder.name}: {flaw}")
    if seq:
        last = records[-1].seq if records else -1
        if int(seq) > last:
            raise UsageError(
                f"{folder.name} has no event {seq}.", hint=f"The session has events 0 to {last}."
            )
        records = [record for record in records if record.seq <= int(seq)]
    return Branch(folder.name, current_branch(records), open_blobs(folder).find, name_branch(records))


def _split_name(name: str) -> tuple[str, str]:
    session, _, seq = name.rpartition("@")
    return (session, seq) if session and seq.isdecimal() else (name, "")


def default_pair(store: SessionStore, name: str) -> tuple[str, str]:
    """Return the names of two sessions to compare: the session `name`, and its parent or its newest fork.

    The older session comes first. Raise `UsageError` if the session has neither parent nor fork.
    """
    folder = store.find(_split_name(name)[0])
    origin = read_origin(folder)
    if origin is not None:
        return origin.parent, name
    forks = [
        summary for fork in store.forks(folder.name) if (summary := summarise_session(store.folder(fork)))
    ]
    if not forks:
        raise UsageError(
            f"{folder.name} is not a fork and has no forks.",
            hint="Name the second session: tui-agent compare A B. To list sessions: tui-agent sessions list",
        )
    return name, max(forks, key=lambda fork: fork.started).id


LABEL_COLUMNS = 17
GAP_COLUMNS = 2
MIN_COLUMNS = 60
SIDE_BY_SIDE_FROM = 100
"""Minimum width of the terminal, in columns, for showing both branches side by side."""


def table(compared: Comparison, width: int) -> Iterator[str]:
    """Yield the lines of a comparison's table, each at most `width` columns wide.

    If `width` is less than `MIN_COLUMNS`, use `MIN_COLUMNS`.
    """
    width = max(MIN_COLUMNS, width)
    yield from textwrap.wrap(
        escape_control("What if: " + "".join(describe_fork_point(compared.fork_point))), width
    )
    yield ""
    for label, left, right in rows(compared):
        yield from _two_columns(left, right, width, label)
    yield from _file_lines(compared, width)
    yield ""
    yield "Answers"
    yield from _text_pair(compared, compared.left.answer or "none", compared.right.answer or "none", width)


def rows(compared: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the comparison's table: (label, value of the left branch, value of the right branch)."""
    left, right = compared.left, compared.right
    yield "", left.name, right.name
    yield "", describe_model(left), describe_model(right)
    if left.change_text or right.change_text:
        yield "", left.change_text, right.change_text
    yield "", left.session, right.session
    yield "", "", ""
    yield "Outcome", left.outcome.label, right.outcome.label
    for row in build_figures(left, right):
        yield row.label, _format_cell(row.left), _format_cell(row.right)
    yield "Tools", describe_tools(left), describe_tools(right)


def _format_cell(cell: Cell) -> str:
    lines = [f"{sign}{count}" for sign, count in (("+", cell.added), ("-", cell.removed)) if count]
    text = ", ".join(word for word in (cell.text, cell.note) if word)
    return "  ".join([text, " ".join(lines)]).rstrip()


def _file_lines(compared: Comparison, width: int) -> Iterator[str]:
    yield ""
    if not compared.differences:
        yield "Both sessions end with the same files."
        return
    yield "Where they differ"
    for number, file in enumerate(compared.differences):
        yield from [""] * (number > 0)
        yield escape_control(file.path)
        left = file.left.rstrip("\n") or file.left_note or describe_missing(file, compared.left)
        right = file.right.rstrip("\n") or file.right_note or describe_missing(file, compared.right)
        yield from _text_pair(compared, left, right, width, code=True)


def _text_pair(
    compared: Comparison, left: str, right: str, width: int, *, code: bool = False
) -> Iterator[str]:
    if width >= SIDE_BY_SIDE_FROM:
        yield from _two_columns(left, right, width, code=code)
        return
    for name, text in ((compared.left.name, left), (compared.right.name, right)):
        yield f"{escape_control(name)}:"
        yield from (f"  {line}".rstrip() for line in _wrap(text, width - 2, code=code))


def _two_columns(
    left: str, right: str, width: int, label: str | None = None, *, code: bool = False
) -> Iterator[str]:
    labels = 0 if label is None else LABEL_COLUMNS
    room = (width - labels - GAP_COLUMNS) // 2
    heads: Sequence[str] = [label or ""]
    sides = (_wrap(text, room, code=code) for text in (left, right))
    for head, left_line, right_line in zip_longest(heads, *sides, fillvalue=""):
        yield f"{head:<{labels}}{left_line:<{room}}{' ' * GAP_COLUMNS}{right_line}".rstrip()


def _wrap(text: str, room: int, *, code: bool) -> list[str]:
    lines: list[str] = []
    for line in escape_control(text, lines=True).expandtabs(4).split("\n"):
        indent = " " * (min(len(line) - len(line.lstrip()), room // 2) + 2 * code)
        wrapped = textwrap.wrap(
            line, room, subsequent_indent=indent, drop_whitespace=not code, break_on_hyphens=not code
        )
        lines += wrapped or [""]
    return lines


def to_markdown(compared: Comparison) -> str:
    """Return a comparison as a Markdown document."""
    return "\n\n".join(_blocks(compared)) + "\n"


def _blocks(compared: Comparison) -> Iterator[str]:
    left, right = compared.left, compared.right
    yield f"# {_escape_inline(left.title or right.title or 'Two sessions')}: comparison"
    yield _escape_inline("".join(describe_fork_point(compared.fork_point))) + "."
    head, *rest = [row for row in rows(compared) if any(row)]
    lines = [_row(*head), "|---|---|---|", *(_row(*row) for row in rest)]
    yield "\n".join(lines)
    yield "## Where they differ"
    if not compared.differences:
        yield "Both sessions end with the same files."
    for file in compared.differences:
        yield f"### {inline_code(strip_controls(file.path))}"
        sides = ((left, file.left, file.left_note), (right, file.right, file.right_note))
        for side, hunks, note in sides:
            yield f"**{_escape_inline(side.name)}**{'' if hunks else ': ' + (note or describe_missing(file, side))}"
            if hunks:
                yield fence(strip_controls(hunks), "diff")
    yield "## Answers"
    for side in (left, right):
        yield f"**{_escape_inline(side.name)}**: {_escape_inline(side.outcome.label)}"
        yield quote(strip_controls(side.answer)) if side.answer else "(no answer)"


def _row(label: str, left: str, right: str) -> str:
    return f"| {_escape_inline(label)} | {_escape_inline(left)} | {_escape_inline(right)} |"


def _escape_inline(text: str) -> str:
    return escape_inline(strip_controls(text))
