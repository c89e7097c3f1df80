"""What the sandbox refused is offered again outside it, by the same gate: the user alone says so, and it is recorded."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from anyio import Path as AsyncPath

from tests.engine.harness import MODEL, Bench, QuickClock, allow, call, running, say
from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tests.stubs.tool_context import text, tools_of
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink, Sandbox
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, Interrupt, RunUserShell, SubmitPrompt
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment

REFUSED = "The command tried to change /x, which the sandbox does not allow."


class Refusing(LocalEnvironment):
    """A sandbox that refuses every command what it wants, and notes what was asked of it."""

    made: "Refusing"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        Refusing.made = self
        self.specs: list[ExecSpec] = []

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox("fake")

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        self.specs.append(spec)
        result = await super().exec(spec, on_output)
        return result if spec.unsandboxed else replace(result, exit_code=1, blocked=REFUSED)


def run(command: str = "echo hello") -> list[object]:
    return [call(("run_command", json.dumps({"command": command}))), say("Done.")]


def tools() -> Sequence[object]:
    return list(tools_of("shell").values())


def answering(bench: Bench, decision: str, message: str = "", rule: str = "allow run echo *") -> None:
    """Answer each question like this, and ask for a rule for ever: there is none for leaving the sandbox."""

    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            bench.submit(
                DecidePermission(
                    request_id=event.payload.request_id,
                    decision="allow" if decision == "allow" else "deny",
                    message=message,
                    reach="always" if rule else "once",
                    rule=rule,
                )
            )

    bench.on_event = react


def told(bench: Bench) -> str:
    (end,) = bench.of(ToolFinished)
    return text(ToolResult(ok=True, content=end.content))


async def test_a_refused_command_runs_outside_once_the_user_says_so(tmp_path: Path) -> None:
    kept: list[str] = []
    async with running(
        tmp_path, run(), tools(), env=Refusing, remember=lambda rule, _: kept.append(rule)
    ) as bench:
        answering(bench, "allow")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (asked,) = bench.of(PermissionRequested)
        first, second = bench.of(PermissionDecided)
        assert (asked.verb, asked.target, asked.reason) == ("run", "echo hello", REFUSED)
        assert (asked.risk, asked.default_no) == ("The command runs outside the sandbox.", True)
        assert [(one.reach, one.offered, one.explanation) for one in asked.choices] == [
            ("once", True, ""),
            ("session", False, "not available outside the sandbox"),
            ("always", False, "not available outside the sandbox"),
        ]
        assert (first.decided_by, second.decided_by, second.decision, second.rule_id) == (
            "rule",
            "user",
            "allow",
            "sandbox.leave",
        )
        assert (second.reach, second.rule, kept) == ("once", "", [])
        assert second.digest == asked.digest != first.digest
        assert [spec.unsandboxed for spec in Refusing.made.specs] == [False, True]
        assert told(bench) == "[exit 0]\nhello"
        assert bench.recorder.state.granted_rules == ()


class MovedClock(QuickClock):
    """A clock that can be moved on."""

    moved_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.moved_s


async def test_a_calls_time_does_not_include_the_wait_for_the_users_answer(tmp_path: Path) -> None:
    clock = MovedClock()
    async with running(tmp_path, run(), tools(), env=Refusing, clock=clock) as bench:
        answering(bench, "allow")
        answer = bench.on_event

        def think_and_answer(event: Envelope) -> None:
            clock.moved_s += 600.0 if isinstance(event.payload, PermissionRequested) else 0.0
            answer(event)

        bench.on_event = think_and_answer
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        assert 0.0 < end.duration_ms < 600_000


async def test_a_no_keeps_it_inside_and_the_model_is_told_what_was_refused(tmp_path: Path) -> None:
    async with running(tmp_path, run(), tools(), env=Refusing) as bench:
        answering(bench, "deny", "use the workspace")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [spec.unsandboxed for spec in Refusing.made.specs] == [False]
        assert REFUSED in told(bench)
        said = 'The user did not allow this call. The user says: "use the workspace".'
        assert said in told(bench)


async def test_where_no_one_is_there_nothing_runs_outside_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with running(tmp_path, run(), tools(), env=Refusing, interactive=False) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        decided = bench.of(PermissionDecided)[-1]
        assert (decided.decision, decided.decided_by, decided.rule_id) == ("deny", "engine", "sandbox.leave")
        assert [spec.unsandboxed for spec in Refusing.made.specs] == [False]
        assert (
            f"{REFUSED} The command was not run outside the sandbox: the policy asks, and no one is there"
            in told(bench)
        )


@pytest.mark.parametrize("policy", ["accept-edits", "bypass"])
async def test_no_profile_lets_it_out_unasked(tmp_path: Path, policy: PolicyName) -> None:
    async with running(tmp_path, run(), tools(), env=Refusing, policy_name=policy) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        assert [spec.unsandboxed for spec in Refusing.made.specs] == [False]


async def test_stopping_the_turn_while_it_is_asked_ends_the_call(tmp_path: Path) -> None:
    async with running(tmp_path, run(), tools(), env=Refusing) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        assert end.status == "interrupted"
        assert bench.recorder.state.permissions == ()


def judged(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    """As the product's policy judges, but that it allows."""
    found = RulePolicy().decide(tool, effects, facts)
    return Decision("allow", "test.allow", "the test allows it", found.classes)


GRANTED = [
    ("curl https://example.org/", "ask", True),
    ("git fetch origin", "accept-edits", True),
    ("make test", "accept-edits", False),
    ("ls -la", "ask", False),
    ("make test", "bypass", True),
]


@pytest.mark.parametrize(("command", "policy", "network"), GRANTED)
async def test_the_network_is_granted_where_it_was_among_what_was_allowed(
    tmp_path: Path, command: str, policy: PolicyName, network: bool
) -> None:
    class Noting(Refusing):
        async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
            self.specs.append(spec)
            return ExecResult(0, "exited", b"", 0, 1.0)

    async with running(
        tmp_path, run(command), tools(), env=Noting, policy=judged, policy_name=policy
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [spec.allow_network for spec in Refusing.made.specs] == [network]
        assert [spec.unsandboxed for spec in Refusing.made.specs] == [False]


SEALED: list[tuple[str, PolicyName, bool]] = [
    ("python3 tool.py", "accept-edits", True),
    ("git commit -m x", "accept-edits", False),
    ("python3 tool.py", "ask", False),
    ("python3 tool.py", "bypass", False),
]


@pytest.mark.slow_variants
@pytest.mark.parametrize(("command", "policy", "sealed"), SEALED)
async def test_what_only_the_sandbox_bounds_does_not_write_the_repository(
    tmp_path: Path, command: str, policy: PolicyName, sealed: bool
) -> None:
    decide = RulePolicy().decide
    async with running(
        tmp_path, run(command), tools(), env=Refusing, policy=decide, policy_name=policy
    ) as bench:
        answering(bench, "allow", rule="")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert Refusing.made.specs[0].repository_read_only is sealed


WRITTEN = [
    ("cp a.txt <outside>/b.txt", ["<outside>/b.txt"]),
    ("echo x > <outside>/b.txt; touch here", ["<outside>/b.txt"]),
    ("touch here", []),
    ("rm <outside>/b.txt", []),
    ("python3 tool.py <outside>/b.txt", []),
    ("touch <outside>/*.txt", []),
]


@pytest.mark.parametrize(("command", "writable"), WRITTEN)
async def test_what_was_judged_to_be_written_outside_is_open_to_the_allowed_command(
    tmp_path: Path, command: str, writable: list[str]
) -> None:
    class Noting(Refusing):
        async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
            self.specs.append(spec)
            return ExecResult(0, "exited", b"", 0, 1.0)

    script = run(command.replace("<outside>", "/somewhere/else"))
    async with running(tmp_path, script, tools(), env=Noting, policy=judged) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (spec,) = Refusing.made.specs
        assert list(spec.writable_paths) == [
            path.replace("<outside>", "/somewhere/else") for path in writable
        ]


async def test_a_write_outside_that_the_user_allowed_is_asked_about_once() -> None:
    require_sandbox()
    with elsewhere() as base:
        target = base / "outside.txt"

        def confined(root: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        script = run(f"echo mine > {target}")
        async with running(
            base, script, tools(), env=confined, policy=RulePolicy().decide, policy_name="accept-edits"
        ) as bench:
            answering(bench, "allow", rule="")
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            asked = bench.of(PermissionRequested)
            told = [(one.sandbox, one.risk, one.reason) for one in asked]
            assert [one[:2] for one in told] == [("bubblewrap", f"{target} is outside this workspace.")], told
            assert target.read_text() == "mine\n"


async def test_a_removal_outside_that_the_user_allowed_runs_outside_after_one_question() -> None:
    require_sandbox()
    with elsewhere() as base:
        target = AsyncPath(base / "outside.txt")
        await target.write_text("mine\n")
        root = base / "workspace"

        def confined(_: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        root.mkdir()
        async with running(
            base, run(f"rm {target}"), tools(), env=confined, policy=RulePolicy().decide, policy_name="ask"
        ) as bench:
            answering(bench, "allow", rule="")
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            (asked,) = bench.of(PermissionRequested)
            assert asked.reason == f"{target} is outside this workspace"
            assert asked.risk == (
                "It may delete things that /undo cannot restore. The command runs outside the sandbox."
            )
            assert (asked.sandbox, asked.default_no, asked.rerun) == ("", True, "")
            assert [choice.offered for choice in asked.choices] == [True, False, False]
            assert asked.choices[1].explanation == "not available outside the sandbox"
            assert told(bench) == "[exit 0, no output]" and not await target.exists()


async def test_a_folder_outside_that_the_user_allowed_is_created() -> None:
    require_sandbox()
    with elsewhere() as base:
        root = base / "workspace"

        def confined(_: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        root.mkdir()
        script = run(f"mkdir {base}/new && touch {base}/new/a.txt")
        async with running(
            base, script, tools(), env=confined, policy=RulePolicy().decide, policy_name="ask"
        ) as bench:
            answering(bench, "allow", rule="")
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            assert told(bench) == "[exit 0, no output]" and (base / "new" / "a.txt").exists()


async def test_a_program_in_the_sandboxs_own_tmp_is_not_offered_outside() -> None:
    require_sandbox()
    with elsewhere() as base:
        program = f"/tmp/tui-agent-test-{uuid4().hex}"
        script = f"#!/bin/sh\necho x > {base}/outside.txt"
        lines = [f"printf '%s' '{script}' > {program} && chmod +x {program}", program]
        root = base / "workspace"

        def confined(_: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        root.mkdir()
        answers = [call(("run_command", json.dumps({"command": line}))) for line in lines]
        async with running(
            base,
            [*answers, say("Done.")],
            tools(),
            env=confined,
            policy=RulePolicy().decide,
            policy_name="accept-edits",
        ) as bench:
            answering(bench, "allow", rule="")
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            assert bench.of(PermissionRequested) == []
            end, decided = bench.of(ToolFinished)[-1], bench.of(PermissionDecided)[-1]
            note = text(ToolResult(ok=True, content=end.content))
            assert (
                f"The command cannot be run again: {program} does not exist outside the sandbox. "
                f"Create {program} in the workspace instead." in note
            ), note
            assert (decided.decision, decided.rule_id) == ("deny", "sandbox.leave")


async def test_a_file_of_somebody_in_tmp_is_neither_read_nor_written_unasked() -> None:
    require_sandbox()
    with elsewhere() as base, TemporaryDirectory(dir="/tmp") as theirs:
        note = AsyncPath(theirs, "note")
        await note.write_text("theirs\n")

        def confined(root: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        new = f"/tmp/tui-agent-test-{uuid4().hex}"
        lines = [f"echo mine > {note}", f"cat {note}", f"echo mine > {new}", f"cat {new} && rm {new}"]
        script = [call(("run_command", json.dumps({"command": line}))) for line in lines]
        async with running(
            base,
            [*script, say("Done.")],
            tools(),
            env=confined,
            policy=RulePolicy().decide,
            policy_name="accept-edits",
            interactive=False,
        ) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            decided = [one.decision for one in bench.of(PermissionDecided)]
            ends = bench.of(ToolFinished)
            assert decided == ["deny", "deny", "allow", "allow"]
            assert text(ToolResult(ok=True, content=ends[-1].content)) == "[exit 0]\nmine"
            assert await note.read_text() == "theirs\n"
            assert not await AsyncPath(new).exists()


async def test_a_command_starts_in_the_folder_that_was_judged(tmp_path: Path) -> None:
    command = call(("run_command", json.dumps({"command": "ls", "cwd": "sub"})))
    async with running(tmp_path, [command, say("Done.")], tools(), env=Refusing, policy=judged) as bench:
        root = Path(Refusing.made.root)
        (root / "sub").mkdir()
        answering(bench, "deny")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [spec.resolved_cwd for spec in Refusing.made.specs] == [str(root / "sub")]


async def test_a_job_that_was_refused_something_is_not_offered_outside_and_says_so(tmp_path: Path) -> None:
    started = call(("run_command", json.dumps({"command": "echo hello", "background": True})))
    read = call(("read_job_output", json.dumps({"job_id": "job-1", "wait": 20})))
    async with running(
        tmp_path, [started, read, read, say("Done.")], tools(), env=Refusing, policy=allow
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(JobFinished)
        assert end.message.startswith(f"The sandbox: {REFUSED} A background job cannot leave the sandbox.")
        assert end.message in str(bench.of(ToolFinished)[-1])
        assert bench.of(PermissionRequested) == []


async def test_the_users_own_command_runs_outside(tmp_path: Path) -> None:
    async with running(tmp_path, [], tools(), env=Refusing, policy=allow) as bench:
        bench.submit(RunUserShell(command="echo mine"))
        await bench.until("user.shell_finished")
        assert [(spec.unsandboxed, spec.allow_network) for spec in Refusing.made.specs] == [(True, True)]


def test_what_confines_commands_is_part_of_the_state() -> None:
    assert (SessionStateView().sandbox, SessionStateView().no_sandbox_reason, MODEL.profile) == (
        "",
        "",
        "fake",
    )


async def test_a_line_that_changes_the_repository_and_runs_code_is_told_before_it_runs(
    tmp_path: Path,
) -> None:
    answers = run("git add -A && python3 -m unittest -q; git commit -qm x")
    async with running(
        tmp_path, answers, tools(), policy=RulePolicy().decide, env=Refusing, policy_name="accept-edits"
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        assert (end.status, told(bench)) == (
            "failed",
            "Not run: in the sandbox, git add cannot change the repository in a line that also runs unittest. "
            "Run git in a separate call.",
        )
        assert not bench.of(PermissionDecided) and not Refusing.made.specs
