"""The session's state: what it carries, and that it can be saved, loaded and queried."""

import pickle
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.engine.talks import Talks, spawn, talking, turn, use
from tests.stubs.golden import golden
from tests.stubs.state_json import state_from_json
from tests.stubs.story import Story
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.folds.projection import fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import state_to_json
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.plugin_api import BaseMiddleware, PluginEvent, TurnContext
from tui_agent.ports.policy import Decision
from tui_agent.protocol.commands import SetPolicy, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.session import SessionContextLoaded, SettingsChanged
from tui_agent.protocol.events.turn import IterationStarted, TurnFinished
from tui_agent.protocol.ids import SessionId

LOGS = ("night_shift", "every_kind", "approval", "streaming")


@pytest.mark.parametrize("name", LOGS)
def test_a_state_comes_back_from_json_and_can_be_pickled_at_every_event(name: str) -> None:
    state = SessionState()
    for record in golden(name):
        if isinstance(record, Envelope):
            state.apply(record)
            view = state.view()
            assert pickle.loads(pickle.dumps(view)) == view
    assert state_from_json(state_to_json(state.view())) == state.view()


async def test_the_state_of_a_delegating_run_has_tasks_iterations_levels_and_history_bounds(
    tmp_path: Path,
) -> None:
    """As folded when an iteration begins, and when the delegate and the turn end."""
    talks = Talks(
        Main=[spawn("Child: read the tests"), say("Done.")],
        Child=[*[use("glob", pattern="*.py")] * 3, say("There are none.")],
    )
    async with talking(tmp_path, talks) as bench:
        await turn(bench, "Main: fix the report")
        log = list(bench.events)
    state, views = SessionState(), []
    for event in log:
        state.apply(event)
        if isinstance(event.payload, IterationStarted | AgentFinished | TurnFinished):
            views.append(state.view())
    assert {view.root_task for view in views} == {"Main: fix the report"}
    [begun] = [event.seq for event in log if isinstance(event.payload, AgentSpawned)]
    task = "Child: read the tests"
    assert [
        (
            view.subtask_id,
            view.subtask,
            view.iteration,
            view.local_iteration,
            view.delegate_level,
            view.almost_stuck,
            view.start_seq,
        )
        for view in views
    ] == [
        (0, "Main: fix the report", 1, 1, 0, False, 0),
        (1, task, 2, 1, 1, False, begun),
        (1, task, 3, 2, 1, False, begun),
        (1, task, 4, 3, 1, False, begun),
        (1, task, 5, 4, 1, True, begun),
        (0, "Main: fix the report", 5, 1, 0, True, 0),
        (0, "Main: fix the report", 6, 2, 0, False, 0),
        (0, "Main: fix the report", 6, 2, 0, False, 0),
    ]


def test_the_dump_names_everything_that_is_known_of_a_task() -> None:
    records = golden("night_shift")
    plain = state_to_json(fold(SessionState(), records))
    for name in (
        "root_task",
        "subtask",
        "subtask_id",
        "iteration",
        "local_iteration",
        "delegate_level",
        "almost_stuck",
        "agent_state",
        "phase",
        "confirmation_mode",
        "last_error",
        "start_seq",
        "seq",
        "extra",
        "file_summaries",
        "open_questions",
        "budget",
        "session_context",
    ):
        assert name in plain
    assert plain["file_summaries"] and plain["seq"] == records[-1].seq
    assert set(plain["budget"]) >= {"max_parts", "max_cost_usd", "used"}  # type: ignore[arg-type]


def test_what_an_earlier_session_left_is_part_of_the_state() -> None:
    loaded = SessionContextLoaded(from_session=SessionId("ses_1"), turns=2, summary="We chose SQLite.")
    state = SessionState()
    state.apply(Story()(loaded))
    assert state.view().session_context == "We chose SQLite."


async def test_confirmation_mode_follows_the_policy_in_state_and_log(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        assert bench.recorder.state.asks_before_acting
        bench.submit(SetPolicy(policy="accept-edits"))
        changed = await bench.until_payload(SettingsChanged)
        assert not bench.recorder.state.asks_before_acting
    assert (changed.key, changed.value) == ("policy", "accept-edits")


async def test_a_plugins_own_values_survive_the_end_of_the_program(tmp_path: Path) -> None:
    class Counting(BaseMiddleware):
        name = "counting"

        async def on_turn_end(self, turn: TurnContext) -> None:
            count = turn.state.extra.get("counting", {"turns": 0})
            assert isinstance(count, dict)
            turn.emit(
                PluginEvent(
                    plugin="counting", name="state", version=1, data={"turns": int(count["turns"]) + 1}
                )  # type: ignore[arg-type]
            )

    for start in (1, 2):
        async with running(tmp_path, [say("Hi.")], middlewares=[Counting()]) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            assert bench.recorder.state.extra == {"counting": {"turns": start}}


@pytest.mark.parametrize(
    ("category", "error", "answers"),
    [
        ("tool", ToolError("no"), None),
        ("environment", EnvironmentFault("The disk is full."), None),
        ("policy", None, None),
        ("model", None, []),
    ],
)
async def test_failures_of_model_policy_tool_and_environment_are_told_apart(
    tmp_path: Path, category: str, error: Exception | None, answers: list[object] | None
) -> None:
    def fail(words: str) -> None:
        if error is not None:
            raise error

    def decide(tool: str, effects: object, facts: object) -> Decision:
        allowed = category != "policy"
        return Decision("allow" if allowed else "deny", "test", "the test says so")

    said = answers if answers is not None else [call(("echo", '{"words":"x"}')), say("So it is.")]
    async with running(
        tmp_path, said or [[]] * 9, [EchoTool(before=fail)], policy=decide, interactive=False
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert fold(Metrics(), bench.events).failures == {category: 1}
