"""A rule that came with an answer is kept only where it can stand; else the call is asked about again, and says why."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, Words, call, running, say
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import Environment
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import Preview
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested


class WritingTool(EchoTool):
    """Writes the file that it is told."""

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (WriteEffect(path=args.words),)


class RunningTool(EchoTool):
    """Runs what it is told, for 20 s at most."""

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (RunEffect(script=args.words),)

    async def preview(self, args: Words, env: Environment) -> Preview:
        return Preview((), content=args.words, time_limit_s=20)


def judge(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return RulePolicy().decide(tool, effects, facts)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("allow edit new.pyl demo", "does not match this request"),
        ("make it so", "is not a rule"),
        ("allow edit", "is incomplete"),
        ("deny edit src/**", "Only `allow` rules can be saved here"),
        ("allow tool other", "does not match this request"),
    ],
)
async def test_a_rule_that_cannot_stand_is_not_kept_and_the_call_is_asked_about_again(
    tmp_path: Path, rule: str, said: str
) -> None:
    kept: list[str] = []
    tool = WritingTool()
    answers = [call(("echo", '{"words": "src/new.py"}')), say("Done.")]
    async with running(
        tmp_path, answers, [tool], policy=judge, remember=lambda rule, _: kept.append(rule)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        first = await bench.until_payload(PermissionRequested)
        assert first.rule_error == ""
        bench.submit(
            DecidePermission(request_id=first.request_id, decision="allow", reach="always", rule=rule)
        )
        await bench.until("permission.requested", count=2)
        second = bench.of(PermissionRequested)[1]
        assert said in second.rule_error and second.rejected_rule == rule
        assert (kept, tool.ran, bench.of(PermissionDecided)) == ([], [], [])
        good = "allow edit src/*.py"
        bench.submit(
            DecidePermission(request_id=second.request_id, decision="allow", reach="always", rule=good)
        )
        await bench.until("turn.finished")
    assert kept == [good] and tool.ran == ["src/new.py"]
    (decided,) = bench.of(PermissionDecided)
    assert decided.rule == good


async def test_a_request_to_run_something_says_how_long_it_may_run(tmp_path: Path) -> None:
    answers = [call(("echo", '{"words": "make"}')), say("Done.")]
    async with running(tmp_path, answers, [RunningTool()], policy=judge) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        assert request.time_limit_s == 20
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
