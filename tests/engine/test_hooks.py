"""Hooks are asked before a call and told after it; what they say is heard, recorded, and never lifts a no."""

from itertools import permutations

import pytest

from tests.engine.harness import EchoTool, ask, running
from tests.engine.hooking import DENIED, ONE_CALL, Asked, a_turn, notices, ran, says, told
from tests.stubs.strict_history import faults_in
from tui_agent.engine.hooks import MAX_CONTEXT_CHARS, MAX_LABEL_CHARS, HookVerdict, merge_decisions
from tui_agent.folds.projection import fold
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import TextContent


async def test_a_call_runs_as_it_would_without_where_the_hook_says_nothing(tmp_path):
    hook = Asked("before_tool")
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    assert tool.ran == ["a"]
    assert hook.asked[0]["tool_name"] == "echo"
    assert hook.asked[0]["tool_input"] == {"words": "a"}
    assert hook.asked[0]["hook_event"] == "before_tool"
    assert [one.decision for one in ran(bench)] == [""]
    assert notices(bench) == []


async def test_what_a_hook_refuses_does_not_run_and_the_model_is_told_why(tmp_path):
    hook = Asked("before_tool", says("deny", "not on a Friday"))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        await a_turn(bench)
        result = bench.of(ToolFinished)[0]
        decided = bench.of(PermissionDecided)[0]
    assert tool.ran == []
    assert result.status == "denied"
    assert isinstance(result.content[0], TextContent) and "not on a Friday" in str(result.content[0].text)
    assert (decided.rule_id, decided.decided_by) == (
        "hook",
        "rule",
    )
    assert notices(bench) == ["A hook refused echo a: not on a Friday"]


async def test_a_hook_makes_the_user_be_asked_about_what_would_have_run(tmp_path):
    hook = Asked("before_tool", says("ask", "it is late"))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = await bench.until_payload(PermissionRequested)
        assert asked.reason == "it is late"
        assert asked.why_unavailable("session") == "not available: a hook asks about this"
        assert tool.ran == []
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert tool.ran == ["a"]


def careful(tool: str, effects: object, facts: PolicyFacts) -> Decision:
    """A profile that asks, and refuses where no one is there."""
    if not facts.interactive:
        return Decision("deny", "ask.writes", "it is careful, and no one is there to answer")
    return Decision("ask", "ask.writes", "it is careful", by_profile=True)


def generous(*_: object) -> Decision:
    return Decision("allow", "test", "the test says so")


CAREFUL = {"deny": careful, "ask": generous}


@pytest.mark.parametrize("interactive", [True, False])
async def test_a_hook_answers_for_the_user_what_only_the_profile_asks(tmp_path, interactive):
    hook = Asked("before_tool", says("allow", "it is only an echo"))
    tool = EchoTool()
    async with running(
        tmp_path, ONE_CALL, [tool], hooks=[hook.hook], policy=careful, interactive=interactive
    ) as bench:
        await a_turn(bench)
        decided = bench.of(PermissionDecided)[0]
    assert tool.ran == ["a"]
    assert decided.rule_id == "hook"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("deny", "a hook refused this call: it is a Friday."),
        ("ask", "it is a Friday, and no one is there to answer"),
    ],
)
async def test_where_no_one_is_there_the_hook_s_own_reason_is_told(tmp_path, said, words):
    hook = Asked("before_tool", says(said, "it is a Friday."))
    async with running(
        tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook], policy=CAREFUL[said], interactive=False
    ) as bench:
        await a_turn(bench)
        decided = bench.of(PermissionDecided)[0]
    assert decided.rule_id == "hook"
    assert words in decided.reason


@pytest.mark.parametrize("policy", [ask, lambda *_: DENIED])
async def test_a_hook_allows_nothing_that_a_rule_asks_about_or_denies(tmp_path, policy):
    hook = Asked("before_tool", says("allow"))
    tool = EchoTool()
    async with running(
        tmp_path, ONE_CALL, [tool], hooks=[hook.hook], policy=policy, interactive=False
    ) as bench:
        await a_turn(bench)
    assert tool.ran == []


@pytest.mark.slow_variants
@pytest.mark.parametrize("order", list(permutations(["allow", "ask", "deny", ""])))
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
async def test_deny_wins_whatever_the_order(tmp_path, order, verdict):
    hooks = [Asked("before_tool", says(one)).hook for one in order]
    tool = EchoTool()
    decision = Decision(verdict, "test", "the test says so", by_profile=True)
    async with running(tmp_path, ONE_CALL, [tool], hooks=hooks, policy=lambda *_: decision) as bench:
        await a_turn(bench)
    assert tool.ran == []
    assert not bench.of(PermissionRequested)


@pytest.mark.parametrize("said", ["", "allow", "ask", "deny"])
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_no_hook_makes_a_decision_weaker_but_for_what_the_profile_asks(said, verdict):
    rank = {"allow": 0, "ask": 1, "deny": 2}
    decision = Decision(verdict, "rule: x", "so")
    assert rank[merge_decisions(decision, HookVerdict(said)).verdict] >= rank[verdict]
    assert merge_decisions(decision, HookVerdict(said)).verdict == max(
        (verdict, said or "allow"), key=lambda one: rank[one]
    )


async def test_changed_arguments_are_judged_shown_and_run_instead(tmp_path):
    judged: list[str] = []

    class Seen(EchoTool):
        def effects(self, args):
            judged.append(args.words)
            return super().effects(args)

    hook = Asked("before_tool", says(updated_input={"words": "b"}))
    second = Asked("before_tool")
    tool = Seen()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook, second.hook], policy=ask) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = await bench.until_payload(PermissionRequested)
        assert asked.target == "b"
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert tool.ran == ["b"] and set(judged) == {"b"}
    assert second.asked[0]["tool_input"] == {"words": "b"}
    assert '{"words": "b"}' in told(bench)
    rows = [one for one in fold(Transcript(), bench.events).entries if isinstance(one, ToolEntry)]
    assert rows[0].target == "b" and rows[0].arguments == {"words": "b"}
    assert notices(bench) == ["A hook changed echo a"]


async def test_arguments_that_do_not_fit_are_a_fault_and_the_call_is_asked_about_as_it_was(tmp_path):
    hook = Asked("before_tool", says("allow", updated_input={"words": [1]}))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = await bench.until_payload(PermissionRequested)
        assert asked.target == "a"
        bench.submit(DecidePermission(request_id=asked.request_id, decision="deny"))
        await bench.until("turn.finished")
    assert "are not valid" in ran(bench)[0].fault
    assert tool.ran == []


async def test_a_hook_after_a_tool_hears_the_result_and_what_it_adds_reaches_the_model(tmp_path):
    hook = Asked("after_tool", says(additional_context="The linter found nothing."))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    assert hook.asked[0]["tool_response"] == {"status": "ok", "text": "echo: a", "summary": "done"}
    assert "The linter found nothing." in told(bench)
    assert faults_in(bench.model.requests[-1].messages) == []


async def test_a_hook_after_a_tool_may_object_and_the_turn_goes_on(tmp_path):
    hook = Asked("after_tool", says("deny", "two tests fail now"))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    assert "two tests fail now" in told(bench)
    assert notices(bench) == ["A hook objects to echo: two tests fail now"]


async def test_a_long_command_is_cut_between_two_words(tmp_path):
    hook = Asked("before_tool", words="./check " * 20)
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    (label,) = [one.command for one in ran(bench)]
    assert len(label) <= MAX_LABEL_CHARS and label.endswith("./check…")


async def test_a_long_context_is_bounded(tmp_path):
    hook = Asked("after_tool", says(additional_context="x" * 1_000_000))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    assert len(told(bench)) < MAX_CONTEXT_CHARS + 500
