from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tests.engine.talks import Talks, results, rules, spawn, talking, told, tools, turn, use
from tests.stubs.legal_history import check_pairs
from tests.stubs.tool_context import tools_of
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.folds.session.fold import SessionState
from tui_agent.ports.delegate import DelegateTask
from tui_agent.ports.model import ModelFault, UsageChunk
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.commands import Delegate, Interrupt, Steer, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned
from tui_agent.protocol.events.context import MemoryUpdated
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.turn import IterationStarted, UserMessageReceived
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.parts import TextContent, Usage
from tui_agent.protocol.settings import Budgets


def under(bench: Bench, kind: type, agent: str) -> list[Envelope]:
    return [one for one in bench.events if isinstance(one.payload, kind) and one.agent == agent]


async def test_a_delegate_knows_its_task_only_and_its_reader_the_report_only(tmp_path: Path) -> None:
    talks = Talks(
        Main=[spawn("Child: write a.txt"), say("All done.")],
        Child=[use("write_file", path="a.txt", content="hello\n"), say("Wrote a.txt with one line.")],
    )
    async with talking(tmp_path, talks) as bench:
        assert (await turn(bench, "Main: the secret plan is blue")).reason == "finished"
        assert (tmp_path / "workspace" / "a.txt").read_text() == "hello\n"
        child, main = talks.of("Child"), talks.of("Main")
        assert "blue" not in child[0].system + str(child[0].messages) and len(child[0].messages) == 1
        assert child[0].system.startswith("You work on one task.") and "You work" not in main[0].system
        assert [tool.name for tool in child[0].tools] == [
            "read_file",
            "write_file",
            "edit_file",
            "list_directory",
            "glob",
            "grep",
        ]
        assert "hello" not in str(main[1].messages)
        assert told(results(bench)[0]) == {
            "summary": "Wrote a.txt with one line.",
            "files_created": ["a.txt"],
            "files_modified": [],
            "success": True,
        }


async def test_a_delegate_under_the_policy_plan_has_no_writing_tools_and_knows_why(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: look"), say("Done.")], Child=[say("Nothing there.")])
    async with talking(tmp_path, talks, policy_name="plan") as bench:
        await turn(bench)
        [request] = talks.of("Child")
        assert [tool.name for tool in request.tools] == ["read_file", "list_directory", "glob", "grep"]
        assert "Plan policy: you may only read now." in request.system


async def test_the_delegation_is_recorded_under_its_own_agent_with_its_sums(tmp_path: Path) -> None:
    talks = Talks(
        Main=[spawn("Child: look", max_tokens=500), say("Done.")],
        Child=[use("glob", pattern="*"), say("Nothing there.")],
    )
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        spawned, ended = bench.of(AgentSpawned)[0], bench.of(AgentFinished)[0]
        assert isinstance(spawned, AgentSpawned) and isinstance(ended, AgentFinished)
        assert (spawned.parent_agent, spawned.delegate_level, spawned.requested_by) == (
            MAIN_AGENT,
            1,
            "agent",
        )
        assert (spawned.max_tokens, spawned.task) == (500, "Child: look")
        assert [one.payload.max_tokens for one in under(bench, ModelRequested, "subtask-1")] == [500, 500]  # type: ignore[union-attr]
        assert (ended.success, ended.reason, ended.iterations) == (True, "completed", 2)
        assert (ended.model_calls, ended.tool_calls) == (2, 1)
        totals = bench.recorder.state.totals
        assert 0 < ended.input_tokens < totals.input_tokens
        assert bench.recorder.state.delegates == ()


async def test_the_iteration_is_shared_and_the_local_one_is_not(tmp_path: Path) -> None:
    """The example of the glossary: level, iterations begun, iterations of the running agent begun."""
    talks = Talks(Main=[spawn("Child: a"), say("Done.")], Child=[use("glob", pattern="*"), say("There.")])
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        state, seen = SessionState(), []
        for event in bench.events:
            if isinstance(event.payload, IterationStarted):
                view = state.view()
                seen.append((view.delegate_level, view.iteration, view.local_iteration))
            state.apply(event)
        assert seen == [(0, 0, 0), (1, 1, 0), (1, 2, 1), (0, 3, 1)]
        steps = [
            (one.payload.delegate_level, one.payload.iteration, one.payload.local_iteration)
            for one in bench.events
            if isinstance(one.payload, IterationStarted)
        ]
        assert steps == [(0, 1, 1), (1, 2, 1), (1, 3, 2), (0, 4, 2)]


async def test_an_investigator_may_call_its_own_tools_only_and_the_denials_name_their_rule(
    tmp_path: Path,
) -> None:
    found = (
        '{"summary": "It is in a.py.", "evidence": [{"path": "a.py", "lines": "1-2"}], "confidence": "high"}'
    )
    talks = Talks(
        Main=[call(("delegate_readonly", '{"task": "Child: where?"}')), say("Done.")],
        Child=[
            use("write_file", path="a.txt", content="x"),
            use("list_directory", path="."),
            use("read_file", path="a.py"),
            say(found),
        ],
    )
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.py").write_text("a = 1\n")
    async with talking(tmp_path, talks, policy_name="bypass") as bench:
        await turn(bench)
        decided = [one.payload for one in under(bench, PermissionDecided, "investigator-1")]
        assert [(one.decision, one.decided_by, one.rule_id, one.policy) for one in decided] == [  # type: ignore[union-attr]
            ("deny", "rule", "read-only-delegate.writes", "read-only-delegate"),
            ("deny", "rule", "tools.not-allowed", "read-only-delegate"),
            ("allow", "rule", "reads.workspace", "read-only-delegate"),
        ]
        assert not (tmp_path / "workspace" / "a.txt").exists()
        assert [tool.name for tool in talks.of("Child")[0].tools] == ["read_file", "grep"]
        report = told(results(bench, "delegate_readonly")[0])
        assert report["evidence"] == [{"path": "a.py", "lines": "1-2", "what": ""}]
        assert (report["confidence"], report["open_questions"]) == ("high", [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"allowed_tools": ["ask_user"]}, "There is no tool"),
        ({"allowed_tools": ["spawn_subtask"]}, "cannot use spawn_subtask"),
        ({"agent": "nobody"}, "no agent 'nobody'"),
        ({"agent": "verify", "allowed_tools": ["write_file"]}, "cannot use write_file"),
    ],
)
async def test_what_a_delegate_may_not_have_is_refused_before_it_begins(
    tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    talks = Talks(Main=[spawn("Child: go", **arguments), say("Done.")])
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        result = results(bench)[0]
        assert result.status == "failed" and words in str(result.content)
        assert bench.of(AgentSpawned) == []


async def test_for_a_subtask_only_tools_that_it_can_use_are_suggested(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: go", allowed_tools=["spawn_subtaks"]), say("Done.")])
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        words = str(results(bench)[0].content)
        assert "There is no tool 'spawn_subtaks'." in words and "spawn_subtask" not in words


async def test_a_named_agent_has_its_own_prompt_tools_and_budget(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: check", agent="verify"), say("Done.")], Child=[say("It holds.")])
    async with talking(tmp_path, talks) as bench:
        await turn(bench)
        spawned = bench.of(AgentSpawned)[0]
        assert (spawned.name, spawned.tools, spawned.max_iterations) == ("verify", ("read_file",), 3)
        assert talks.of("Child")[0].system.startswith("You check.")


async def test_the_user_gives_a_task_to_a_named_agent(tmp_path: Path) -> None:
    talks = Talks(Child=[say("It holds.")])
    async with talking(tmp_path, talks) as bench:
        bench.submit(Delegate(agent="verify", text="Child: check"))
        assert (await bench.until("turn.finished")).payload.reason == "finished"  # type: ignore[union-attr]
        message, spawned = bench.of(UserMessageReceived)[0], bench.of(AgentSpawned)[0]
        assert isinstance(message, UserMessageReceived) and isinstance(spawned, AgentSpawned)
        assert (message.to_agent, spawned.requested_by, spawned.name) == ("verify", "user", "verify")
        assert [one.agent for one in bench.events if isinstance(one.payload, ModelRequested)] == ["verify-1"]
        check_pairs(bench.recorder.messages())
        bench.submit(Delegate(agent="nobody", text="x"))
        refused = await bench.until_payload(CommandRejected)
        assert "verify" in refused.hint


async def test_a_message_sent_while_the_named_agent_works_is_answered_in_the_same_turn(
    tmp_path: Path,
) -> None:
    async def steer() -> None:
        bench.submit(Steer(text="and number.py"))
        await bench.until("user.steered")

    talks = Talks(Child=[[steer, *say("It holds.")]])
    async with talking(tmp_path, talks) as bench:
        bench.submit(Delegate(agent="verify", text="Child: check"))
        assert (await bench.until("turn.finished")).payload.reason == "finished"  # type: ignore[union-attr]
        asked = [one.agent for one in bench.events if isinstance(one.payload, ModelRequested)]
        assert asked == ["verify-1", "main"]
        assert "and number.py" in str(talks.requests[-1].messages[-1])


async def test_a_delegate_that_never_ends_reports_at_its_limit(tmp_path: Path) -> None:
    endless = [use("glob", pattern=f"{number}*") for number in range(50)]
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=endless)
    async with talking(tmp_path, talks, rules(max_iterations=4)) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert (report["success"], report["reason"]) == (False, "budget")
        assert "4 iterations. Its last calls: glob 0*, glob 1*, glob 2*" in report["summary"]
        assert len(talks.of("Child")) == 4
        assert "last answer" in str(talks.of("Child")[-1].messages[-1])
        assert "last answer" not in str(talks.of("Child")[-2].messages[-1])


async def test_a_secret_in_a_last_call_is_covered_before_the_call_is_cut(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    secret = use("grep", pattern=f"{'x' * 40} {key}")
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=[secret] * 4)
    async with talking(tmp_path, talks, rules(max_iterations=2)) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert "Its last calls: grep x" in report["summary"] and key[:8] not in report["summary"]


async def test_a_delegate_whose_time_is_up_reports(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=[[anyio.sleep_forever]])
    async with talking(tmp_path, talks, rules(timeout_seconds=0.05)) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert (report["success"], report["reason"]) == (False, "budget") and "time" in report["summary"]


async def test_a_delegate_whose_model_fails_reports_and_the_turn_goes_on(tmp_path: Path) -> None:
    refused = [ModelFault("auth", "The key is wrong.")]
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=[refused])
    async with talking(tmp_path, talks) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert (report["success"], report["reason"]) == (False, "failed")
        assert "The key is wrong" in report["summary"]


async def test_what_a_delegate_costs_counts_against_the_sessions_limit(tmp_path: Path) -> None:
    def dear(answer: list[Any]) -> list[Any]:
        return [UsageChunk(Usage(input_tokens=10, output_tokens=1), 0.6), *answer]

    endless = [dear(use("glob", pattern=f"{number}*")) for number in range(9)]
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=endless)
    async with talking(tmp_path, talks, budgets=Budgets(max_cost_usd=1.0)) as bench:
        assert (await turn(bench)).reason == "cost_limit"
        ended = bench.of(AgentFinished)[0]
        assert ended.reason == "budget"
        assert ended.cost_usd == pytest.approx(1.2) and len(talks.of("Child")) == 2


async def test_a_delegate_that_says_nothing_has_failed(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=[say(" ")])
    async with talking(tmp_path, talks) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert (report["success"], report["reason"]) == (False, "failed")


async def test_the_limits_of_the_turn_hold_below_too(tmp_path: Path) -> None:
    endless = [use("glob", pattern=f"{number}*") for number in range(50)]
    talks = Talks(Main=[spawn("Child: go"), say("Done.")], Child=endless)
    async with talking(tmp_path, talks, budgets=Budgets(max_parts=7)) as bench:
        assert (await turn(bench)).reason == "part_limit"
        assert told(results(bench)[0])["reason"] == "budget"
        assert bench.recorder.state.parts <= 8


async def test_the_turns_interruption_ends_its_delegates(tmp_path: Path) -> None:
    talks = Talks(Main=[spawn("Child: go")], Child=[[anyio.sleep_forever]])
    async with talking(tmp_path, talks) as bench:
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("model.requested", 2)
        bench.submit(Interrupt())
        assert (await bench.until("turn.finished")).payload.reason == "interrupted"  # type: ignore[union-attr]
        ended = bench.of(AgentFinished)
        assert [one.reason for one in ended] == ["interrupted"]  # type: ignore[attr-defined]
        kinds = bench.kinds()
        assert kinds.index("model.failed") < kinds.index("agent.finished") < kinds.index("turn.finished")
        assert bench.recorder.state.open_calls == () and bench.recorder.state.delegates == ()
        check_pairs(bench.recorder.messages())


async def test_the_result_of_a_subtask_that_ended_with_its_turn_names_the_changed_files(
    tmp_path: Path,
) -> None:
    talks = Talks(
        Main=[spawn("Child: go"), say("Done.")],
        Child=[use("write_file", path="a.txt", content="1\n2\n"), [anyio.sleep_forever]],
    )
    async with talking(tmp_path, talks) as bench:
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("model.requested", 3)
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        (result,) = results(bench)
        assert result.status == "interrupted"
        assert " The delegate had already changed: a.txt (+2)." in str(result.content)


async def test_a_delegates_question_of_the_policy_is_asked_under_its_name(tmp_path: Path) -> None:
    talks = Talks(
        Main=[spawn("Child: write"), say("Done.")],
        Child=[use("write_file", path="a.txt", content="x"), say("I was not allowed.")],
    )
    async with talking(tmp_path, talks, policy_name="ask") as bench:
        bench.submit(SubmitPrompt(text="Main: go"))
        asked = await bench.until("permission.requested")
        assert asked.agent == "subtask-1"
        bench.submit(Interrupt(scope="agent", agent=asked.agent))
        assert (await bench.until("turn.finished")).payload.reason == "finished"  # type: ignore[union-attr]
        assert bench.recorder.state.permissions == ()


async def test_delegates_below_delegates_only_where_the_settings_say_so(tmp_path: Path) -> None:
    deep = {"allowed_tools": ["spawn_subtask", "read_file"]}
    talks = Talks(
        Main=[spawn("Child: go", **deep), say("Done.")],
        Child=[spawn("Grand: go"), say("It did.")],
        Grand=[use("write_file", path="g.txt", content="g"), say("Written.")],
    )
    async with talking(tmp_path, talks, rules(max_depth=2)) as bench:
        assert (await turn(bench)).reason == "finished"
        levels = [
            (one.payload.name, one.payload.delegate_level)
            for one in bench.events
            if isinstance(one.payload, AgentSpawned)
        ]
        assert levels == [("subtask", 1), ("subtask", 2)]
        assert told(results(bench)[-1])["files_created"] == ["g.txt"]


class Handing(EchoTool):
    """A plugin's own tool that writes, and delegates."""

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        assert ctx.delegate is not None
        report = await ctx.delegate.run(DelegateTask(args.words))
        return ToolResult(ok=True, content=(TextContent(text=report.summary),))


async def test_a_tool_that_writes_and_delegates_does_not_wait_for_itself(tmp_path: Path) -> None:
    handing = Handing("handing", safe=False, writes=True, timeout=None)
    handing.spec = replace(handing.spec, needs=frozenset({"delegate"}))  # type: ignore[misc]
    talks = Talks(
        Main=[use("handing", words="Child: write"), say("Done.")],
        Child=[use("write_file", path="a.txt", content="x"), say("Written.")],
    )
    async with running(tmp_path, [], [*tools(), handing], delegation=rules()) as bench:
        bench.use(talks)
        assert (await turn(bench)).reason == "finished"
        assert "Written." in str(results(bench, "handing")[0].content)


async def test_what_a_delegates_commands_make_and_change_is_in_its_report(tmp_path: Path) -> None:
    script = "echo new > made.txt; echo more >> known.txt; rm gone.txt; echo x > away.txt"
    talks = Talks(
        Main=[spawn("Child: make", allowed_tools=["run_command", "write_file"]), say("Done.")],
        Child=[
            use("run_command", command=script),
            use("write_file", path="own.txt", content="1\n"),
            use("run_command", command="rm away.txt"),
            say("Made."),
        ],
    )
    (tmp_path / "workspace").mkdir()
    for name in ("known.txt", "gone.txt"):
        (tmp_path / "workspace" / name).write_text("one\n")
    shell = [tools_of("shell")["run_command"]]
    async with talking(tmp_path, talks, policy_name="bypass", checkpoints=True, more_tools=shell) as bench:
        assert (await turn(bench)).reason == "finished"
        report = told(results(bench)[0])
        assert sorted(report["files_created"]) == ["made.txt", "own.txt"]
        assert report["files_modified"] == ["known.txt"]
        assert report["files_deleted"] == ["gone.txt"]
        assert "deleted gone.txt" in str(results(bench)[0].display[-1])
        by = {one.payload.path: one.agent for one in bench.events if isinstance(one.payload, FileChanged)}
        assert set(by.values()) == {"subtask-1"}


async def test_what_a_delegate_looks_at_does_not_fill_the_memory_above_it(tmp_path: Path) -> None:
    talks = Talks(
        Main=[use("read_file", path="seen.py"), spawn("Child: look"), say("Done.")],
        Child=[use("read_file", path="looked_at.py"), say("It is there.")],
    )
    (tmp_path / "workspace").mkdir()
    for name in ("seen.py", "looked_at.py"):
        (tmp_path / "workspace" / name).write_text("a = 1\n")
    memory = lambda recorder: WorkingMemory(lambda: recorder.state)  # noqa: E731 - made once there is a recorder
    async with talking(tmp_path, talks, middlewares=[memory]) as bench:
        assert (await turn(bench)).reason == "finished"
        known = str(bench.recorder.state.memory)
        assert "seen.py" in known and "looked_at.py" not in known
        assert under(bench, MemoryUpdated, "subtask-1") == []
