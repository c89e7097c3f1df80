"""The verb `sessions tree`: a session's branches, and the sessions that it was forked from and that were forked from it."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import faint, moment, printable, say, say_json, width
from tui_agent.folds.session.branch_tree import Branch, TreeView, tree
from tui_agent.folds.session.branches import on_branch
from tui_agent.folds.session.turn_outcome import Outcome, Said
from tui_agent.folds.text.labels import fork_changes
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionForked
from tui_agent.store.chunks import first_line
from tui_agent.store.family import Relative, family
from tui_agent.store.line import decode
from tui_agent.store.reader import iterate_records
from tui_agent.store.summary import SessionSummary, summarise
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent sessions tree latest
  tui-agent sessions tree ses_01 --json | jq 'select(.current)'
"""
WHICH = "a session's id, the beginning of one, or latest"
TEXT, ANSWER = 2000, 1200
"""Characters of a message and of an answer that are told."""
MARK, ELBOW = ">", "└ "


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `tree`."""
    parser = add_verb(
        verbs,
        "tree",
        show_tree,
        help="a session's branches, its forks, and where it was forked from",
        examples=EXAMPLES,
    )
    parser.add_argument("id", metavar="ID", help=WHICH)


def show_tree(arguments: argparse.Namespace) -> int:
    """Print the family of a session, a node a line, each with its messages below it."""
    store = ground(session_options(arguments, client="headless", interactive=False)).store
    folder = store.find(arguments.id)
    for node in nodes(folder, store.folders()):
        if arguments.json:
            say_json(node.as_json())
        else:
            _draw(node)
    return Exit.DONE


@dataclass(frozen=True, slots=True)
class Member:
    """A session of the family with its branches."""

    relative: Relative
    summary: SessionSummary
    view: TreeView
    changed: tuple[str, ...]

    @property
    def forked_at(self) -> int | None:
        """The event after which it goes on from its parent."""
        return self.relative.origin.at_seq if self.relative.origin is not None else None


@dataclass(frozen=True, slots=True)
class Node:
    """One branch in its place. `current`: the session that was asked for stands on it; `head`: its own session does."""

    member: Member
    index: int
    depth: int
    current: bool

    @property
    def branch(self) -> Branch:
        """The branch itself."""
        return self.member.view.branches[self.index]

    @property
    def kind(self) -> str:
        """`main`, `branch`, or `fork`: the first branch of a session that was forked."""
        return "branch" if self.index else "main" if self.member.forked_at is None else "fork"

    @property
    def at_seq(self) -> int | None:
        """The event after which it leaves what stands above it."""
        return self.branch.at_seq if self.index else self.member.forked_at

    @property
    def name(self) -> str:
        """`main`, `branch at 50`, `fork at 88`."""
        return self.kind if self.at_seq is None else f"{self.kind} at {self.at_seq}"

    @property
    def outcome(self) -> Outcome:
        """How it stands; what has no end and is held by a process runs."""
        found = self.branch.outcome
        running = found.state == "open" and self.branch.current and self.member.summary.locked
        return Outcome("open", "running") if running else found

    def as_json(self) -> dict[str, object]:
        """As one JSON object. Times are seconds since the epoch."""
        summary, one = self.member.summary, self.branch
        costs = [said.cost_usd for said in one.said if said.cost_usd is not None]
        return {
            "session": summary.id,
            "path": str(summary.path),
            "title": summary.title,
            "kind": self.kind,
            "at_seq": self.at_seq,
            "first_seq": one.first if self.index or self.at_seq is None else self.at_seq + 1,
            "last_seq": one.last,
            "depth": self.depth,
            "current": self.current,
            "head": one.current,
            "started": one.started if self.index else summary.started,
            "ended": one.ended,
            "workspace": summary.workspace,
            "changed": self.member.changed if self.kind == "fork" else (),
            "outcome": asdict(self.outcome),
            "turns": len(one.said),
            "cost_usd": round(sum(costs), 9) if costs else None,
            "prompts": [_prompt(said) for said in one.said],
        }


def _prompt(said: Said) -> dict[str, object]:
    told = asdict(said)
    told["text"], told["answer"] = said.text[:TEXT], said.answer[:ANSWER]
    told["files"] = [
        {"path": path, "added": added, "removed": removed} for path, added, removed in said.files
    ]
    return told


def nodes(folder: Path, folders: Sequence[Path]) -> list[Node]:
    """The branches of a session and of its relatives in drawing order: each followed by what leaves it."""
    members = {
        one.relative.folder.name: one for one in map(_member, family(folder, folders)) if one is not None
    }
    attached = _attached(members)
    found: list[Node] = []
    waiting = [(one, 0, 0) for one in reversed(_tops(members))]
    while waiting:
        member, index, depth = waiting.pop()
        here = member.relative.folder.name
        if not member.view.branches:
            continue
        standing = member.view.branches[index].current
        if _shown(member, index, attached):
            found.append(Node(member, index, depth, standing and here == folder.name))
        kids = [(member.view.branches[child].started, member, child) for child in member.view.children(index)]
        kids += [(fork.summary.started, fork, 0) for fork in attached.get((here, index), [])]
        for _, kin, child in sorted(kids, key=lambda kid: -kid[0]):
            waiting.append((kin, child, depth + 1))
    return found


def _shown(member: Member, index: int, attached: Mapping[tuple[str, int], list[Member]]) -> bool:
    """Whether a branch is worth showing, by itself or since a fork hangs on it."""
    below = [index]
    while below:
        at = below.pop()
        if (member.relative.folder.name, at) in attached:
            return True
        below.extend(member.view.children(at))
    return member.view.worth_showing(index)


def _member(relative: Relative) -> Member | None:
    summary = summarise(relative.folder)
    if summary is None:
        return None
    after = relative.origin.at_seq if relative.origin is not None else -1
    view = tree(iterate_records(relative.folder), after)
    return Member(relative, summary, view, _changed(relative.folder))


def _changed(folder: Path) -> tuple[str, ...]:
    record = decode(first_line(folder))
    payload = record.payload if isinstance(record, Envelope) else None
    return fork_changes(payload.changed) if isinstance(payload, SessionForked) else ()


def _attached(members: Mapping[str, Member]) -> dict[tuple[str, int], list[Member]]:
    """The forks that hang on each branch: (session, index)."""
    found: dict[tuple[str, int], list[Member]] = {}
    for member in members.values():
        origin = member.relative.origin
        parent = members.get(origin.parent) if origin is not None else None
        if origin is None or parent is None:
            continue
        on = [at for at, one in enumerate(parent.view.branches) if on_branch(origin.at_seq, one.own)]
        found.setdefault((origin.parent, on[0] if on else 0), []).append(member)
    return found


def _tops(members: Mapping[str, Member]) -> list[Member]:
    """Those that hang on nothing that is there."""
    return [
        one
        for one in members.values()
        if one.relative.origin is None or one.relative.origin.parent not in members
    ]


def _draw(node: Node) -> None:
    one, summary = node.branch, node.member.summary
    mark = MARK if node.current else " "
    indent = "  " * max(0, node.depth - 1) + (ELBOW if node.depth else "")
    who = f"  {summary.id}" if node.index == 0 else ""
    title = f"  {summary.title}" if node.index == 0 and summary.title else ""
    facts = [
        node.outcome.words,
        _turns(len(one.said)),
        moment(one.started if node.index else summary.started),
    ]
    facts += [*node.member.changed] if node.kind == "fork" else []
    say(
        f"{mark} {indent}{node.name}{who}{title}  {faint(', '.join(facts))}{'  here' if node.current else ''}"
    )
    inner = " " * (len(indent) + 4)
    room = max(20, width() - len(inner) - 10)
    for said in one.said:
        text = printable(" ".join(said.text.split())) or "(went on without a new message)"
        say(f"{inner}{said.seq:>6}  {text if len(text) <= room else text[: room - 1] + '…'}")


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"
