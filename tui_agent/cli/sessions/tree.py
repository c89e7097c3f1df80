"""The subcommand `sessions tree`: a session's branches, its parents and its forks."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tui_agent.cli.console.output import dim, escape_control, say, say_json, shorten, terminal_width
from tui_agent.cli.console.shared_options import SESSION_HELP, Verbs, load_context
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branch_tree import (
    MAIN_BRANCH,
    Branch,
    Outcome,
    TreeView,
    TurnResult,
    branch_tree,
    fork_name,
)
from tui_agent.folds.session.branches import is_on_branch
from tui_agent.folds.text.labels import fork_changes
from tui_agent.folds.text.line_diff import FileCounts
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.events.session import SessionForked
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.forks import FamilyMember, find_family
from tui_agent.store.lineage import open_blobs
from tui_agent.store.log_chunks import read_first_line
from tui_agent.store.log_line import decode_payload
from tui_agent.store.log_reader import iterate_records, require_readable
from tui_agent.store.session_summary import SessionSummary, summarise_session
from tui_agent.units import format_time

EXAMPLES = """\
examples:
  tui-agent sessions tree latest
  tui-agent sessions tree ses_01 --json | jq 'select(.current)'
"""
MAX_TEXT_CHARS, MAX_ANSWER_CHARS = 2000, 1200
"""Maximum characters of a message and of an answer in the printed tree."""
MARK, ELBOW = ">", "└ "


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommand `tree` to `verbs`."""
    parser = verbs.add("tree", show_tree, "show a session's branches, forks and parents", examples=EXAMPLES)
    parser.add_argument("id", metavar="ID", help=SESSION_HELP)


def show_tree(arguments: argparse.Namespace) -> None:
    """Print a line for each branch of all related sessions, followed by the branch's messages."""
    store = load_context(arguments).store
    folder = store.find(arguments.id)
    require_readable(folder)
    for node in nodes(folder, store.folders()):
        if arguments.json:
            say_json(node.as_json())
        else:
            _print_node(node)


@dataclass(frozen=True, slots=True)
class Member:
    """A session in the tree of related sessions, with its branches."""

    relative: FamilyMember
    summary: SessionSummary
    view: TreeView
    changed: tuple[str, ...]

    @property
    def forked_at(self) -> int | None:
        """The event of the parent session at which this session was forked; None without a parent."""
        return self.relative.origin.at_seq if self.relative.origin is not None else None


@dataclass(frozen=True, slots=True)
class Node:
    """One branch in the tree of sessions: the branch with the index `index` of the session `member`.

    `current`: True for the current branch of the requested session.
    """

    member: Member
    index: int
    depth: int
    current: bool

    @property
    def branch(self) -> Branch:
        return self.member.view.branches[self.index]

    @property
    def kind(self) -> str:
        """`main` or `fork` for a session's first branch, `branch` for its other branches."""
        return "branch" if self.index else MAIN_BRANCH if self.member.forked_at is None else "fork"

    @property
    def at_seq(self) -> int | None:
        """The number of the last event shared with the parent branch; None for `main`."""
        return self.branch.at_seq if self.index else self.member.forked_at

    @property
    def name(self) -> str:
        """The name shown in the tree, such as `main`, `branch at 50` or `fork at 88`."""
        return fork_name(self.at_seq) if self.kind == "fork" else self.branch.name

    @property
    def outcome(self) -> Outcome:
        """The outcome of the branch; `running` for an unfinished branch if a process has the session open."""
        recorded = self.branch.outcome
        running = recorded.state == "open" and self.branch.current and self.member.summary.is_locked
        return Outcome("open", "running") if running else recorded

    def as_json(self) -> dict[str, object]:
        """Return the branch as a JSON object, with times in seconds since the epoch."""
        summary, branch = self.member.summary, self.branch
        usage = NO_USAGE.with_costs((message.cost_usd, message.cost_precision) for message in branch.turns)
        return {
            "session": summary.id,
            "path": str(summary.path),
            "title": summary.title,
            "kind": self.kind,
            "at_seq": self.at_seq,
            "first_seq": branch.first if self.index or self.at_seq is None else self.at_seq + 1,
            "last_seq": branch.last,
            "depth": self.depth,
            "current": self.current,
            "head": branch.current,
            "started": branch.started if self.index else summary.started,
            "ended": branch.ended,
            "workspace": summary.workspace,
            "changed": self.member.changed if self.kind == "fork" else (),
            "outcome": asdict(self.outcome),
            "turns": len(branch.turns),
            "files": _file_rows(branch.files),
            "cost_usd": None if usage.cost_usd is None else round(usage.cost_usd, 9),
            "cost_precision": usage.cost_precision,
            "prompts": [_prompt(message) for message in branch.turns],
        }


def _prompt(message: TurnResult) -> dict[str, object]:
    data = asdict(message)
    data["text"], data["answer"] = message.text[:MAX_TEXT_CHARS], message.answer[:MAX_ANSWER_CHARS]
    data["files"] = _file_rows(message.files)
    return data


def _file_rows(files: Iterable[FileCounts]) -> list[dict[str, object]]:
    return [file._asdict() for file in files]


def nodes(folder: Path, folders: Sequence[Path]) -> list[Node]:
    """Return the branches of all related sessions in tree order, parents before children."""
    relatives = map(_load_member, find_family(folder, folders))
    members = {member.relative.folder.name: member for member in relatives if member is not None}
    forks = _forks_by_branch(members)
    tree_nodes: list[Node] = []
    pending = [(member, 0, 0) for member in reversed(_find_roots(members))]
    while pending:
        member, index, depth = pending.pop()
        here = member.relative.folder.name
        if not member.view.branches:
            continue
        is_current = member.view.branches[index].current
        if _is_shown(member, index, forks):
            tree_nodes.append(Node(member, index, depth, is_current and here == folder.name))
        children = [
            (member.view.branches[child].started, member, child) for child in member.view.children(index)
        ]
        children += [(fork.summary.started, fork, 0) for fork in forks.get((here, index), [])]
        # Newest first, because `pop` takes the last entry and the oldest child is printed first.
        for _, relative, child in sorted(children, key=lambda entry: -entry[0]):
            pending.append((relative, child, depth + 1))
    return tree_nodes


def _is_shown(member: Member, index: int, forks: Mapping[tuple[str, int], list[Member]]) -> bool:
    """Return True if the branch has content, or if the branch or one of its descendants has a fork."""
    pending = [index]
    while pending:
        current = pending.pop()
        if (member.relative.folder.name, current) in forks:
            return True
        pending.extend(member.view.children(current))
    return member.view.is_worth_showing(index)


def _load_member(relative: FamilyMember) -> Member | None:
    summary = summarise_session(relative.folder)
    if summary is None or summary.is_other_version:
        return None
    after = relative.origin.at_seq if relative.origin is not None else -1
    view = branch_tree(iterate_records(relative.folder), after, open_blobs(relative.folder).find)
    return Member(relative, summary, view, _fork_changes(relative.folder))


def _fork_changes(folder: Path) -> tuple[str, ...]:
    payload = decode_payload(read_first_line(folder))
    return fork_changes(payload.changes) if isinstance(payload, SessionForked) else ()


def _forks_by_branch(members: Mapping[str, Member]) -> dict[tuple[str, int], list[Member]]:
    forks: dict[tuple[str, int], list[Member]] = {}
    for member in members.values():
        origin = member.relative.origin
        parent = members.get(origin.parent) if origin is not None else None
        if origin is None or parent is None:
            continue
        # `own` leaves out the events that a branch shares with its parent branch, so one branch matches.
        indexes = [
            index
            for index, candidate in enumerate(parent.view.branches)
            if is_on_branch(origin.at_seq, candidate.own)
        ]
        forks.setdefault((origin.parent, indexes[0] if indexes else 0), []).append(member)
    return forks


def _find_roots(members: Mapping[str, Member]) -> list[Member]:
    return [
        member
        for member in members.values()
        if member.relative.origin is None or member.relative.origin.parent not in members
    ]


def _print_node(node: Node) -> None:
    branch, summary = node.branch, node.member.summary
    mark = MARK if node.current else " "
    indent = "  " * max(0, node.depth - 1) + (ELBOW if node.depth else "")
    who = f"  {summary.id}" if node.index == 0 else ""
    title = f"  {summary.title}" if node.index == 0 and summary.title else ""
    started = format_time(branch.started if node.index else summary.started)
    facts = [node.outcome.label, format_count(len(branch.turns), "turn"), started]
    facts += [*node.member.changed] if node.kind == "fork" else []
    say(
        f"{mark} {indent}{node.name}{who}{title}  {dim(', '.join(facts))}{'  (current)' if node.current else ''}"
    )
    inner = " " * (len(indent) + 4)
    room = max(20, terminal_width() - len(inner) - 10)
    for message in branch.turns:
        text = escape_control(" ".join(message.text.split())) or "(continued without a message)"
        say(f"{inner}{message.seq:>6}  {shorten(text, room)}")
