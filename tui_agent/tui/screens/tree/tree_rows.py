"""The rows of the tree of branches in columns, parsed from `sessions tree --json`, and the details of a row.

Invariant: drawing and parsing are pure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from textual.strip import Strip

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branch_tree import Outcome, TurnResult
from tui_agent.folds.text.labels import describe_failures
from tui_agent.folds.text.line_diff import FileCounts
from tui_agent.tui.cli_client import read_rows
from tui_agent.tui.theme.glyphs import Symbols
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.untrusted_text import clean_line, fit
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Column, Part, Pen, cells, part, right_columns, state_mark
from tui_agent.units import CostPrecision, format_age, format_cost, format_duration, format_time


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of a session, as printed by `sessions tree`.

    - `at_seq`: the event after which the branch leaves its parent
    - `current`: True for the current branch of the open session
    """

    session: str
    kind: str = "main"
    at_seq: int | None = None
    first_seq: int = 0
    last_seq: int = 0
    depth: int = 0
    current: bool = False
    started: float = 0.0
    title: str = ""
    workspace: str = ""
    path: str = ""
    changed: tuple[str, ...] = ()
    outcome: Outcome = Outcome()
    turns: int = 0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    files: tuple[FileCounts, ...] = ()
    prompts: tuple[TurnResult, ...] = ()

    @property
    def name(self) -> str:
        return self.kind if self.at_seq is None else f"{self.kind} at {self.at_seq}"


@dataclass(frozen=True, slots=True)
class Node:
    """A row of the tree: a branch or, if `is_message`, a message on a branch.

    Opening the row reverts to the event `result.last_seq`.
    """

    branch: Branch
    result: TurnResult
    is_message: bool = False
    repeated: str = ""
    """Text of the message before the branch. The node shows this text if its own message has none."""

    @property
    def key(self) -> tuple[str, int, bool]:
        """A value that identifies the row after the tree is loaded again."""
        return self.branch.session, self.result.seq, self.is_message

    @property
    def title(self) -> str:
        """The message as one line. For a turn that continued without a message, a description."""
        text = clean_line(" ".join((self.result.text or self.repeated).split()))
        return f"again: {text}" if text and not self.result.text else text or CONTINUED


def read_tree(output: str) -> list[Node]:
    """Parse the output of `sessions tree --json` into rows, in the order on the screen."""
    nodes: list[Node] = []
    for branch in read_rows(Branch, output):
        texts = {node.result.seq: node.result.text for node in nodes if node.is_message}
        repeated = texts.get(branch.at_seq or -1, "")
        nodes.append(Node(branch, _sum_results(branch)))
        nodes += [Node(branch, prompt, is_message=True, repeated=repeated) for prompt in branch.prompts]
    return nodes


def _sum_results(branch: Branch) -> TurnResult:
    """Return one result for the whole branch: sums over its messages, the newest answer and the newest test counts."""
    prompts = branch.prompts
    tools = Counter[str]()
    for prompt in prompts:
        tools.update(prompt.tools or {})
    none = TurnResult(0, 0, 0.0, "", Outcome())
    tested = next((prompt for prompt in reversed(prompts) if prompt.tests_passed is not None), none)
    return replace(
        tested,
        seq=branch.first_seq,
        last_seq=branch.last_seq,
        time=branch.started,
        text="",
        outcome=branch.outcome,
        answer=next((prompt.answer for prompt in reversed(prompts) if prompt.answer), ""),
        files=branch.files,
        tools=tools,
        cost_usd=branch.cost_usd,
        cost_precision=branch.cost_precision,
        duration_s=sum(prompt.duration_s for prompt in prompts),
        iterations=sum(prompt.iterations for prompt in prompts),
    )


MAX_ANSWER_ROWS, MAX_TEXT_ROWS = 8, 6
COLUMNS = Column("turns", 6, 66), Column("cost", 9, 44), Column("age", 8)
CONTINUED = "continued without a message"


def node_row(node: Node, width: int, line: Pen, now: float) -> Strip:
    """Draw the row of a branch, or of a message on a branch."""
    symbols, branch, result = line.looks.symbols, node.branch, node.result
    elbow = "- " if symbols.name == "ascii" else "└ "
    indent = "  " * max(0, branch.depth - 1) + (elbow if branch.depth and not node.is_message else "")
    if node.is_message:
        indent += "  " * (2 if branch.depth else 1)
    left = [*line.first(*state_mark(result.outcome.state, symbols)), (indent, line.style("t3"))]
    turns = str(branch.turns) if not node.is_message else ""
    age = format_age(max(0.0, now - result.time)) if result.time else ""
    cost = format_cost(result.cost_usd, result.cost_precision, short=True)
    right = right_columns(COLUMNS, [turns, cost, age], width, line.style("t2"))
    room = max(4, width - cells(left) - cells(right) - 4)
    if node.is_message:
        left.append(part(fit(node.title, room, symbols.ellipsis), line.style("t1" if result.text else "t2")))
    else:
        left += _branch_parts(branch, room, line, symbols)
    return line.line(width, left, right)


def _branch_parts(branch: Branch, room: int, line: Pen, symbols: Symbols) -> list[Part]:
    """Return a branch's name, a mark for the current branch, and its changes and outcome if there is room."""
    parts: list[Part] = [(branch.name, line.style(bold=True))]
    if branch.current:
        parts.append(("  here", line.style("accent", bold=True)))
    facts: list[tuple[str, Role]] = [(", ".join(branch.changed), "t2"), (branch.outcome.label, "t3")]
    for text, role in facts:
        space = room - cells(parts) - 2
        if text and space >= min(len(text), 12):
            parts.append((f"  {fit(clean_line(text), space, symbols.ellipsis)}", line.style(role)))
    return parts


def draw_node(facts: Facts, node: Node, parent: Node | None) -> None:
    """Add the details of a row of the tree.

    `parent`: the message after which the row's branch begins.
    """
    result = node.result
    facts.gap()
    name = (result.text or node.title) if node.is_message else node.branch.name
    facts.text(name, bold=True, max_rows=MAX_TEXT_ROWS)
    symbol, role = state_mark(result.outcome.state, facts.looks.symbols)
    facts.line([(f"{symbol} ", facts.style(role)), part(result.outcome.label, facts.style(role))])
    facts.gap()
    if node.is_message:
        facts.fact("on", f"{node.branch.name}, events {result.seq} to {result.last_seq}")
    else:
        _draw_branch(facts, node.branch, parent)
    began = format_time(result.time) if result.time else ""
    facts.fact("asked" if result.text else "began", began)
    facts.fact("took", format_duration(result.duration_s) if result.duration_s else "")
    facts.fact("cost", format_cost(result.cost_usd, result.cost_precision))
    facts.fact("iterations", str(result.iterations) if result.iterations else "")
    is_failing = result.tests_failed and not result.stale_tests
    facts.fact("tests", _describe_tests(result), "error" if is_failing else "t1")
    facts.fact("tools", _describe_tools(result.tools or {}))
    if result.files:
        facts.section("Files")
        facts.line_counts(result.files)
    if result.answer.strip():
        facts.section("Answer" if node.is_message else "Last answer")
        strips = markdown_strips(result.answer.strip(), facts.looks, facts.width - 3, "s1")
        facts.add_strips(strips, max_rows=MAX_ANSWER_ROWS)


def _draw_branch(facts: Facts, branch: Branch, parent: Node | None) -> None:
    if branch.kind != "branch":
        facts.fact("session", branch.title)
        facts.fact("", branch.session)
    facts.fact("folder", branch.workspace if branch.kind == "fork" else "")
    facts.fact("different", ", ".join(branch.changed))
    after = f"event {branch.at_seq}" if branch.at_seq is not None else ""
    words = clean_line(" ".join(parent.result.text.split())[:60]) if parent is not None else ""
    facts.fact("after", f"{after}, “{words}”" if words else after)
    facts.fact("turns", str(branch.turns))


def _describe_tests(result: TurnResult) -> str:
    """Return the test counts, such as `32 passed, 2 failed, before 2 edits`."""
    if result.tests_passed is None and result.tests_failed is None:
        return ""
    failures = describe_failures(result.tests_failed or 0, result.test_errors)
    return ", ".join(filter(None, (f"{result.tests_passed or 0} passed", failures, result.stale_tests)))


def _describe_tools(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(calls).most_common())


def last_message(nodes: Sequence[Node], node: Node) -> Node | None:
    """Return the row of a message itself; for a branch, the row of its newest message. None if there is no message text."""
    if node.is_message:
        return node if node.result.text else None
    messages = [other for other in nodes if other.is_message and other.branch is node.branch]
    return next((message for message in reversed(messages) if message.result.text), None)


def parent_message(nodes: Sequence[Node], node: Node) -> Node | None:
    """For the row of a branch, return the message of the parent branch after which the branch begins; otherwise
    None.
    """
    at_seq, depth = node.branch.at_seq, node.branch.depth
    if at_seq is None or node.is_message:
        return None
    before = list(nodes[: nodes.index(node)])
    # The rows of a tree come in depth-first order, so the nearest row above with a smaller depth is the parent's.
    parents = (other.branch for other in reversed(before) if other.branch.depth < depth)
    parent = next(parents, None)
    messages = [other for other in before if other.is_message and other.branch is parent]
    return next((other for other in reversed(messages) if other.result.seq <= at_seq), None)
