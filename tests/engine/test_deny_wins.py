"""A no wins over every yes: of rules in any order, hooks, delegates, answers, and a profile that changes meanwhile."""

from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, PolicyAnswer, running, say
from tests.engine.hooking import ONE_CALL, Asked, says
from tests.engine.talks import Talks, rules, spawn, tools, use
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.protocol.commands import DecidePermission, SetPolicy, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.settings import POLICIES, PolicyName

SAYS = ("allow", "ask", "deny")
ORDERS = [one for count in (0, 1, 2, 3) for one in permutations(SAYS, count)]
HOOKS = ("", *SAYS)


def ruled(verdicts: Sequence[str]) -> PolicyAnswer:
    """The product's own policy with rules in this order, all about the file that is written."""
    return RulePolicy([parse_rule(f"{one} edit x") for one in verdicts]).decide


def agrees(bench: Bench, meanwhile: PolicyName | None = None) -> list[PermissionRequested]:
    """Every question gets a yes for the session, the profile being changed before; the questions."""
    asked: list[PermissionRequested] = []

    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            asked.append(event.payload)
            if meanwhile is not None:
                bench.submit(SetPolicy(policy=meanwhile))
            bench.submit(
                DecidePermission(request_id=event.payload.request_id, decision="allow", reach="session")
            )

    bench.on_event = react
    return asked


def started_behind_its_decision(bench: Bench, tool: str) -> bool:
    """Whether every start of a call of this tool stands behind a decision that allows it."""
    allowed: set[str] = set()
    for event in bench.events:
        match event.payload:
            case PermissionDecided(call_id=call, decision="allow"):
                allowed.add(call)
            case PermissionDecided(call_id=call):
                allowed.discard(call)
            case ToolStarted(call_id=call) if call not in allowed:
                return False
            case _:
                pass
    return True


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
async def test_a_no_of_a_rule_or_a_hook_wins_in_every_order_and_under_every_profile(
    tmp_path: Path, policy: PolicyName
) -> None:
    for number, (order, hook, meanwhile) in enumerate(product(ORDERS, HOOKS, (None, *POLICIES))):
        if meanwhile is not None and "deny" in (*order, hook):
            continue  # nothing is asked in which the profile could change
        tool = EchoTool(writes=True)
        async with running(
            tmp_path,
            ONE_CALL,
            [tool],
            policy=ruled(order),
            policy_name=policy,
            hooks=[Asked("before_tool", says(hook)).hook],
            session=f"ses_{number}",
        ) as bench:
            asked = agrees(bench, meanwhile)
            bench.submit(SubmitPrompt(text="Go."))
            await bench.until("turn.finished")
        case = (order, hook, policy, meanwhile, len(asked))
        if "deny" in (*order, hook):
            assert (tool.ran, asked) == ([], []), case
        elif policy == "plan" or (asked and meanwhile == "plan"):
            assert tool.ran == [], case
        elif "ask" in (*order, hook):
            assert asked and tool.ran == ["a"], case
        else:
            assert tool.ran == ["a"], case
        assert started_behind_its_decision(bench, "echo"), case


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", [None, *POLICIES])
@pytest.mark.parametrize("order", [one for one in ORDERS if "ask" in one or "deny" in one])
async def test_a_no_holds_for_a_delegate_too_whatever_the_profile_becomes(
    tmp_path: Path, order: tuple[str, ...], meanwhile: PolicyName | None
) -> None:
    talks = Talks(
        Main=[spawn("Child: write"), say("Done.")],
        Child=[use("write_file", path="x", content="written"), say("So it is.")],
    )
    async with running(
        tmp_path, [], tools(), policy=ruled(order), policy_name="accept-edits", delegation=rules()
    ) as bench:
        bench.use(talks)
        asked = agrees(bench, meanwhile)
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("turn.finished")
    written = (tmp_path / "workspace" / "x").exists()
    assert bool(asked) == ("deny" not in order)
    assert written == ("deny" not in order and meanwhile != "plan")
