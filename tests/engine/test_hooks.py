"""Hooks are asked before and told after; what they say is heard, recorded, and never lifts a no."""

import json
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, allow, ask, call, running, say
from tests.stubs.strict_history import faults_in
from tui_agent.engine.hooks import MAX_CONTEXT, Heard, weighed
from tui_agent.environments.hook_command import HookCommand
from tui_agent.environments.local import LocalEnvironment
from tui_agent.folds.base import fold
from tui_agent.folds.entries import NoticeEntry, ToolEntry
from tui_agent.folds.model_messages import ModelMessages
from tui_agent.folds.transcript import Transcript
from tui_agent.ports.hook import Hook, HookAnswer, HookReply
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.commands import Close, DecidePermission, Interrupt, Queue, Steer, SubmitPrompt
from tui_agent.protocol.events.hook import HookEvent, HookRan
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived, UserQueued, UserSteered
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent

DENIED = Decision("deny", "test.deny", "the test denies it")
ONE_CALL = [call(("echo", '{"words":"a"}')), say("Done.")]

Answers = HookReply | Callable[[JsonMap], Awaitable[HookReply]]


class Asked:
    """A hook that gives one reply and keeps what it was asked."""

    def __init__(self, event: HookEvent, reply: Answers | None = None, *, words: str = "./check") -> None:
        self.asked: list[JsonMap] = []
        self._reply = reply if reply is not None else HookReply()
        self.hook = Hook(event, words, "user", self._ask)

    async def _ask(self, asked: JsonMap, time_limit_s: float) -> HookReply:
        self.asked.append(asked)
        return self._reply if isinstance(self._reply, HookReply) else await self._reply(asked)


def says(decision: Any = "", reason: str = "", **more: Any) -> HookReply:
    return HookReply(HookAnswer(decision, reason, **more))


def ran(bench: Bench) -> list[HookRan]:
    return [one for one in bench.of(HookRan) if isinstance(one, HookRan)]


def told(bench: Bench, request: int = -1) -> str:
    """All that a person's messages of a request say."""
    messages = bench.model.requests[request].messages
    pieces = [piece for one in messages if isinstance(one, UserMessage) for piece in one.content]
    return "\n".join(str(piece.text) for piece in pieces if isinstance(piece, TextContent))


def notices(bench: Bench) -> list[str]:
    view = fold(Transcript(), bench.events)
    return [
        entry.lines[0] for entry in view.entries if isinstance(entry, NoticeEntry) and entry.kind == "hook"
    ]


async def a_turn(bench: Bench, text: str = "Go.") -> None:
    bench.submit(SubmitPrompt(text=text))
    await bench.until("turn.finished")


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
    assert isinstance(result, ToolFinished) and result.status == "denied"
    assert isinstance(result.content[0], TextContent) and "not on a Friday" in str(result.content[0].text)
    assert isinstance(decided, PermissionDecided) and (decided.rule_id, decided.by) == ("hook", "rule")
    assert notices(bench) == ["A hook refused echo a: not on a Friday"]


async def test_a_hook_makes_the_user_be_asked_about_what_would_have_run(tmp_path):
    hook = Asked("before_tool", says("ask", "it is late"))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = (await bench.until("permission.requested")).payload
        assert isinstance(asked, PermissionRequested) and asked.reason == "it is late"
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
    assert isinstance(decided, PermissionDecided) and decided.rule_id == "hook"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("deny", "a hook refused it: it is a Friday."),
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
    assert isinstance(decided, PermissionDecided) and decided.rule_id == "hook"
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
    assert rank[weighed(decision, Heard(said)).verdict] >= rank[verdict]
    assert weighed(decision, Heard(said)).verdict == max(
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
        asked = (await bench.until("permission.requested")).payload
        assert isinstance(asked, PermissionRequested) and asked.target == "b"
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
        asked = (await bench.until("permission.requested")).payload
        assert isinstance(asked, PermissionRequested) and asked.target == "a"
        bench.submit(DecidePermission(request_id=asked.request_id, decision="deny"))
        await bench.until("turn.finished")
    assert "do not fit" in ran(bench)[0].fault
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


async def test_a_long_context_is_bounded(tmp_path):
    hook = Asked("after_tool", says(additional_context="x" * 1_000_000))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
    assert len(told(bench)) < MAX_CONTEXT + 500


async def test_a_refused_prompt_never_reaches_the_model(tmp_path):
    async def no_secrets(asked: JsonMap) -> HookReply:
        return says("deny", "it names a customer") if "ACME" in str(asked["prompt"]) else HookReply()

    hook = Asked("before_prompt", no_secrets)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="What does ACME owe us?"))
        rejected = (await bench.until("command.rejected")).payload
        assert isinstance(rejected, CommandRejected)
        assert rejected.reason == "A hook refused this message: it names a customer."
        await a_turn(bench, "Hi.")
    assert "ACME" not in told(bench)
    assert [one.text for one in bench.of(UserMessageReceived)] == ["Hi."]


async def test_a_prompt_brings_what_the_hook_adds(tmp_path):
    hook = Asked("before_prompt", says(additional_context="It is Monday."))
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        await a_turn(bench, "Which day?")
    assert told(bench).startswith("Which day?") and "It is Monday." in told(bench)


async def test_steering_and_queued_messages_are_heard_too(tmp_path):
    async def no_secrets(asked: JsonMap) -> HookReply:
        return says("deny", "no") if "bad" in str(asked["prompt"]) else HookReply()

    hook = Asked("before_prompt", no_secrets)
    seen = anyio.Event()

    async def wait() -> None:
        await seen.wait()

    answers = [[wait, *call(("echo", '{"words":"a"}'))], say("Done."), say("And done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        await bench.until("model.requested")
        bench.submit(Steer(text="a bad word"))
        await bench.until("command.rejected")
        bench.submit(Steer(text="a good word"))
        await bench.until("user.steered")
        bench.submit(Queue(text="bad too"))
        bench.submit(Queue(text="good too"))
        await bench.until("user.queued", 2)
        seen.set()
        await bench.until("turn.finished", 2)
    assert [one.text for one in bench.of(UserSteered)] == ["a good word"]
    assert [one.text for one in bench.of(UserMessageReceived)] == ["Go.", "good too"]
    assert "bad" not in told(bench)


async def test_stopping_while_a_hook_hears_a_prompt_sends_nothing(tmp_path):
    async def for_ever(asked: JsonMap) -> HookReply:
        await anyio.sleep_forever()
        raise AssertionError

    hook = Asked("before_prompt", for_ever)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        bench.submit(Interrupt())
        rejected = (await bench.until("command.rejected")).payload
        assert isinstance(rejected, CommandRejected) and rejected.reason == "Stopped before it was sent."
    assert not bench.model.requests
    assert ran(bench)[0].fault


async def test_stopping_the_turn_ends_the_hook_of_a_call_and_the_call_never_starts(tmp_path):
    async def for_ever(asked: JsonMap) -> HookReply:
        await anyio.sleep_forever()
        raise AssertionError

    hook = Asked("before_tool", for_ever)
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        bench.submit(Interrupt())
        ended = (await bench.until("turn.finished")).payload
        assert isinstance(ended, TurnFinished) and ended.reason == "interrupted"
    assert tool.ran == []
    assert ran(bench)[0].fault
    assert [one.status for one in bench.of(ToolFinished) if isinstance(one, ToolFinished)] == ["interrupted"]


async def test_a_refused_turn_asks_no_model(tmp_path):
    hook = Asked("before_turn", says("deny", "the budget is spent"))
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        await a_turn(bench)
        ended = bench.of(TurnFinished)[0]
    assert isinstance(ended, TurnFinished) and ended.reason == "rejected"
    assert "the budget is spent" in ended.detail
    assert not bench.model.requests


async def test_the_edges_of_session_prompt_and_turn_are_told_in_order(tmp_path):
    order: list[object] = []

    async def note(asked: JsonMap) -> HookReply:
        order.append(asked["hook_event"])
        return HookReply()

    events: Sequence[HookEvent] = (
        "session_end", "after_turn", "before_turn", "after_prompt", "before_prompt", "session_start",
    )  # fmt: skip
    hooks = [Asked(event, note).hook for event in events]
    async with running(tmp_path, [say("Hello.")], hooks=hooks) as bench:
        await a_turn(bench)
        bench.submit(Close())
        await bench.until("hook.ran", 6)
    assert order == list(reversed(events))


async def test_a_prompt_waits_for_the_hooks_of_the_start_and_brings_what_they_add(tmp_path):
    go = anyio.Event()

    async def slow(asked: JsonMap) -> HookReply:
        await go.wait()
        return says(additional_context=f"branch main, {asked['source']}")

    hook = Asked("session_start", slow)
    async with running(tmp_path, [say("Hello.")], hooks=[hook.hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not hook.asked:
            await anyio.lowlevel.checkpoint()
        assert not bench.of(UserMessageReceived)
        go.set()
        await bench.until("turn.finished")
    assert "branch main, new" in told(bench)


async def test_a_decision_that_means_nothing_where_it_is_said_is_a_fault_that_stops_nothing(tmp_path):
    hooks = [
        Asked("after_tool", says("ask")).hook,
        Asked("before_prompt", says(updated_input={"words": "b"})).hook,
    ]
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=hooks) as bench:
        await a_turn(bench)
        ended = bench.of(TurnFinished)[0]
    assert isinstance(ended, TurnFinished) and ended.reason == "finished"
    assert all(one.fault for one in ran(bench)) and len(notices(bench)) == 2


async def test_a_taken_up_session_tells_the_model_the_same_and_runs_no_hook_again(tmp_path):
    hook = Asked("after_tool", says(additional_context="Remember the milk."))
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook.hook]) as bench:
        await a_turn(bench)
        before = bench.recorder.messages()
    async with running(tmp_path, [say("Again.")], [EchoTool()], hooks=[hook.hook]) as bench:
        assert bench.recorder.messages() == before
        await a_turn(bench)
    assert "Remember the milk." in told(bench)
    assert len(hook.asked) == 1


async def test_cut_at_any_event_of_a_turn_with_hooks_the_history_stays_legal(tmp_path):
    hooks = [
        Asked("before_tool", says(updated_input={"words": "b"}, additional_context="one")).hook,
        Asked("after_tool", says("deny", "two", additional_context="three")).hook,
        Asked("before_prompt", says(additional_context="four")).hook,
        Asked("after_turn", says(additional_context="five")).hook,
    ]
    answers = [call(("echo", '{"words":"a"}'), ("echo", '{"words":"c"}')), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=hooks) as bench:
        await a_turn(bench)
    for cut in range(len(bench.events)):
        messages = ModelMessages()
        for event in bench.events[: cut + 1]:
            messages.apply(event)
        if not messages._open:
            assert faults_in(messages.view()) == [], cut


def gone(pid: Path) -> bool:
    """Whether the process whose number stands in a file has ended."""
    try:
        return Path(f"/proc/{pid.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return pid.exists()


BAD_HOOKS = {
    "fails": ("echo broken >&2; exit 1", "ended with 1: broken"),
    "is not there": ("./no/such/file", "ended with 127"),
    "is killed": ("kill -9 $$", "ended by SIGKILL"),
    "prints rubbish": ("echo yes please", "no JSON"),
    "prints a list": ("echo '[1]'", "no JSON object"),
    "answers in another form": ("echo '{\"hookSpecificOutput\": {}}'", "no field 'hookSpecificOutput'"),
    "says what nobody knows": ('echo \'{"decision": "maybe"}\'', "'decision' is not right"),
    "prints half a pair": ('printf \'{"reason": "\\\\ud800"}\'', "no JSON"),
    "prints 100 MB": ("head -c 100000000 /dev/zero", "more than 1 MiB"),
    "prints 100 MB of errors": ("head -c 100000000 /dev/zero >&2; exit 7", "ended with 7"),
    "nests": (f"{sys.executable} -c 'print(\"[\" * 100000)'", "no JSON"),
    "hangs": ("sleep 1000 & echo $! > pid; sleep 1000", "stopped after 0.3 s"),
}


@pytest.mark.parametrize("name", BAD_HOOKS)
async def test_a_broken_hook_is_told_of_and_the_call_falls_to_asking(tmp_path, name):
    script, words = BAD_HOOKS[name]
    env = LocalEnvironment(tmp_path)
    limit = 0.3 if name == "hangs" else 60.0
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask, time_limit_s=limit)
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = (await bench.until("permission.requested")).payload
        assert isinstance(asked, PermissionRequested) and "a hook failed" in asked.reason
        assert words in ran(bench)[0].fault
        assert "A hook failed at echo a" in notices(bench)[0]
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert tool.ran == ["a"]
    assert name != "hangs" or gone(tmp_path / "pid")
    await env.aclose()


async def test_a_command_gets_json_and_answers_in_json(tmp_path):
    script = f"""{sys.executable} -c '
import json, sys
asked = json.load(sys.stdin)
assert asked["tool_input"] == {{"words": "a\\u00e9\\n"}}
print(json.dumps({{"decision": "deny", "reason": asked["hook_event"] + " in " + asked["cwd"]}}))
'"""
    env = LocalEnvironment(tmp_path)
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    answers = [call(("echo", json.dumps({"words": "aé\n"}))), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=[hook], facts={"cwd": "/work"}) as bench:
        await a_turn(bench)
    assert (ran(bench)[0].decision, ran(bench)[0].reason) == ("deny", "before_tool in /work")
    await env.aclose()


async def test_status_two_refuses_with_the_errors_as_the_reason(tmp_path):
    env = LocalEnvironment(tmp_path)
    script = "cat > /dev/null; echo ignored; echo 'no deployments today' >&2; exit 2"
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook]) as bench:
        await a_turn(bench)
    assert (ran(bench)[0].decision, ran(bench)[0].reason) == ("deny", "no deployments today")
    await env.aclose()


async def test_stopping_the_turn_ends_all_that_a_hook_started(tmp_path):
    env = LocalEnvironment(tmp_path)
    script = "sleep 1000 & (sleep 1000 & echo $! > part; mv part pid); wait"
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not (tmp_path / "pid").exists():
            await anyio.lowlevel.checkpoint()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        assert gone(tmp_path / "pid")
    await env.aclose()


async def test_a_hook_that_wants_other_tools_is_not_asked(tmp_path):
    hook = Asked("before_tool", says("deny"))
    other = Hook("before_tool", "./check", "user", hook._ask, matcher=re.compile("write|edit_.*"))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[other]) as bench:
        await a_turn(bench)
    assert tool.ran == ["a"] and not hook.asked


async def test_without_hooks_nothing_is_recorded(tmp_path):
    async with running(tmp_path, ONE_CALL, [EchoTool()], policy=allow) as bench:
        await a_turn(bench)
    assert not ran(bench) and not bench.of(UserQueued)
