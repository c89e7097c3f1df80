"""Every decision is in the log with its rule, its reason and a digest of the effects; none outlives what it was about."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import Environment
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import Preview
from tui_agent.protocol.commands import DecidePermission, SetPolicy, SubmitPrompt
from tui_agent.protocol.effects import Effect, RunEffect
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.settings import PolicyName

ANSWERS = [call(("echo", '{"words": "make"}')), say("Done.")]


class RunningTool(EchoTool):
    """Runs what it is told; `shown` is what its preview holds, one a look."""

    shown: Sequence[str] = ()
    looks = 0

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (RunEffect(script=args.words),)

    async def preview(self, args: Words, env: Environment) -> Preview:
        self.looks += 1
        return Preview((), content=self.shown[min(self.looks, len(self.shown)) - 1] if self.shown else "")


def judge(*rules: str):  # type: ignore[no-untyped-def]
    policy = RulePolicy(rules)

    def decide(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        return policy.decide(tool, effects, facts)

    return decide


async def asked(bench: Bench, count: int = 1) -> PermissionRequested:
    await bench.until("permission.requested", count=count)
    return bench.of(PermissionRequested)[count - 1]


def decided(bench: Bench) -> PermissionDecided:
    (found,) = bench.of(PermissionDecided)
    return found


async def test_a_decision_carries_the_rule_the_reason_and_the_digest_that_was_shown(tmp_path: Path) -> None:
    async with running(tmp_path, ANSWERS, [RunningTool()], policy=judge()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow"))
        await bench.until("turn.finished")
    found = decided(bench)
    assert (found.digest, found.request_id, found.effects) == (
        request.digest,
        request.request_id,
        request.effects,
    )
    assert (found.rule_id, found.reason, found.policy) == (
        "ask.commands",
        "you allowed it (once)",
        "ask",
    )
    order = [event.payload.kind for event in bench.events]
    assert order.index("permission.decided") < order.index("tool.started")


async def test_a_decision_by_a_rule_names_the_rule_and_where_it_stands(tmp_path: Path) -> None:
    async with running(tmp_path, ANSWERS, [RunningTool()], policy=judge("deny run make *")) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    found = decided(bench)
    assert (found.decision, found.decided_by, found.rule_id) == ("deny", "rule", "rule: deny run make *")
    assert found.reason == "the rule `deny run make *` says so" and len(found.digest) == 32
    assert not bench.of(ToolStarted)


async def test_a_call_that_changed_while_the_user_thought_is_asked_again_with_another_digest(
    tmp_path: Path,
) -> None:
    tool = RunningTool()
    tool.shown = ("one", "two", "two")
    async with running(tmp_path, ANSWERS, [tool], policy=judge()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        first = await asked(bench)
        bench.submit(DecidePermission(request_id=first.request_id, decision="allow"))
        second = await asked(bench, 2)
        assert first.digest != second.digest and not bench.of(ToolStarted)
        bench.submit(DecidePermission(request_id=second.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert decided(bench).digest == second.digest


@pytest.mark.parametrize("now", ["plan", "ask", "accept-edits", "bypass"])
async def test_a_profile_that_changes_while_the_user_thinks_is_the_one_that_judges(
    tmp_path: Path, now: PolicyName
) -> None:
    tool = RunningTool()
    async with running(tmp_path, ANSWERS, [tool], policy=judge()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(SetPolicy(policy=now))
        await bench.until("settings.changed")
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach="session"))
        await bench.until("turn.finished")
    found = decided(bench)
    assert (found.decision, bool(tool.ran)) == (("deny", False) if now == "plan" else ("allow", True))
    assert found.policy == now


async def test_a_profile_for_delegates_is_nothing_to_switch_to(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Done.")], policy=judge()) as bench:
        bench.submit(SetPolicy(policy="read-only-delegate"))
        refused = (await bench.until("command.rejected")).payload
        assert "read-only-delegate" in str(refused)
