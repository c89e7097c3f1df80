"""Orchestrators, which decide what the simulated user knows about the task."""

from collections.abc import Callable, Sequence
from typing import Literal

from tui_agent.folds.session_history import SessionHistory
from tui_agent.protocol.messages import Message
from tui_agent.simulation.mode_settings import OrchestratorSettings
from tui_agent.simulation.model_caller import assistant_text, user_text
from tui_agent.simulation.perception import join_code, shorten_prose, split_code
from tui_agent.simulation.task_tree import TaskNode, walk_order
from tui_agent.simulation.templates import render


class Orchestrator:
    """An orchestrator that hides nothing (mode user-agent): the simulated user knows the whole task and reads
    everything."""

    def __init__(self, task: str) -> None:
        self._task = task

    @property
    def tree(self) -> TaskNode | None:
        """The task tree with the status of each node; None without a tree."""
        return None

    @property
    def aim(self) -> str:
        """The part of the task that the simulated user knows at the start."""
        return self._task

    @property
    def is_traversed(self) -> bool:
        """True if the simulated user has thought of every part of the task."""
        return True

    async def next_thoughts(self, turn: int) -> str:
        """Return new thoughts of the simulated user before its action number `turn`; empty if there are none."""
        return ""

    async def perceive(self, source: Literal["agent", "terminal"], text: str) -> str:
        """Return the part of a text on the screen that the simulated user notices."""
        return text

    @property
    def early_exit_note(self) -> str:
        """The message to the simulated user's model after an attempt to end the run too early."""
        return ""

    async def end_turn(self, event: str) -> None:
        """Update the orchestrator after an action of the simulated user; `event` describes the action and its result."""

    def conversation(self, history: SessionHistory, opening: str) -> tuple[Message, ...]:
        """Return the messages for the simulated user's model: `opening`, then the history that the user has seen."""
        return build_messages(opening, history)


def build_messages(opening: str, history: SessionHistory) -> tuple[Message, ...]:
    """Return the history as messages for the simulated user's model, beginning with `opening`.

    Consecutive messages of others become one message.
    """
    pending, messages = [opening], list[Message]()
    for seen in history.get("user"):
        if seen.role == "user":
            pending.append(seen.text)
            continue
        if pending:
            messages.append(user_text("\n\n".join(pending)))
        messages.append(assistant_text(seen.text))
        pending = []
    if pending:
        messages.append(user_text("\n\n".join(pending)))
    return tuple(messages)


class TreeOrchestrator(Orchestrator):
    """An orchestrator that reveals the leaves of a task tree one by one.

    At first, the simulated user knows only the root. The user can end the run only after learning of every leaf.
    """

    def __init__(self, task: str, tree: TaskNode, settings: OrchestratorSettings) -> None:
        super().__init__(task)
        self._tree = tree
        self._settings = settings
        self._nodes = walk_order(tree)

    @property
    def tree(self) -> TaskNode:
        return self._tree

    @property
    def aim(self) -> str:
        return self._tree.description

    @property
    def is_traversed(self) -> bool:
        return all(node.status == "completed" for node in self._nodes)

    @property
    def early_exit_note(self) -> str:
        return render(self._settings.early_exit_template, "early_exit_template")

    def complete(self, nodes: Sequence[TaskNode]) -> None:
        """Mark nodes as completed. If all children of a parent are completed, mark the parent too."""
        for node in nodes:
            node.status = "completed"
        self._tree.complete_parents()

    def describe_thoughts(self, nodes: Sequence[TaskNode]) -> str:
        """Describe these parts of the task as thoughts of the simulated user. Return an empty string if `nodes` is
        empty."""
        return render(self._settings.mind_template, "mind_template", nodes=nodes) if nodes else ""


class SimpleOrchestrator(TreeOrchestrator):
    """Reveals the task tree depth first, without a model. The next node follows after every `pace` actions of the user."""

    def __init__(
        self, task: str, tree: TaskNode, settings: OrchestratorSettings, count_tokens: Callable[[str], int]
    ) -> None:
        super().__init__(task, tree, settings)
        self._count_tokens = count_tokens
        self._actions = 0
        self._seen = 1

    async def next_thoughts(self, turn: int) -> str:
        nodes = self._nodes[self._seen : self._current_index + 1]
        self._seen += len(nodes)
        return self.describe_thoughts(nodes)

    async def perceive(self, source: Literal["agent", "terminal"], text: str) -> str:
        if source == "terminal":
            return text
        prose, blocks = split_code(text)
        return join_code(shorten_prose(prose, self._settings.perception_tokens, self._count_tokens), blocks)

    async def end_turn(self, event: str) -> None:
        self.complete([self._nodes[self._current_index]])
        self._actions += 1

    @property
    def _current_index(self) -> int:
        return min(self._actions // self._settings.pace, len(self._nodes) - 1)
