"""The tree of a trace's spans.

Invariant: a node comes after its parent, and its totals include the totals of its descendants.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import Any

from pydantic import TypeAdapter

from tui_agent.folds.trace.spans import Span, SpanKind, SpanState, TraceView
from tui_agent.folds.transcript.packed_list import UNPACKED_ITEMS, PackedList
from tui_agent.folds.usage_totals import NO_USAGE, UsageTotals
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.model import ModelFailed, ModelResponded
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.parts import Usage

GROUPS: frozenset[SpanKind] = frozenset(("turn", "iteration"))
_USAGE_FIELDS = {
    "billed_in": "usage.input_tokens",
    "billed_out": "usage.output_tokens",
    "cost_usd": "usage.cost_usd",
    "cost_precision": "usage.cost_precision",
}
"""Maps the fields of `Span` that a node computes from its model calls to attributes of `Node`."""
_shared_fields = attrgetter(
    *(
        _USAGE_FIELDS.get(field.name, field.name)
        for field in fields(Span)
        if field.name not in ("parent", "children")
    )
)
"""Function that returns the values of a node for all fields of a span except `parent` and `children`."""


@dataclass(slots=True, eq=False)
class Node:
    """A span of the trace that can still change."""

    index: int
    kind: SpanKind
    name: str
    state: SpanState
    agent: AgentId
    start: float
    first_seq: int
    last_seq: int
    parent: "Node | None"
    depth: int
    end: float | None = None
    duration_ms: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    usage: UsageTotals = NO_USAGE
    """The model calls of this span and of all spans below it, also those of delegates."""
    children: "list[Node] | tuple[()]" = ()
    """The child spans, without the compressed ones."""
    # Most spans have no children. An empty list for each of them would take a megabyte in a long session.
    packed_children: tuple[int, ...] = ()
    """Indices of the child spans that are packed (stored in compressed form)."""
    outcome: str = ""
    detail: str = ""
    part: int | None = None
    verb: str = ""
    ran: bool = False
    """True if the span's tool call was started."""
    failed: int = 0
    denied: int = 0
    estimated: bool = False


@cache
def _span_adapter() -> TypeAdapter[list[Span]]:
    return TypeAdapter(list[Span])


class PackedSpans(PackedList[Span]):
    """A packed list of trace spans."""

    @staticmethod
    def dump(items: Sequence[Span]) -> bytes:
        return _span_adapter().dump_json(list(items))

    @staticmethod
    def load(data: bytes) -> Sequence[Span]:
        return _span_adapter().validate_json(data)


class SpanTree:
    """All spans of a trace, in the order of their start."""

    def __init__(self, keep: int = UNPACKED_ITEMS) -> None:
        self._nodes: dict[int, Node] = {}
        """Maps an index to its node, for open spans and for the newest finished spans."""
        self._spans = PackedSpans(keep)
        self._count_all = 0
        self._dirty: dict[int, Node] = {}
        self._roots: list[int] = []
        self.revision = 0
        self._view: TraceView | None = None
        self._failed = 0
        self._denied = 0
        self._turns = 0
        self._longest = 0.0
        self._has_costs = False
        self.crash_time: float | None = None
        """Time of a crash. Open spans end no later than this."""

    def open(self, kind: SpanKind, name: str, ev: Envelope, parent: Node | None) -> Node:
        """Add a running span and return its node."""
        depth = 0 if parent is None else parent.depth + 1
        index = self._count_all
        node = Node(index, kind, name, "running", ev.agent, ev.time, ev.seq, ev.seq, parent, depth)
        self._count_all += 1
        self._nodes[index] = node
        self._turns += kind == "turn"
        if parent is None:
            self._roots.append(index)
            # Only here, between turns: the spans of a running turn can still change.
            if index - self._spans.packed_count >= self._spans.pack_threshold:
                self._pack()
        else:
            if isinstance(parent.children, tuple):
                parent.children = [node]
            else:
                parent.children.append(node)
            self.touch(parent)
        self.touch(node)
        return node

    def touch(self, node: Node) -> None:
        self._dirty[node.index] = node
        self._view = None
        self.revision += 1

    def set_state(self, node: Node, state: SpanState) -> None:
        self._count(node, state)
        self.touch(node)

    def _count(self, node: Node, state: SpanState) -> None:
        """Set a span's state, and update the counts of failed and denied spans in all ancestors."""
        previous, node.state = node.state, state
        if previous == state or node.kind in GROUPS:
            return
        failed = (state == "failed") - (previous == "failed")
        denied = (state == "denied") - (previous == "denied")
        if not failed and not denied:
            return
        self._failed, self._denied = self._failed + failed, self._denied + denied
        above = node.parent
        while above is not None:
            above.failed, above.denied = above.failed + failed, above.denied + denied
            self.touch(above)
            above = above.parent

    def end(self, node: Node, ev: Envelope, state: SpanState, duration_ms: float = 0.0) -> None:
        """Close a span. If `duration_ms` is 0, compute the duration from the times of the span's events."""
        end = ev.time if self.crash_time is None else max(node.start, min(ev.time, self.crash_time))
        if node.kind == "tool" and not node.ran:
            node.start = end  # a call that never ran has no duration, however long it waited
        self._count(node, state)
        node.last_seq, node.end = ev.seq, end
        node.duration_ms = duration_ms or max(0.0, (end - node.start) * 1_000)
        if node.parent is None:
            self._longest = max(self._longest, node.duration_ms)
        self.touch(node)

    def end_below(self, node: Node, ev: Envelope) -> None:
        """Close all open spans below the span `node`."""
        for child in node.children:
            if child.end is None:
                self.end_below(child, ev)
                self.end(child, ev, child.state if child.state == "denied" else "interrupted")

    def add_usage(self, node: Node, end: ModelResponded | ModelFailed) -> None:
        """Set the tokens and cost of a model span, and update the sums of its ancestors."""
        agent, above, usage = node.agent, node, end.usage
        node.estimated = usage.estimated
        self._has_costs = self._has_costs or end.cost_usd is not None
        call = NO_USAGE.with_call(end)
        own = True
        while True:
            own = own and (above.agent == agent or above is node)
            if own and usage != Usage():
                above.tokens_in = max(above.tokens_in or 0, usage.input_tokens)
                above.tokens_out = (above.tokens_out or 0) + usage.output_tokens
            # Delegates and calls without known tokens count here, but not in the sizes above.
            above.usage = call if above is node else above.usage.with_totals(call)
            self.touch(above)
            if above.parent is None:
                return
            above = above.parent

    def copy(self, referenced: Iterable[Node]) -> "tuple[SpanTree, dict[int, Node]]":
        """Return a copy of the tree, and a `dict` that maps an index to the copied node.

        Open nodes, the nodes in `referenced` and all their ancestors are copied. The other nodes are shared.
        """
        self.view()
        copied: dict[int, Node] = {}
        for node in (*referenced, *[node for node in self._nodes.values() if node.end is None]):
            above: Node | None = node
            while above is not None and above.index not in copied:
                copied[above.index] = copy.copy(above)
                above = above.parent
        for node in copied.values():
            if node.parent is not None:
                node.parent = copied[node.parent.index]
            if node.children:
                node.children = [copied.get(child.index, child) for child in node.children]
        tree = SpanTree()
        tree._nodes = {**self._nodes, **copied}
        tree._spans, tree._count_all, tree._roots = self._spans.copy(), self._count_all, self._roots.copy()
        tree.revision, tree._view = self.revision, self._view
        tree._failed, tree._denied, tree.crash_time = self._failed, self._denied, self.crash_time
        tree._turns, tree._longest, tree._has_costs = self._turns, self._longest, self._has_costs
        return tree, copied

    def _freeze(self) -> None:
        for index in sorted(self._dirty):
            span = _freeze_node(self._dirty[index])
            if index < len(self._spans):
                self._spans.replace(index, span)
            else:  # New nodes are created in order and marked as changed, so none is skipped.
                self._spans.append(span)
        self._dirty.clear()

    def _pack(self) -> None:
        """Pack (compress) the spans of finished turns, and remove the nodes of these spans."""
        self._freeze()
        while self._spans.needs_packing and all(span.end is not None for span in self._spans.oldest_chunk):
            first = self._spans.packed_count
            self._spans.pack()
            for index in range(first, self._spans.packed_count):
                node = self._nodes.pop(index)
                # Without references to its children, the node is freed at once.
                if all(child.end is not None for child in node.children):
                    node.packed_children += tuple(child.index for child in node.children)
                    node.children = ()

    def view(self) -> TraceView:
        """Return the spans as plain data."""
        if self._view is None:
            self._freeze()
            self._view = TraceView(
                self._spans.view(),
                tuple(self._roots),
                self.revision,
                self._failed,
                self._denied,
                self._turns,
                self._longest,
                self._has_costs,
            )
        return self._view


def _freeze_node(node: Node) -> Span:
    parent = None if node.parent is None else node.parent.index
    children = (*node.packed_children, *(child.index for child in node.children))
    values: tuple[Any, ...] = (*_shared_fields(node), parent, children)
    return Span(*values)
