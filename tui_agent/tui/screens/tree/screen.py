"""The screen with a session's branches, forks and messages as a tree. The user can open each of them.

Invariant: moving through the tree changes nothing.
"""

from dataclasses import replace
from pathlib import Path

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.fork_request import ForkPoint
from tui_agent.tui.screens.list_page import Page
from tui_agent.tui.screens.replay.live_log import open_live_replay
from tui_agent.tui.screens.tree.fork import fork_end, read_message, what_if
from tui_agent.tui.screens.tree.tree_rows import (
    COLUMNS,
    Node,
    draw_node,
    last_message,
    node_row,
    parent_message,
    read_tree,
)
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Pen

EMPTY = "No messages yet. Your first message starts the first branch."


class TreeScreen(Page[Node]):
    """The screen with the tree of a session."""

    scope = "tree"
    use_action = "tree_go"
    follow_s = 1.0
    first_column, columns = "branches and messages", COLUMNS

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.listing.empty_text = "loading …"
        self.listing.key = lambda node: node.key

    def on_mount(self) -> None:
        self.show_head()

    def follow(self) -> None:
        """Load the tree again after a message, an undo or the end of a turn."""
        branches = self.context.views.branches.view()
        if self.is_changed(self.context.app.session_id, branches, self.context.is_running):
            self.start_worker(self._read(), "tree")

    async def _read(self) -> None:
        status, output = await self.context.ask("sessions", "tree", self.context.app.session_id, "--json")
        nodes = read_tree(output)
        # Before the first message, there is no log, and the command fails.
        has_messages = self.context.views.seq >= 0 and self.context.state.root_task
        fault = clean_line(output.strip()) if status and has_messages else ""
        self.listing.empty_text = fault or EMPTY
        current = [number for number, node in enumerate(nodes) if node.branch.current]
        self.listing.set_items(nodes, otherwise=current[-1] if current else 0)
        self.show_head()
        self.show_detail()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        kinds = [node.branch.kind for node in self.listing.items if not node.is_message]
        forks = kinds.count("fork")
        counts = format_count(len(kinds) - forks, "branch", "branches")
        counts += f", {format_count(forks, 'fork')}" if forks else ""
        self.head.show_title("Tree", counts if kinds else "")

    def draw_row(self, item: Node, width: int, line: Pen) -> Strip:
        return node_row(item, width, line, self.context.app.clock())

    def draw_detail(self, facts: Facts, node: Node) -> None:
        draw_node(facts, node, parent_message(self.listing.items, node))

    # -- actions ---------------------------------------------------------------------------------------------------

    def use(self, node: Node) -> None:
        branch = node.branch
        if self.context.is_running:
            self.say("A turn is running. You can switch branches when it has ended.", "warning")
        elif branch.session != self.context.app.session_id:
            self.leave()
            self.context.act("open_session", branch.session)
        elif branch.current and node.result.last_seq >= branch.last_seq:
            self.say("The session is already at this point.")
        else:
            message = f"after “{clean_line(node.result.text)[:40]}”"
            target = message if node.is_message else f"the end of {branch.name}"
            self.context.rewind.confirm_revert(node.result.last_seq, f"Revert to {target}", then=self.leave)

    def fork(self, node: Node) -> None:
        fork_end(self.context, self._fork_point(node), Path(node.branch.path), self.say)

    def compare(self, node: Node) -> None:
        if node.branch.current:
            key = self.key_map.key_of("tree_compare")
            self.say(f"This is the current branch. Choose a row of another branch, then press {key}.")
        else:
            self.context.act("tree", f"compare {node.branch.session}@{node.result.last_seq}")

    def _fork_point(self, node: Node) -> ForkPoint:
        """Return the fork point at the last event of a row of the tree."""
        settings = self.context.state.settings
        message = last_message(self.listing.items, node)
        point = ForkPoint(
            session=node.branch.session,
            at_seq=node.result.last_seq,
            workspace=node.branch.workspace or self.context.state.workspace,
        )
        if message is not None:
            text = message.result.text
            after = f"“{clean_line(' '.join(text.split()))}”"
            point = replace(point, entry_text=after, message_seq=message.result.seq, message=text)
        if settings is not None:
            model = settings.model
            point = replace(
                point,
                model=model.profile or model.model,
                effort=model.effort or "",
                efforts=model.efforts,
                context=settings.context_mode,
            )
        return point

    def what_if(self, node: Node) -> None:
        """Create a fork with one change. In the fork, the agent answers the row's newest message again."""
        message = last_message(self.listing.items, node)
        key = self.key_map.key_of("tree_what_if")
        if message is None:
            self.say("There is no message here to repeat.", "warning")
        elif self.context.is_running:
            self.say(f"A turn is running. You can use {key} when it has ended.", "warning")
        else:
            point = replace(self._fork_point(node), at_seq=message.result.seq)
            self.start_worker(self._what_if_at(point, Path(message.branch.path)), "message")

    async def _what_if_at(self, point: ForkPoint, folder: Path) -> None:
        """Ask the user how to change the message at the fork point.

        The message is read again, because the tree has only part of it.
        """
        point = replace(point, message=await read_message(self.context, folder, point.at_seq))
        what_if(self.context, point, self.say)

    def replay(self, node: Node) -> None:
        seq = node.result.seq if node.is_message else node.result.last_seq
        if node.branch.session == self.context.app.session_id:
            self.context.act("replay", str(seq))
        else:
            open_live_replay(self.context, Path(node.branch.path), seq)
