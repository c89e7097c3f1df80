"""A command that is not understood is tried read-only in the sandbox first, if the user switched that on; one that fails there
is asked about, and both decisions are recorded."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import Bench, PolicyAnswer, call, running, say
from tests.engine.hooking import Asked, says
from tests.stubs.sandboxed import confinement, elsewhere, git, require_sandbox
from tests.stubs.tool_context import text, tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.workspace.local.environment import LocalEnvironment

READS = "./look.sh"
WRITES = "./change.sh"
PRIVATE = "cat ../home/diary.txt"


def not_understood(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    reason = "it is not known what ./look.sh does"
    if not facts.interactive:
        return Decision("deny", "ask.commands", reason, nobody_to_ask=True, can_try_in_sandbox=True)
    return Decision("ask", "ask.commands", reason, can_try_in_sandbox=True)


def dangerous(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return Decision("ask", "ask.commands", "it deletes", can_try_in_sandbox=False)


def answering(bench: Bench, decision: str) -> None:
    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            answer = "allow" if decision == "allow" else "deny"
            bench.submit(DecidePermission(request_id=event.payload.request_id, decision=answer))

    bench.on_event = react


async def run_in_sandbox(
    base: Path, command: str, answer: str = "deny", **given: object
) -> tuple[list[PermissionRequested], list[PermissionDecided], str, Path]:
    """Run one command by an engine in a real sandbox; its questions, decisions and what the model was told."""
    require_sandbox()
    root = base / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    for name, line in (("look.sh", "cat a.txt"), ("change.sh", "echo changed > a.txt")):
        script = root / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
    git(root, "init", "-q")
    (base / "home").mkdir(exist_ok=True)
    (base / "home" / "diary.txt").write_text("dear diary\n")

    def confined(root: Path) -> LocalEnvironment:
        return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

    answers = [
        call(("run_command", json.dumps({"command": command, **given.pop("arguments", {})}))),
        say("Done."),
    ]  # type: ignore[dict-item]
    settings = {"policy": not_understood, "try_confined": True, **given}
    async with running(base, answers, list(tools_of("shell").values()), env=confined, **settings) as bench:  # type: ignore[arg-type]
        answering(bench, answer)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        end = bench.of(ToolFinished)[-1]
        asked = bench.of(PermissionRequested)
        decided = bench.of(PermissionDecided)
        return asked, decided, text(ToolResult(ok=True, content=end.content)), root


async def test_a_command_that_only_reads_runs_without_a_question() -> None:
    with elsewhere() as base:
        asked, decided, told, _ = await run_in_sandbox(base, READS)
    assert asked == []
    assert [(each.decision, each.rule_id) for each in decided] == [("allow", "sandbox.try")]
    assert "it is not known what ./look.sh does; the command is tried read-only" in decided[0].reason
    assert told.endswith("\na")


async def test_one_that_writes_is_asked_about_with_what_it_tried() -> None:
    with elsewhere() as base:
        asked, decided, _, root = await run_in_sandbox(base, WRITES, "allow")
        assert (root / "a.txt").read_text() == "changed\n"
    (question,) = asked
    why = "it was tried read-only in the sandbox, and failed: the command tried to change the workspace, which is read-only for this command"
    assert question.reason.startswith(why)
    assert [(each.rule_id, each.decided_by) for each in decided] == [
        ("sandbox.try", "rule"),
        ("ask.commands", "user"),
    ]


async def test_one_that_is_refused_after_its_trial_changed_nothing() -> None:
    with elsewhere() as base:
        asked, decided, told, root = await run_in_sandbox(base, WRITES, "deny")
        assert (root / "a.txt").read_text() == "a\n"
    assert len(asked) == 1
    assert decided[-1].decision == "deny"
    assert "The user did not allow this call" in told


async def test_a_trial_sees_none_of_the_users_own_files() -> None:
    with elsewhere() as base:
        asked, _, told, _ = await run_in_sandbox(base, PRIVATE)
    assert len(asked) == 1
    assert "dear diary" not in told


@pytest.mark.parametrize("policy", [not_understood, RulePolicy().decide], ids=["a stub", "the policy itself"])
async def test_where_nobody_can_be_asked_a_command_that_only_reads_runs(policy: PolicyAnswer) -> None:
    with elsewhere() as base:
        asked, decided, told, _ = await run_in_sandbox(base, READS, interactive=False, policy=policy)
    assert asked == []
    assert [(each.decision, each.rule_id, each.decided_by) for each in decided] == [
        ("allow", "sandbox.try", "rule")
    ]
    assert told.endswith("\na")


@pytest.mark.parametrize("policy", [not_understood, RulePolicy().decide], ids=["a stub", "the policy itself"])
async def test_where_nobody_can_be_asked_a_failed_trial_is_a_no(policy: PolicyAnswer) -> None:
    with elsewhere() as base:
        asked, decided, told, root = await run_in_sandbox(base, WRITES, interactive=False, policy=policy)
        assert (root / "a.txt").read_text() == "a\n"
    assert asked == []
    assert [(each.decision, each.decided_by) for each in decided] == [("allow", "rule"), ("deny", "engine")]
    why = "it was tried read-only in the sandbox, and failed: the command tried to change the workspace"
    assert decided[-1].reason.startswith(why)
    assert (told.count(why), told.count("Not allowed")) == (1, 1)


@pytest.mark.parametrize("interactive", [True, False])
async def test_what_a_hook_asks_about_is_not_tried(interactive: bool) -> None:
    hook = Asked("before_tool", says("ask", "look at this one")).hook
    with elsewhere() as base:
        asked, decided, _, _ = await run_in_sandbox(base, READS, interactive=interactive, hooks=[hook])
    assert len(asked) == interactive
    assert [each.decision for each in decided] == ["deny"]


@pytest.mark.parametrize(
    "given",
    [{"try_confined": False}, {"policy": dangerous}, {"arguments": {"background": True}}],
    ids=["switched off", "known to delete", "a background job"],
)
async def test_nothing_is_tried_where_it_is_not_wanted(given: dict[str, object]) -> None:
    with elsewhere() as base:
        asked, decided, _, _ = await run_in_sandbox(base, READS, **given)
    assert len(asked) == 1
    assert [each.decided_by for each in decided] == ["user"]
