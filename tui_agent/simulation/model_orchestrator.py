"""An orchestrator that asks a model what the simulated user notices, remembers and thinks of next.

Invariant: the simulated user's thoughts come only from the task tree, and code on the screen reaches the user unchanged.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

from tui_agent.errors import ConfigError, ModelError
from tui_agent.folds.simulation_fold import SimulationHistory
from tui_agent.json_text import parse_json
from tui_agent.protocol.messages import Message
from tui_agent.simulation.mode_settings import OrchestratorSettings, render
from tui_agent.simulation.model_caller import ModelCaller, user_text
from tui_agent.simulation.orchestration import TreeOrchestrator, join_code, split_code
from tui_agent.simulation.task_tree import TaskNode
from tui_agent.simulation.user import FormatError, parse_tagged

MAX_ATTEMPTS = 3
TEMPLATES = ("perceive_template", "memory_template", "progress_template")
Value = TypeVar("Value")


class ModelOrchestrator(TreeOrchestrator):
    """Lets a model decide what the simulated user perceives and remembers, and when the user learns the next part of
    the task tree.
    """

    def __init__(
        self,
        task: str,
        tree: TaskNode,
        settings: OrchestratorSettings,
        caller: ModelCaller,
        profile: str,
        max_turns: int,
    ) -> None:
        super().__init__(task, tree, settings)
        missing = next((name for name in TEMPLATES if not getattr(settings, name).strip()), None)
        if missing is not None:
            raise ConfigError(f"The orchestrator `default` needs the setting `orchestrator.{missing}`.")
        self._caller = caller
        self._profile = profile
        self._max_turns = max_turns
        self._by_id = {node.id: node for node in tree.nodes()}
        self._current = [tree]
        self._surfaced = {tree.id}
        self._memory = ""

    async def next_thoughts(self, turn: int) -> str:
        if turn == 1:
            return ""
        chosen = await self._ask(
            "progress_template",
            "nodes",
            self._parse_nodes,
            tree=self._tree.model_dump_json(),
            current=", ".join(node.id for node in self._current),
            memory=self._memory,
            turn=turn,
            max_turns=self._max_turns,
        )
        self._current = chosen
        new = [node for node in chosen if node.id not in self._surfaced]
        self._surfaced |= {node.id for node in new}
        return self.describe_thoughts(new)

    def _parse_nodes(self, text: str) -> list[TaskNode]:
        try:
            ids = parse_json(text)
        except ValueError as error:
            raise FormatError(f"The <nodes> are not valid JSON: {error}.") from error
        if not isinstance(ids, list) or not ids or not all(isinstance(name, str) for name in ids):
            raise FormatError("The <nodes> are not a list of ids.")
        unknown = next((name for name in ids if name not in self._by_id), None)
        if unknown is not None:
            raise FormatError(f"The tree has no node {unknown!r}.")
        return [self._by_id[name] for name in ids]

    async def perceive(self, source: Literal["agent", "terminal"], text: str) -> str:
        prose, blocks = split_code(text)
        perceived = await self._ask(
            "perceive_template",
            "perception",
            str,
            profile=self._profile,
            nodes=self._current,
            source=source,
            text=prose,
        )
        return join_code(perceived, blocks)

    async def end_turn(self, event: str) -> None:
        self.complete(self._current)
        self._memory = await self._ask(
            "memory_template", "memory", str, profile=self._profile, memory=self._memory, event=event
        )

    def conversation(self, history: SimulationHistory, opening: str) -> tuple[Message, ...]:
        """Return one message with `opening`, the memory, and everything since the simulated user's last answer."""
        seen = history.get("user")
        last = max((index for index, message in enumerate(seen) if message.role == "assistant"), default=-1)
        memory = [f"What you remember:\n{self._memory}"] if self._memory else []
        latest = [message.text for message in seen[max(last, 0) :]]
        return (user_text("\n\n".join([opening, *memory, *latest])),)

    async def _ask(self, field: str, tag: str, parse: Callable[[str], Value], **values: object) -> Value:
        """Ask the model with the template `field` until its answer has the required form; return the content of
        `<tag>`."""
        error = ""
        for _ in range(MAX_ATTEMPTS):
            prompt = render(getattr(self._settings, field), field, error=error, **values)
            answer = await self._caller.ask("", (user_text(prompt),), field)
            try:
                return parse(parse_tagged(answer, tag))
            except FormatError as raised:
                error = str(raised)
        raise ModelError(
            f"The orchestrator's model gave no usable <{tag}> in {MAX_ATTEMPTS} answers: {error}"
        )
