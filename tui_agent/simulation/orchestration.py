"""Orchestrators, which decide what the simulated user knows about the task and reads on the screen."""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tui_agent.errors import ConfigError, ModelError
from tui_agent.folds.simulation_fold import SimulationHistory
from tui_agent.protocol.messages import Message
from tui_agent.simulation.mode_settings import OrchestratorSettings, render
from tui_agent.simulation.model_caller import ModelCaller, assistant_text, user_text
from tui_agent.simulation.task_tree import TaskNode, parse_task_tree, walk_order

FENCE = "```"
CUT = " …"
ON_SCREEN = "Code to copy or run:"
MAX_TREE_ATTEMPTS = 3
TREE_CONVERSATION = "tree"
TREE_SOURCE = "the model's tree"


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

    def conversation(self, history: SimulationHistory, opening: str) -> tuple[Message, ...]:
        """Return the messages for the simulated user's model: `opening`, then the history that the user has seen."""
        return build_messages(opening, history)


def build_messages(opening: str, history: SimulationHistory) -> tuple[Message, ...]:
    """Return the history as messages for the simulated user's model, beginning with `opening`.

    Consecutive messages that the simulated user did not write become one message.
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
        # The user knows the first node, the root, from the start.
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


def split_code(text: str) -> tuple[str, list[str]]:
    """Return the text with a mark in place of each code block, and the list of these code blocks."""
    prose: list[str] = []
    blocks: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines():
        is_fence = line.lstrip().startswith(FENCE)
        if block is None and not is_fence:
            prose.append(line)
            continue
        if block is None:
            block = [line]
            prose.append(f"[CODE BLOCK {len(blocks)}]")
            blocks.append("")
        else:
            block.append(line)
            if is_fence:
                blocks[-1], block = "\n".join(block), None
    if block is not None:
        blocks[-1] = "\n".join(block)
    return "\n".join(prose).strip(), blocks


def shorten_prose(prose: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """Return the first words within `max_tokens` (at least one), with `…` if words are missing."""
    words = prose.split(" ")
    fitting = bisect_right(
        range(1, len(words) + 1), max_tokens, key=lambda number: count_tokens(" ".join(words[:number]))
    )
    return prose if fitting == len(words) else " ".join(words[: max(1, fitting)]) + CUT


def join_code(prose: str, blocks: list[str]) -> str:
    """Append the code blocks to the prose. Each block gets a heading such as `[CODE BLOCK 0]:`.

    `prose`: contains `[CODE BLOCK 0]` where the first block was, and so on.
    """
    marked = [f"[CODE BLOCK {index}]:\n{block}" for index, block in enumerate(blocks)]
    return "\n\n".join([prose, ON_SCREEN, *marked]) if blocks else prose


async def ask_for_tree(caller: ModelCaller, task: str, template: str) -> TaskNode:
    """Let a model turn the task into a tree. Raise `ModelError` after three invalid answers."""
    error = ""
    for _ in range(MAX_TREE_ATTEMPTS):
        prompt = render(template, "tree_template", task=task, error=error)
        try:
            return parse_tree_answer(await caller.ask("", (user_text(prompt),), TREE_CONVERSATION))
        except ConfigError as raised:
            error = raised.message
    raise ModelError(
        f"The model gave no valid task tree in {MAX_TREE_ATTEMPTS} answers: {error}",
        hint="Try another model, or write the tree yourself (--tree FILE).",
    )


def parse_tree_answer(text: str) -> TaskNode:
    """Parse the task tree from the first JSON object or list in the text.

    Raise `ConfigError` if the text has no JSON, or if the tree is not valid.
    """
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if start < 0:
        raise ConfigError("the answer has no JSON object.")
    try:
        tree: Any = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the answer is not valid JSON: {error}.") from error
    return parse_task_tree(tree, TREE_SOURCE)
