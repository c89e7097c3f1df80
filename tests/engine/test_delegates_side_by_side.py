"""Several delegates of one answer: how many at once, what they share, and each stopped by itself."""

import json
from pathlib import Path

import anyio

from tests.engine.harness import call, say
from tests.engine.talks import Talks, results, rules, talking, told, turn, use
from tests.stubs.legal_history import check_pairs
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.folds.session.agents import AgentsTree
from tui_agent.plugin_api import BaseMiddleware
from tui_agent.ports.middleware import ToolNext
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentSpawned
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import IterationStarted
from tui_agent.protocol.parts import ToolCallPart


async def test_one_subtask_at_a_time_unless_the_settings_say_more(tmp_path: Path) -> None:
    both = call(("spawn_subtask", '{"prompt": "One: go"}'), ("spawn_subtask", '{"prompt": "Two: go"}'))
    talks = Talks(Main=[both, say("Done.")], One=[say("1")], Two=[say("2")])
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        kinds = [one.payload.kind for one in bench.events if one.payload.kind.startswith("agent.")]
        kinds = [kind for kind in kinds if kind != "agent.state_changed"]
        assert kinds == ["agent.spawned", "agent.finished"] * 2


async def test_two_subtasks_side_by_side_write_one_after_the_other(tmp_path: Path) -> None:
    both = call(("spawn_subtask", '{"prompt": "One: go"}'), ("spawn_subtask", '{"prompt": "Two: go"}'))
    meet = [anyio.Event(), anyio.Event()]

    async def first() -> None:
        meet[0].set()
        await meet[1].wait()

    async def second() -> None:
        meet[1].set()
        await meet[0].wait()

    talks = Talks(
        Main=[both, say("Done.")],
        One=[[first, *use("write_file", path="1.txt", content="1")], say("1")],
        Two=[[second, *use("write_file", path="2.txt", content="2")], say("2")],
    )
    async with talking(tmp_path, talks, rules(max_parallel=2), checkpoints=True) as bench:
        assert (await turn(bench)).reason == "finished"
        assert [told(one)["files_created"] for one in results(bench)] == [["1.txt"], ["2.txt"]]
        writes = [
            one.payload
            for one in bench.events
            if isinstance(one.payload, ToolFinished | ToolStarted)
            and (getattr(one.payload, "writes", False) or getattr(one.payload, "name", "") == "write_file")
        ]
        assert [type(one).__name__ for one in writes] == ["ToolStarted", "ToolFinished"] * 2
        parts = [one.payload.part for one in bench.events if isinstance(one.payload, ToolFinished)]
        assert len(set(parts)) == len(parts) and None not in parts
        begun: dict[str, int] = {}
        for one in bench.events:
            if isinstance(one.payload, IterationStarted):
                begun[one.agent] = one.payload.iteration
            elif isinstance(one.payload, ModelRequested | ToolCalled):
                assert one.payload.iteration == begun[one.agent], "what it does is of its own iteration"
        assert len(set(begun.values())) == 3
        check_pairs(bench.recorder.messages())


class LateSecond(BaseMiddleware):
    """The second of two calls is handed on only when the first one's delegate works."""

    name = "late-second"

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        if "Two" in str(call.arguments):
            await self.begun.wait()
        return await call_next(call)


async def test_a_subtask_begun_while_another_works_is_the_main_agents_too(tmp_path: Path) -> None:
    both = call(("spawn_subtask", '{"prompt": "One: go"}'), ("spawn_subtask", '{"prompt": "Two: go"}'))
    late, second = LateSecond(), anyio.Event()

    async def first() -> None:
        late.begun.set()
        await second.wait()

    async def there() -> None:
        second.set()

    talks = Talks(Main=[both, say("Done.")], One=[[first, *say("1")]], Two=[[there, *say("2")]])
    async with talking(tmp_path, talks, rules(max_parallel=2), middlewares=[late]) as bench:
        await turn(bench)
        assert [told(one)["success"] for one in results(bench)] == [True, True]
        assert [
            (one.agent, one.payload.delegate_level)
            for one in bench.events
            if isinstance(one.payload, AgentSpawned)
        ] == [
            ("subtask-1", 1),
            ("subtask-2", 1),
        ]


def _task(event: Envelope) -> str:
    assert isinstance(event.payload, AgentSpawned)
    return str(event.payload.task)


async def test_one_of_two_is_stopped_and_the_other_goes_on(tmp_path: Path) -> None:
    both = call(("spawn_subtask", '{"prompt": "One: go"}'), ("spawn_subtask", '{"prompt": "Two: go"}'))
    stopped = anyio.Event()
    talks = Talks(
        Main=[both, say("Done.")],
        One=[[anyio.sleep_forever]],
        Two=[[stopped.wait, *say("2")]],
    )
    async with talking(tmp_path, talks, rules(max_parallel=2)) as bench:
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("model.requested", 3)
        spawned = [one for one in bench.events if isinstance(one.payload, AgentSpawned)]
        first, second = (one.agent for one in sorted(spawned, key=_task))
        bench.submit(Interrupt(scope="agent", agent=first))
        await bench.until("agent.finished")
        stopped.set()
        assert (await bench.until("turn.finished")).payload.reason == "finished"  # type: ignore[union-attr]
        assert [(told(one)["success"], told(one).get("reason")) for one in results(bench)] == [
            (False, "interrupted"),
            (True, None),
        ]
        assert [one.status for one in results(bench)] == ["interrupted", "ok"], "stopped is not failed"
        tree = AgentsTree()
        for event in bench.events:
            tree.apply(event)
        states = {node.id: node.state for node in tree.view().agents}
        assert (states[first], states[second]) == ("stopped", "finished")
        bench.submit(Interrupt(scope="agent", agent=first))
        await bench.until("command.rejected")


async def test_what_two_investigators_at_once_leave_open_is_in_the_memory_above_them(tmp_path: Path) -> None:
    asked = {"first": "Who calls it?", "second": "Is it shared?"}
    finds = {key: json.dumps({"summary": "Yes.", "open_questions": [words]}) for key, words in asked.items()}
    talks = Talks(
        Main=[
            call(*(("delegate_readonly", json.dumps({"task": f"{key} look"})) for key in asked)),
            say("Done."),
        ],
        first=[use("read_file", path="below.py"), say(finds["first"])],
        second=[use("read_file", path="below.py"), say(finds["second"])],
    )
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "below.py").write_text("a = 1\n")
    memory = lambda recorder: WorkingMemory(lambda: recorder.state)  # noqa: E731 - made once there is a recorder
    async with talking(tmp_path, talks, rules(max_parallel=2), middlewares=[memory]) as bench:
        assert (await turn(bench)).reason == "finished"
        held = bench.recorder.state.memory
        assert sorted(map(str, held["open_questions"])) == sorted(asked.values())  # type: ignore[arg-type]
        assert "below.py" not in str(held)
