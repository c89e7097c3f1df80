"""The tree of a session: its branches and the sessions around it, what was said on each, and the ways from there.

Invariant: nothing moves by looking; what goes back asks first, as `/revert` does.
"""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.fork_point import ForkPoint
from tui_agent.tui.screens.page import Facts, Page
from tui_agent.tui.screens.replay.live_log import look_on
from tui_agent.tui.screens.tree import fork as forking
from tui_agent.tui.screens.tree.rows import Node, column_names, detail, node_row, tree_rows
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.rows import part

FOLLOW_S = 1.0
NOTHING = "Nothing was said yet. Your first message begins the first branch."


class TreeScreen(Page):
    """The tree; its keys are in the registry, scope `tree`."""

    scope: ClassVar[Scope] = "tree"
    use_action = "tree_go"
    key_methods = {
        "tree_row": "move",
        "tree_go": "enter",
        "tree_fork": ("on_chosen", "_fork"),
        "tree_what_if": ("on_chosen", "_what_if"),
        "tree_compare": ("on_chosen", "_compare"),
        "tree_replay": ("on_chosen", "_replay"),
        "tree_leave": "close_detail_or_leave",
    }

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.nodes: list[Node] = []
        self._empty = "reading …"
        self._stand: object = None

    def on_mount(self) -> None:
        self.head.columns = lambda width: column_names(width, self.looks_of())
        self.show_head()
        self._follow()
        self.set_interval(FOLLOW_S, self._follow)

    def _follow(self) -> None:
        """Read again where something was said, went back or came to an end."""
        views = self.context.views
        stand = (self.context.app.session_id, views.branches.view(), self.context.running)
        if stand != self._stand:
            self._stand = stand
            self.run_worker(self._read(), name="tree", exclusive=True, group="tree", exit_on_error=False)

    async def _read(self) -> None:
        status, said = await self.context.ask("sessions", "tree", self.context.app.session_id, "--json")
        rows = tree_rows(said)
        if status and not rows:
            self._empty = clean_line(said.strip()) or NOTHING
            if self.context.views.seq < 0 or not self.context.state.root_task:
                self._empty = NOTHING
        self._take(rows)

    def _take(self, rows: list[Node]) -> None:
        held = self.chosen
        key = held.key if held is not None else None
        self.nodes = rows
        at = next((at for at, one in enumerate(rows) if one.key == key), None)
        self.listing.set_count(len(rows), self._here() if at is None else at)
        self.show_head()
        self.show_detail()

    def _here(self) -> int:
        """The row on which the open session stands: its newest message, else the branch."""
        on = [at for at, one in enumerate(self.nodes) if one.current]
        return on[-1] if on else 0

    @property
    def chosen(self) -> Node | None:
        """The row under the cursor."""
        return self.nodes[self.listing.at] if self.listing.at < len(self.nodes) else None

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        self.head.title = [("Tree", self.style(bold=True))]
        heads = [one for one in self.nodes if not one.message]
        forks = sum(one.kind == "fork" for one in heads)
        said = format_count(len(heads) - forks, "branch", "branches")
        said += f", {format_count(forks, 'fork')}" if forks else ""
        self.head.right = [part(said if heads else "", self.style("t2"))]
        self.head.show()

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        return node_row(self.nodes[at], width, self.looks_of(), self.context.app.clock(), chosen=chosen)

    def detail_rows(self, width: int) -> list[Strip]:
        node = self.chosen
        if node is None:
            facts = Facts(self.looks_of(), width)
            facts.gap()
            facts.text(self._empty, "t3")
            return facts.rows
        return detail(node, self._said_before(node), self.looks_of(), width)

    def _said_before(self, node: Node) -> Node | None:
        """The message that stands before the event at which a branch leaves."""
        if node.at_seq is None or node.message:
            return None
        at_seq, before = node.at_seq, self.nodes[: self.nodes.index(node)]
        above = next((one for one in reversed(before) if not one.message and one.depth < node.depth), None)
        said = [one for one in before if one.message and above is not None and one.key[0] == above.session]
        return (
            next((one for one in reversed(said) if one.name == above.name and one.seq <= at_seq), None)
            if above
            else None
        )

    # -- ways from there -------------------------------------------------------------------------------------------

    def use(self) -> None:
        node = self.chosen
        if node is None:
            return
        if self.context.running:
            self.say(
                "A turn is running. Going elsewhere has to wait for its end; /tree stays as it is.", "warning"
            )
        elif node.session != self.context.app.session_id:
            self.dismiss(None)
            self.context.act("open_session", node.session)
        elif node.current and node.last_seq >= self._end(node):
            self.say("The session stands here already.")
        else:
            where = f"after “{clean_line(node.text)[:40]}”" if node.message else f"the end of {node.name}"
            self.context.rewind.go(node.last_seq, f"Go to {where}", then=self.leave)

    def _end(self, node: Node) -> int:
        """The last event of the branch that this row is on."""
        same = [one for one in self.nodes if not one.message and one.session == node.session]
        return max((one.last_seq for one in same if one.name == node.name), default=node.last_seq)

    def on_chosen(self, method: str) -> bool:
        """Do something to the row under the cursor; False where there is none."""
        if self.chosen is not None:
            getattr(self, method)(self.chosen)
        return self.chosen is not None

    def _fork(self, node: Node) -> None:
        forking.fork(self.context, self._spot(node), self.say)

    def _compare(self, node: Node) -> None:
        if node.current:
            self.say(
                f"This is the present branch. {self.key_map.key_of('tree_compare')} on a row of another one compares the two."
            )
        else:
            self.context.act("compare", f"{node.session}@{node.last_seq}")

    def _spot(self, node: Node) -> ForkPoint:
        """The end of this row."""
        settings = self.context.state.settings
        message = self._message(node)
        return ForkPoint(
            session=node.session,
            at_seq=node.last_seq,
            workspace=node.workspace or self.context.state.workspace,
            entry_text=f"“{clean_line(' '.join(message.text.split()))}”" if message is not None else "",
            message_seq=message.seq if message is not None else None,
            message=message.text if message is not None else "",
            model=settings.model.profile or settings.model.model if settings is not None else "",
            effort=(settings.model.effort or "") if settings is not None else "",
            context=settings.context_mode if settings is not None else "",
        )

    def _message(self, node: Node) -> Node | None:
        """The message of this row, or the newest one on the branch."""
        if node.message:
            return node if node.text else None
        place = self.nodes.index(node)
        own = [one for one in self.nodes[place + 1 :] if one.message and one.name == node.name]
        return next((one for one in reversed(own) if one.session == node.session and one.text), None)

    def _what_if(self, node: Node) -> None:
        """The newest message there is answered again."""
        spot, message = self._spot(node), self._message(node)
        if message is None:
            self.say("Nothing was said there that could be answered in another way.", "warning")
        elif self.context.running:
            self.say(
                f"A turn is running. {self.key_map.key_of('tree_what_if')} can be used after it.", "warning"
            )
        else:
            forking.what_if(self.context, replace(spot, at_seq=message.seq), self.say)

    def _replay(self, node: Node) -> None:
        seq = node.seq if node.message else node.last_seq
        if node.session == self.context.app.session_id:
            self.context.act("replay", str(seq))
        else:
            look_on(self.context, Path(node.path), seq)
