"""What the gate makes of an answer: which rule it keeps, what is recorded, what the model is told."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tests.stubs.tool_context import text
from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.policy import PermissionChoice, PermissionDecided, PermissionRequested, Reach
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished

SESSION_RULE, ALWAYS_RULE = "allow edit x", "allow edit x*"


def choices(always: bool, why: str = "") -> tuple[PermissionChoice, ...]:
    return (
        PermissionChoice(reach="once", rule=""),
        PermissionChoice(reach="session", rule=SESSION_RULE),
        PermissionChoice(reach="always", rule=ALWAYS_RULE, offered=always, explanation=why),
    )


class Asking:
    """Asks about everything with these choices, and allows what a rule was granted for."""

    def __init__(self, *offers: PermissionChoice) -> None:
        self.offers = offers

    def __call__(self, tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        if facts.session_rules:
            return Decision("allow", "test.granted", "granted")
        return Decision(
            "ask", "test.ask", "the test asks", choices=self.offers, risk="A risk.", default_no=True
        )


def answers() -> list[object]:
    return [call(("echo", '{"words": "hello"}')), say("Done.")]


async def asked(bench: Bench, count: int = 1) -> PermissionRequested:
    return await bench.until_payload(PermissionRequested, count)


def decided(bench: Bench) -> PermissionDecided:
    (found,) = bench.of(PermissionDecided)
    return found


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("kept by nobody", "This rule is kept by nobody."),
        ("", "This rule is not available for this call."),
    ],
)
@pytest.mark.parametrize("reach", ["always", "everywhere"])
async def test_a_rule_of_a_reach_that_was_not_offered_is_not_kept(
    tmp_path: Path, why: str, said: str, reach: Reach
) -> None:
    kept: list[tuple[str, ...]] = []
    policy, tool = Asking(*choices(False, why)), EchoTool(writes=True)
    async with running(
        tmp_path, answers(), [tool], policy=policy, remember=lambda *rule: kept.append(rule)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        first = await asked(bench)
        bench.submit(
            DecidePermission(request_id=first.request_id, decision="allow", reach=reach, rule=ALWAYS_RULE)
        )
        second = await asked(bench, 2)
        assert (second.rule_error, second.rejected_rule, second.rejected_reach) == (said, ALWAYS_RULE, reach)
        assert (second.digest, tool.ran, kept, bench.of(PermissionDecided)) == (first.digest, [], [], [])
        bench.submit(DecidePermission(request_id=second.request_id, decision="allow", reach=reach))
        await bench.until("turn.finished")
        assert (decided(bench).rule, tool.ran, kept) == ("", ["hello"], [])


async def test_a_rule_that_cannot_be_saved_applies_to_the_session_only_and_the_user_is_told(
    tmp_path: Path,
) -> None:
    def remember(rule: str, workspace: str) -> None:
        raise ConfigError("policy.toml cannot be used.", hint="Mend it.")

    policy, tool = Asking(*choices(True)), EchoTool(writes=True)
    async with running(tmp_path, answers(), [tool], policy=policy, remember=remember) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach="always"))
        await bench.until("turn.finished")
        [fault] = bench.of(ErrorRaised)
        assert (fault.message, fault.hint) == ("policy.toml cannot be used.", "Mend it.")
        assert (decided(bench).rule, tool.ran) == (ALWAYS_RULE, ["hello"])
        assert decided(bench).reach == "session", "it was not saved"


@pytest.mark.parametrize(
    ("reach", "rule", "kept"),
    [
        ("once", "", []),
        ("session", SESSION_RULE, []),
        ("always", ALWAYS_RULE, [(ALWAYS_RULE, "workspace")]),
        ("everywhere", ALWAYS_RULE, [(ALWAYS_RULE, "")]),
    ],
)
async def test_an_answer_without_a_rule_takes_the_one_that_its_reach_offers(
    tmp_path: Path, reach: Reach, rule: str, kept: list[tuple[str, str]]
) -> None:
    remembered: list[tuple[str, str]] = []

    def remember(rule: str, workspace: str) -> None:
        assert workspace in ("", str(tmp_path / "workspace"))
        remembered.append((rule, Path(workspace).name))

    policy, tool = Asking(*choices(True)), EchoTool(writes=True)
    async with running(tmp_path, answers(), [tool], policy=policy, remember=remember) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach=reach))
        await bench.until("turn.finished")
        found = decided(bench)
        assert (found.decision, found.decided_by, found.reach, found.rule) == ("allow", "user", reach, rule)
        assert (found.request_id, found.digest) == (request.request_id, request.digest)
        assert (found.rule_id, found.reason) == ("test.ask", f"you allowed it ({reach})")
        assert (remembered, tool.ran) == (kept, ["hello"])


async def test_a_rule_that_came_with_one_yes_is_not_kept(tmp_path: Path) -> None:
    kept: list[tuple[str, ...]] = []
    policy, tool = Asking(*choices(True)), EchoTool(writes=True)
    async with running(
        tmp_path, answers(), [tool], policy=policy, remember=lambda *rule: kept.append(rule)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(
            DecidePermission(request_id=request.request_id, decision="allow", reach="once", rule="no rule")
        )
        await bench.until("turn.finished")
        assert (decided(bench).rule, decided(bench).reach, kept) == ("", "once", [])
        assert len(bench.of(PermissionRequested)) == 1


@pytest.mark.parametrize("message", ["", "Not now."])
async def test_a_no_keeps_no_rule_whatever_came_with_it(tmp_path: Path, message: str) -> None:
    kept: list[tuple[str, ...]] = []
    policy, tool = Asking(*choices(True)), EchoTool(writes=True)
    async with running(
        tmp_path, answers(), [tool], policy=policy, remember=lambda *rule: kept.append(rule)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        assert (request.reason, request.risk, request.default_no) == ("the test asks", "A risk.", True)
        assert (request.tool, request.verb, request.target) == ("echo", "echo", "hello")
        assert (request.time_limit_s, request.sandbox, request.commands) == (None, "", ())
        bench.submit(
            DecidePermission(
                request_id=request.request_id,
                decision="deny",
                reach="always",
                rule="no rule",
                message=message,
            )
        )
        await bench.until("turn.finished")
        found = decided(bench)
        assert (found.decision, found.reach, found.rule, found.message) == ("deny", "once", "", message)
        assert (found.reason, kept, tool.ran) == ("you said no", [], [])
        assert len(bench.of(PermissionRequested)) == 1
        (end,) = bench.of(ToolFinished)
        words = f' The user says: "{message}"' if message else ""
        told = text(ToolResult(ok=False, content=end.content))
        assert f"The user did not allow this call.{words}" in told
        assert ("The user says" in told) == bool(message)


async def test_where_no_one_is_there_a_question_is_a_no_of_the_engine(tmp_path: Path) -> None:
    tool = EchoTool(writes=True)
    async with running(
        tmp_path, answers(), [tool], policy=Asking(*choices(True)), interactive=False
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        found = decided(bench)
        assert (found.decision, found.decided_by, found.request_id, found.rule_id) == (
            "deny",
            "engine",
            None,
            "test.ask",
        )
        assert (found.reason, tool.ran) == ("the policy asks, and no one is there to answer", [])


async def test_a_question_that_the_policy_itself_refuses_for_want_of_anyone_is_a_no_of_the_engine(
    tmp_path: Path,
) -> None:
    async with running(
        tmp_path, answers(), [EchoTool(writes=True)], policy=RulePolicy().decide, interactive=False
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        found = decided(bench)
    assert (found.decision, found.decided_by, found.rule_id) == ("deny", "engine", "ask.writes")
    assert found.reason.endswith(", and no one is there to answer")


class Quiet(EchoTool):
    """Names nothing of what it is told."""

    def target(self, args: Words) -> str:
        return ""


@pytest.mark.parametrize("writes", [True, False])
async def test_a_call_that_shows_nothing_of_itself_is_asked_about_with_its_arguments(
    tmp_path: Path, writes: bool
) -> None:
    answer = call(("echo", '{"words": "hello\\u202e"}'))
    async with running(tmp_path, [answer, say("Done.")], [Quiet(writes=writes)], policy=Asking()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        [shown] = request.preview
        assert isinstance(shown, TextBlock) and isinstance(shown.text, str)
        assert shown.text == '{\n  "words": "hello\u202e"\n}'
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")


@pytest.mark.parametrize(("tool", "words"), [(EchoTool(), '{"words": "hello"}'), (Quiet(), "{}")])
async def test_arguments_that_the_target_says_do_not_stand_twice(
    tmp_path: Path, tool: EchoTool, words: str
) -> None:
    async with running(tmp_path, [call(("echo", words)), say("Done.")], [tool], policy=Asking()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        assert request.preview == ()
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
