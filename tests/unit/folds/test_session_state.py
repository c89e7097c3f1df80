"""The state that commands are checked against and the next run goes on from."""

from typing import Any

import pytest

from tests.stubs.story import (
    MODEL,
    Story,
    called,
    decision,
    file_changed,
    finished,
    requested,
    responded,
    started,
    tool_call,
)
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.folds.text.session_figures import describe_sandbox
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.files import FileRead
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.plugin import PluginEvent
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import (
    ForkChange,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import (
    IterationFinished,
    IterationStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserSteered,
    UserUnqueued,
)
from tui_agent.protocol.ids import AgentId, CallId, RequestId, RunId, SessionId
from tui_agent.protocol.settings import AgentState, BudgetUse, SessionSettings
from tui_agent.protocol.stored_text import JsonMap


class Fold:
    """A state and its story."""

    def __init__(self) -> None:
        self.fold = SessionState()
        self.story = Story()

    def tell(self, *payloads: Any, agent: str = "main") -> SessionStateView:
        for payload in payloads:
            assert self.fold.apply(self.story(payload, agent))
        return self.fold.view()


def opened() -> Fold:
    fold = Fold()
    fold.tell(SessionStarted(workspace="/w", product="p", settings=SessionSettings(model=MODEL)))
    return fold


def test_settings_change_one_by_one_and_nonsense_changes_nothing() -> None:
    fold = opened()
    view = fold.tell(
        SettingsChanged(key="policy", value="bypass", previous="ask"),
        SettingsChanged(key="budgets", value={"max_parts": 5}, previous={}),
        SettingsChanged(key="model", value={"not": "a model"}, previous={}),
    )
    assert view.settings is not None
    assert (view.settings.policy, view.settings.budgets.max_parts, view.settings.model) == (
        "bypass",
        5,
        MODEL,
    )
    assert not view.asks_before_acting


def test_parts_are_counted_without_gaps_and_a_closed_call_is_none() -> None:
    fold = opened()
    assert fold.tell(responded("r1", "hm", tool_call("c1"))).parts == 2
    assert fold.tell(finished("c1", part=2)).parts == 3
    assert fold.tell(responded("r2", tool_call("c2"), first_part=3)).parts == 4
    assert fold.tell(finished("c2", "lost", part=None)).parts == 4


def test_open_calls_tell_how_far_each_one_came() -> None:
    fold = opened()
    view = fold.tell(
        responded("r1", tool_call("a"), tool_call("b"), tool_call("c")),
        called("a"),
        started("a"),
        called("b"),
    )
    assert [(call.call_id, call.called, call.started, call.writes) for call in view.open_calls] == [
        ("a", True, True, True),
        ("b", True, False, False),
        ("c", False, False, False),
    ]
    assert fold.tell(finished("a"), finished("b"), finished("c", "interrupted", part=None)).open_calls == ()


def test_a_request_is_open_until_it_ends() -> None:
    fold = opened()
    assert fold.tell(requested("r1"), requested("r2")).open_requests == ("r1", "r2")
    failed = ModelFailed(request_id=RequestId("r2"), fault="auth", message="no key")
    view = fold.tell(responded("r1", "x"), failed)
    assert (view.open_requests, view.last_error) == ((), "no key")
    assert (view.totals.model_calls, view.totals.cost_usd) == (2, 0.5)


def test_a_prompt_is_pending_until_its_turn_begins() -> None:
    fold = opened()
    message = UserMessageReceived(text="do it")
    assert fold.tell(message).pending_prompt == message
    view = fold.tell(TurnStarted(turn=1))
    assert (view.pending_prompt, view.turn, view.turn_running, view.root_task) == (None, 1, True, "do it")


def test_a_turn_sums_from_its_own_start() -> None:
    fold = opened()
    step = IterationStarted(iteration=1, local_iteration=1)
    fold.tell(TurnStarted(turn=1), step, responded("r1", "x"), TurnFinished(turn=1, reason="finished"))
    delegate = IterationStarted(iteration=3, local_iteration=1, delegate_level=1)
    view = fold.tell(
        TurnStarted(turn=2),
        IterationStarted(iteration=2, local_iteration=1),
        delegate,
        responded("r2", "y", first_part=1),
    )
    assert (view.turn_iterations, view.turn_cost_usd) == (1, 0.5)
    assert (view.totals.cost_usd, view.turn_totals.input_tokens, view.totals.input_tokens) == (1.0, 100, 200)
    assert view.last_turn_end == "finished"


def test_budgets_count_over_turns_and_delegates_survive_a_revert_and_start_anew_in_a_fork() -> None:
    fold = opened()
    fold.tell(
        TurnStarted(turn=1),
        IterationStarted(iteration=1, local_iteration=1),
        responded("r1", "x"),
        IterationStarted(iteration=2, local_iteration=1, delegate_level=1),
        responded("r2", "y", first_part=1),
        TurnFinished(turn=1, reason="finished", duration_ms=1500),
    )
    used = BudgetUse(
        parts=2, iterations=2, turns=1, seconds=1.5, input_tokens=200, output_tokens=20, cost_usd=1.0
    )
    assert fold.fold.view().used == used
    moved = SessionHeadMoved(to_seq=0, from_seq=6, reason="undo", parts=2, turn=1, iteration=2, used=used)
    undone = opened().tell(moved)
    assert (undone.used, undone.undone, undone.totals.input_tokens) == (used, used, 0)
    assert (undone.usage.input_tokens, undone.usage.output_tokens, undone.cost_usd) == (200, 20, 1.0)
    forked = SessionForked(parent_session=SessionId("s"), at_seq=6, parent_crc="0")
    assert fold.tell(forked).used == BudgetUse()
    after = fold.tell(TurnStarted(turn=2), responded("r3", "z", first_part=2))
    assert (after.used.parts, after.used.turns, after.parts, after.turn) == (1, 1, 3, 2)


@pytest.mark.parametrize(("workspace", "rules"), [("", ("edit src/**",)), ("/elsewhere", ())])
def test_a_fork_in_another_folder_has_no_rules_of_its_parent(workspace: str, rules: tuple[str, ...]) -> None:
    fold = opened()
    fold.tell(decision("a", reach="session", rule="edit src/**"))
    changes = ForkChange(workspace=workspace)
    forked = SessionForked(parent_session=SessionId("s"), at_seq=6, parent_crc="0", changes=changes)
    assert fold.tell(forked).granted_rules == rules


def test_rules_of_the_old_folder_end_when_the_session_continues_in_another_one() -> None:
    fold = opened()
    fold.tell(decision("a", reach="session", rule="edit src/**"))
    assert fold.tell(WorkspaceMoved(workspace="/elsewhere", previous="/w")).granted_rules == ()


def test_queue_and_steering_are_kept_until_they_are_used() -> None:
    fold = opened()
    one, two = (UserQueued(queue_id=RequestId(name), text=name) for name in ("q1", "q2"))
    assert fold.tell(one, two, UserSteered(text="s")).queue == (one, two)
    assert fold.tell(UserUnqueued(queue_id=RequestId("q2"))).queue == (one,)
    assert fold.tell(UserMessageReceived(text="q1", source="queue", queue_id=RequestId("q1"))).queue == ()
    assert fold.fold.view().pending_steers == 1
    assert fold.tell(requested("r1")).pending_steers == 0


def asked(call: str) -> PermissionRequested:
    return PermissionRequested(
        request_id=RequestId(f"p-{call}"),
        call_id=CallId(call),
        tool="t",
        verb="v",
        target="x",
        effects=(),
        digest="d",
        preview=(),
        choices=(),
    )


def test_permissions_wait_until_they_are_decided_and_rules_are_kept() -> None:
    fold = opened()
    assert len(fold.tell(asked("a"), asked("b"), asked("a")).permissions) == 2
    view = fold.tell(decision("a", reach="session", rule="edit src/**"), decision("b", rule="once only"))
    assert (view.permissions, view.granted_rules) == ((), ("edit src/**",))
    denied = fold.tell(decision("c", decision="deny", reach="always", rule="never"))
    assert denied.granted_rules == ("edit src/**",)


def test_a_saved_rule_is_not_a_rule_of_the_session_so_a_fork_elsewhere_does_not_inherit_it() -> None:
    fold = opened()
    fold.tell(decision("a", reach="always", rule="allow edit a.py"))
    assert fold.tell(decision("b", reach="everywhere", rule="allow run make *")).granted_rules == ()
    opens = "sandbox readable /w/.env"
    assert fold.tell(decision("c", reach="always", rule=opens)).granted_rules == (opens,), (
        "read at the start only"
    )


def test_what_waits_is_void_when_the_turn_ends() -> None:
    fold = opened()
    question = QuestionAsked(question_id=RequestId("q"), text="Which?", form="text")
    view = fold.tell(TurnStarted(turn=1), asked("a"), question, requested("r1"))
    assert (view.open_questions, view.questions) == (("Which?",), (question,))
    view = fold.tell(TurnFinished(turn=1, reason="interrupted"))
    assert (view.permissions, view.questions, view.open_requests) == ((), (), ())
    assert fold.tell(question, QuestionAnswered(question_id=RequestId("q"), answer="a")).questions == ()


def read(path: str, digest: str, *, whole: bool) -> FileRead:
    return FileRead(path=path, digest=digest, size=1, first_line=1, last_line=1, complete=whole)


def test_what_is_known_of_a_file_is_what_was_read_or_written_by_the_agent() -> None:
    fold = opened()

    def known(path: str) -> tuple[str, bool] | None:
        entry = fold.fold.view().read_files.get(path)
        return None if entry is None else (entry.digest, entry.complete)

    fold.tell(read("a", "1", whole=True), read("a", "1", whole=False))
    assert known("a") == ("1", True)
    fold.tell(file_changed("a", "1", "2"))
    assert known("a") == ("2", True)
    fold.tell(file_changed("a", "2", "3", author="command"))
    assert known("a") == ("2", True)
    fold.tell(read("a", "3", whole=False))
    assert known("a") == ("3", False)
    fold.tell(file_changed("new", None, "9"), file_changed("blind", "0", "1"), file_changed("a", "4", "5"))
    assert (known("new"), known("blind"), known("a")) == (("9", True), None, ("3", False))
    fold.tell(file_changed("a", "3", None, author="human"))
    assert known("a") is None
    assert fold.fold.view().explored_paths == ("a",)


def test_a_removed_file_is_known_until_it_exists_again_and_so_is_who_created_it() -> None:
    fold = opened()
    fold.tell(file_changed("made", None, "1"), file_changed("made", "1", None, author="command"))
    fold.tell(file_changed("old", "1", "2"), file_changed("old", "2", None))
    fold.tell(file_changed("own", None, "1"), file_changed("own", "1", None, author="human"))
    fold.tell(file_changed("theirs", "1", None, author="human"))
    assert fold.fold.view().removed_paths == {"made": True, "old": False, "own": True, "theirs": False}
    fold.tell(file_changed("made", None, "3"), file_changed("old", None, "3", author="human"))
    assert fold.fold.view().removed_paths == {"own": True, "theirs": False}


def test_three_equal_calls_in_a_row_are_almost_stuck() -> None:
    fold = opened()
    for number in range(3):
        assert not fold.fold.view().almost_stuck
        fold.tell(IterationStarted(iteration=number + 1, local_iteration=number + 1))
        for call in (f"c{number}", f"again{number}"):  # in one answer: they count once
            fold.tell(called(call, command="make"), finished(call, text="same"))
    assert (fold.fold.view().repeat_count, fold.fold.view().almost_stuck) == (3, True)
    assert fold.tell(called("d", command="make"), finished("d", text="new")).repeat_count == 1


@pytest.mark.parametrize("last", [RunStarted, RunResumed])
def test_a_run_that_did_not_end_in_order_is_seen(last: type) -> None:
    fold = opened()
    assert fold.fold.view().clean
    begun = RunStarted(run_id=RunId("run_1"), pid=1, client="app", product="p", model=MODEL)
    resumed = RunResumed(run_id=RunId("run_2"), after_seq=3, clean=True)
    ended = RunFinished(run_id=RunId("run_1"), reason="quit")
    view = fold.tell(begun, ended)
    assert (view.clean, view.run_id) == (True, "run_1")
    view = fold.tell(begun if last is RunStarted else resumed)
    assert not view.clean
    assert view.run_id == ("run_1" if last is RunStarted else "run_2")


def test_the_lit_stage_follows_the_events() -> None:
    fold = opened()
    stages = [
        fold.tell(payload).phase
        for payload in (
            UserMessageReceived(text="x"),
            requested("r1"),
            asked("a"),
            started("a"),
            IterationFinished(iteration=1, action="calls", duration_ms=1.0),
            TurnFinished(turn=1, reason="finished"),
        )
    ]
    assert stages == ["message", "model", "policy", "tools", "trace", "idle"]


def test_a_delegates_task_is_the_subtask_while_it_works() -> None:
    fold = opened()
    items = (TodoItem(id="1", content="Fix it", status="in_progress"),)
    assert fold.tell(TodoUpdated(items=items)).subtask == "Fix it"
    spawned = AgentSpawned(
        name="h", parent_agent=AgentId("main"), delegate_level=1, task="Look", tools=(), model=MODEL
    )
    view = fold.tell(spawned, TodoUpdated(items=()), AgentStateChanged(state=AgentState.ERROR), agent="h")
    assert (view.subtask, view.agent, view.delegate_level, view.todo) == ("Look", "h", 1, items)
    assert view.agent_state == AgentState.LOADING
    view = fold.tell(AgentFinished(success=True, summary="s", reason="completed"), agent="h")
    assert (view.subtask, view.agent, view.delegate_level) == ("Fix it", "main", 0)


def test_a_plugins_state_is_its_newest_event_of_that_name() -> None:
    fold = opened()
    first: JsonMap = {"pages": 1}
    second: JsonMap = {"pages": 2}
    view = fold.tell(
        PluginEvent(plugin="notes", name="state", version=1, data=first),
        PluginEvent(plugin="notes", name="other", version=1, data={}),
        PluginEvent(plugin="notes", name="state", version=1, data=second),
    )
    assert view.extra == {"notes": second}


def test_a_view_does_not_change_behind_its_owner() -> None:
    fold = opened()
    before = fold.tell(read("a", "1", whole=True))
    fold.tell(read("b", "1", whole=True))
    assert list(before.read_files) == ["a"]
    assert fold.fold.view() is fold.fold.view()


@pytest.mark.parametrize(
    ("sandbox", "reason", "described"),
    [
        ("bubblewrap", "", "bubblewrap"),
        ("", "bwrap is not installed", "none: bwrap is not installed"),
        ("", "", "not known yet"),
    ],
)
def test_a_sandbox_that_is_not_known_yet_is_not_called_none(
    sandbox: str, reason: str, described: str
) -> None:
    state = SessionStateView(sandbox=sandbox, no_sandbox_reason=reason)
    assert describe_sandbox(state) == described
