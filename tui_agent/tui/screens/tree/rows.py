"""The rows of the tree: read from `sessions tree --json`, drawn in columns, and the details of one of them.

Invariant: drawing and reading are pure; a field that is missing or of another type is empty, nothing is raised.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue
from textual.strip import Strip

from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of
from tui_agent.tui.screens.page import Facts
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.symbols import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.listing import ListRow
from tui_agent.tui.widgets.rows import Part, cells, part, row
from tui_agent.units import format_age, format_cost, format_duration


@dataclass(frozen=True, slots=True)
class Came:
    """What came of something: how it stands, in words, and what it cost, changed and called."""

    state: str = ""
    words: str = ""
    answer: str = ""
    files: tuple[tuple[str, int, int], ...] = ()
    tools: tuple[tuple[str, int], ...] = ()
    cost_usd: float | None = None
    duration_s: float = 0.0
    iterations: int = 0
    tests_passed: int | None = None
    tests_failed: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One row: a branch, or (`message`) what was said on it. `last_seq` is where one goes, `seq` where it begins.

    `current`: the open session stands on this branch. `turns` and `changed` are a branch's.
    """

    session: str
    kind: str
    name: str
    depth: int
    seq: int
    last_seq: int
    at: float
    came: Came
    title: str = ""
    workspace: str = ""
    path: str = ""
    at_seq: int | None = None
    current: bool = False
    message: bool = False
    text: str = ""
    again: str = ""
    """Without a text of its own: the message that is answered again."""
    turns: int = 0
    changed: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, int, bool]:
        """What tells it from every other row, also after the tree was read again."""
        return self.session, self.seq, self.message


def tree_rows(said: str) -> list[Node]:
    """The rows of a tree in drawing order."""
    found: list[Node] = []
    for branch in json_rows(said):
        head = _branch(branch)
        messages = [_message(head, prompt) for prompt in _objects(branch.get("prompts"))]
        known = {node.seq: node.text for node in found if node.message}
        messages = [replace(node, again=known.get(node.at_seq or -1, "")) for node in messages]
        found += [replace(head, came=_whole(head.came, messages)), *messages]
    return found


def _branch(row: JsonRow) -> Node:
    at_seq = _whole_number(row.get("at_seq"))
    kind = text_of(row, "kind") or "main"
    outcome = row.get("outcome")
    ended = outcome if isinstance(outcome, dict) else {}
    return Node(
        session=text_of(row, "session"),
        kind=kind,
        name=kind if at_seq is None else f"{kind} at {at_seq}",
        depth=round(number_of(row, "depth")),
        seq=round(number_of(row, "first_seq")),
        last_seq=round(number_of(row, "last_seq")),
        at=number_of(row, "started"),
        came=Came(text_of(ended, "state"), text_of(ended, "label"), cost_usd=_amount(row.get("cost_usd"))),
        title=text_of(row, "title"),
        workspace=text_of(row, "workspace"),
        path=text_of(row, "path"),
        at_seq=at_seq,
        current=row.get("current") is True,
        turns=round(number_of(row, "turns")),
        changed=tuple(one for one in _list(row.get("changed")) if isinstance(one, str)),
    )


def _message(branch: Node, row: JsonRow) -> Node:
    return replace(
        branch,
        seq=round(number_of(row, "seq")),
        last_seq=round(number_of(row, "last_seq")),
        at=number_of(row, "time"),
        text=text_of(row, "text"),
        message=True,
        came=_came(row),
    )


def _came(row: JsonRow) -> Came:
    outcome, tools = row.get("outcome"), row.get("tools")
    ended = outcome if isinstance(outcome, dict) else {}
    called = tools if isinstance(tools, dict) else {}
    return Came(
        state=text_of(ended, "state"),
        words=text_of(ended, "label"),
        answer=text_of(row, "answer"),
        files=tuple(
            (text_of(one, "path"), round(number_of(one, "added")), round(number_of(one, "removed")))
            for one in _objects(row.get("files"))
        ),
        tools=tuple((name, count) for name, count in called.items() if isinstance(count, int)),
        cost_usd=_amount(row.get("cost_usd")),
        duration_s=number_of(row, "duration_s"),
        iterations=round(number_of(row, "iterations")),
        tests_passed=_whole_number(row.get("tests_passed")),
        tests_failed=_whole_number(row.get("tests_failed")),
    )


def _whole(ended: Came, messages: Sequence[Node]) -> Came:
    """What a branch's messages came to together; the answer and the tests are those of the newest that has any."""
    files: dict[str, tuple[int, int]] = {}
    tools: dict[str, int] = {}
    for one in messages:
        for path, added, removed in one.came.files:
            before = files.get(path, (0, 0))
            files[path] = before[0] + added, before[1] + removed
        for name, count in one.came.tools:
            tools[name] = tools.get(name, 0) + count
    tested = next((one.came for one in reversed(messages) if one.came.tests_passed is not None), ended)
    return replace(
        ended,
        answer=next((one.came.answer for one in reversed(messages) if one.came.answer), ""),
        files=tuple((path, *counts) for path, counts in files.items()),
        tools=tuple(tools.items()),
        duration_s=sum(one.came.duration_s for one in messages),
        iterations=sum(one.came.iterations for one in messages),
        tests_passed=tested.tests_passed,
        tests_failed=tested.tests_failed,
    )


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _objects(value: JsonValue) -> list[JsonRow]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _whole_number(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


ANSWER_ROWS, TEXT_ROWS = 8, 6
COST_FROM, TURNS_FROM = 44, 66
"""Cells of the list from which on it has these columns."""
WENT_ON = "went on without a new message"


def state_symbol(state: str, symbols: Symbols) -> tuple[str, Role]:
    """A state's symbol and its role."""
    known: dict[str, tuple[str, Role]] = {
        "done": (symbols.done, "success"),
        "failed": (symbols.failed, "error"),
        "stopped": (symbols.stopped, "warning"),
        "waiting": (symbols.waiting, "warning"),
        "open": (symbols.running, "accent"),
    }
    return known.get(state, (symbols.queued, "t3"))


def measures(width: int, turns: str, cost: str, age: str) -> str:
    """The columns at the right, as many as a list of this width has."""
    shown = turns.rjust(6) if width >= TURNS_FROM else ""
    shown += cost.rjust(9) if width >= COST_FROM else ""
    return shown + age.rjust(8)


def column_names(width: int, looks: Looks) -> Strip:
    """The row above the list."""
    quiet = looks.palette.rich("t3", "s0")
    names = measures(width, "turns", "cost", "age")
    return row(width, [("    branches and what was said", quiet)], [(names, quiet)], fill=quiet)


def node_row(node: Node, width: int, looks: Looks, now: float, *, chosen: bool) -> Strip:
    """A branch, or a message on it."""
    line, symbols = ListRow(looks, chosen), looks.symbols
    symbol, role = state_symbol(node.came.state, symbols)
    elbow = "- " if symbols.name == "ascii" else "└ "
    indent = "  " * max(0, node.depth - 1) + (elbow if node.depth and not node.message else "")
    if node.message:
        indent += "  " * (2 if node.depth else 1)
    left = [*line.first(symbol, role), (indent, line.style("t3"))]
    turns = str(node.turns) if not node.message else ""
    age = format_age(max(0.0, now - node.at)) if node.at else ""
    right: list[Part] = [(measures(width, turns, format_cost(node.came.cost_usd), age), line.style("t2"))]
    room = max(4, width - cells(left) - cells(right) - 4)
    left += _said(node, room, line, symbols) if node.message else _named(node, room, line, symbols)
    return line.line(width, left, right)


def said(node: Node) -> str:
    """A message in one line; what stands in its place where there is none."""
    text = clean_line(" ".join((node.text or node.again).split()))
    return f"again: {text}" if text and not node.text else text or WENT_ON


def _said(node: Node, room: int, line: ListRow, symbols: Symbols) -> list[Part]:
    return [part(fit(said(node), room, symbols.ellipsis), line.style("t1" if node.text else "t2"))]


def _named(node: Node, room: int, line: ListRow, symbols: Symbols) -> list[Part]:
    """Name, where one is, and as much of what is different and how it stands as there is room for."""
    found: list[Part] = [(node.name, line.style(bold=True))]
    if node.current:
        found.append(("  here", line.style("accent", bold=True)))
    facts: list[tuple[str, Role]] = [(", ".join(node.changed), "t2"), (node.came.words, "t3")]
    for text, role in facts:
        space = room - cells(found) - 2
        if text and space >= min(len(text), 12):
            found.append((f"  {fit(clean_line(text), space, symbols.ellipsis)}", line.style(role)))
    return found


def detail(node: Node, parent: Node | None, looks: Looks, width: int) -> list[Strip]:
    """What is known of a row: where, when, how it ended, what was answered and changed."""
    facts = Facts(looks, width)
    came = node.came
    facts.gap()
    facts.text((node.text or said(node)) if node.message else node.name, bold=True, most=TEXT_ROWS)
    symbol, role = state_symbol(came.state, looks.symbols)
    facts.line([(f"{symbol} ", facts.style(role)), part(came.words, facts.style(role))])
    facts.gap()
    _where(facts, node, parent)
    facts.fact("cost", format_cost(came.cost_usd))
    facts.fact("iterations", str(came.iterations) if came.iterations else "")
    facts.fact("tests", tests(came), "error" if came.tests_failed else "t1")
    facts.fact("tools", tools(came.tools))
    if came.files:
        facts.heading("Files")
        widest = max(len(str(max(added, removed))) for _, added, removed in came.files) + 1
        for path, added, removed in came.files:
            facts.counted(added, removed, path, widest)
    if came.answer.strip():
        facts.heading("Answer" if node.message else "Last answer")
        facts.markdown(came.answer.strip(), most=ANSWER_ROWS)
    return facts.rows


def _where(facts: Facts, node: Node, parent: Node | None) -> None:
    if node.message:
        facts.fact("on", f"{node.name}, events {node.seq} to {node.last_seq}")
    else:
        facts.fact("session", node.title if node.kind != "branch" else "")
        facts.fact("", node.session if node.kind != "branch" else "")
        facts.fact("folder", node.workspace if node.kind == "fork" else "")
        facts.fact("different", ", ".join(node.changed))
        after = f"event {node.at_seq}" if node.at_seq is not None else ""
        words = clean_line(" ".join(parent.text.split())[:60]) if parent is not None else ""
        facts.fact("after", f"{after}, “{words}”" if words else after)
        facts.fact("turns", str(node.turns))
    facts.fact(
        "asked" if node.message and node.text else "began",
        time.strftime("%d %b %H:%M:%S", time.localtime(node.at)) if node.at else "",
    )
    facts.fact("took", format_duration(node.came.duration_s) if node.came.duration_s else "")


def tests(came: Came) -> str:
    """`32 passed, 2 failed`."""
    if came.tests_passed is None and came.tests_failed is None:
        return ""
    failed = f", {came.tests_failed} failed" if came.tests_failed else ""
    return f"{came.tests_passed or 0} passed{failed}"


def tools(called: Sequence[tuple[str, int]]) -> str:
    """`read_file 3, edit_file 2`, the most used first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(called, key=lambda one: -one[1]))
