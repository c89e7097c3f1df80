"""A command that wanted files with secrets runs again with them, in the sandbox: the user alone says so, and it is
recorded for exactly these files."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, PolicyAnswer, call, running, say
from tests.stubs.sandboxed import git
from tests.stubs.tool_context import text, tools_of
from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink, Sandbox, SecretFile, WorkspaceScan
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested, Reach
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment

SAID = "The command tried to read .env and keys, which may hold secrets."
RISK = "The command runs again in the sandbox and can read .env and keys. The model sees the output."
KEPT = " “Always” saves this permission in your config.toml ([sandbox] readable)."


class Wanting(LocalEnvironment):
    """A sandbox in which every command wants two files, until both are shown to it."""

    made: "Wanting"
    writable: tuple[str, ...] = ()

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        Wanting.made = self
        self.specs: list[ExecSpec] = []

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox("fake")

    def files(self) -> tuple[SecretFile, ...]:
        return tuple(
            SecretFile(name, f"{self.root}/{name}", is_writable=name in self.writable)
            for name in (".env", "keys/")
        )

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        self.specs.append(spec)
        result = await super().exec(spec, on_output)
        wanted = tuple(one for one in self.files() if one.path.rstrip("/") not in spec.readable_secrets)
        return replace(result, exit_code=1, blocked=SAID, needed_secrets=wanted) if wanted else result


Remember = Callable[[Sequence[str]], None]


async def ran(
    base: Path,
    answers: Sequence[tuple[str, Reach, str]],
    *,
    kept: Remember | None = None,
    interactive: bool = True,
    look: Callable[[Bench, str], None] = lambda *_: None,
) -> Bench:
    """`echo hello`, each question about it answered by a decision, its reach and a rule."""
    script = [call(("run_command", json.dumps({"command": "echo hello"}))), say("Done.")]
    async with running(
        base,
        script,
        list(tools_of("shell").values()),
        env=Wanting,
        policy=RulePolicy().decide,
        policy_name="accept-edits",
        interactive=interactive,
        remember_readable=kept,
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        for count, (decision, reach, rule) in enumerate(answers, 1):
            request = await bench.until_payload(PermissionRequested, count)
            bench.submit(
                DecidePermission(
                    request_id=request.request_id,
                    decision="allow" if decision == "allow" else "deny",
                    reach=reach,
                    rule=rule,
                )
            )
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        look(bench, text(ToolResult(ok=True, content=end.content)))
        return bench


def questions(bench: Bench) -> list[PermissionRequested]:
    return bench.of(PermissionRequested)


def decisions(bench: Bench) -> list[PermissionDecided]:
    return bench.of(PermissionDecided)


def rule() -> str:
    return f"sandbox readable {Wanting.made.root}/.env {Wanting.made.root}/keys"


async def test_a_yes_opens_these_files_and_nothing_else(tmp_path: Path) -> None:
    def look(bench: Bench, told: str) -> None:
        assert told == "[exit 0]\nhello"
        assert bench.recorder.state.granted_rules == ()

    bench = await ran(tmp_path, [("allow", "once", "")], look=look)
    first, second = Wanting.made.specs
    opened = tuple(one.path.rstrip("/") for one in Wanting.made.files())
    assert (first.readable_secrets, second.readable_secrets) == ((), opened)
    assert (second.unsandboxed, second.allow_network) == (False, first.allow_network)
    (asked,) = questions(bench)
    assert (asked.reason, asked.risk, asked.default_no, asked.rule_error) == (SAID, RISK, True, "")
    assert (asked.target, asked.sandbox) == ("echo hello", "fake")
    before, after = decisions(bench)
    assert (after.decision, after.decided_by, after.rule_id, after.reach) == (
        "allow",
        "user",
        "sandbox.open",
        "once",
    )
    assert after.digest == asked.digest != before.digest


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_is_offered_is_for_once_for_the_session_and_where_it_can_be_kept_for_always(
    tmp_path: Path, keeps: bool
) -> None:
    kept: list[Sequence[str]] = []
    remember: Remember | None = kept.append if keeps else None
    (asked,) = questions(await ran(tmp_path, [("deny", "once", "")], kept=remember))
    assert asked.risk == RISK + KEPT * keeps
    assert [(one.reach, one.offered, one.rule) for one in asked.choices] == [
        ("once", True, ""),
        ("session", True, rule()),
        ("always", keeps, rule() if keeps else ""),
    ]
    assert [one.explanation for one in asked.choices] == [
        "",
        "commands may read the files",
        "written to your config.toml" if keeps else "not available: it cannot be saved",
    ]
    assert kept == []


@pytest.mark.parametrize(
    ("writable", "access", "permission"),
    [
        ((), "can read .env and keys.", "commands may read the files"),
        ((".env", "keys/"), "can read and change .env and keys.", "commands may read and change the files"),
        (
            ("keys/",),
            "can read .env and keys, and change keys.",
            "commands may read the files, and change keys",
        ),
    ],
)
async def test_the_question_says_which_files_the_command_can_change(
    tmp_path: Path, writable: tuple[str, ...], access: str, permission: str
) -> None:
    Wanting.writable = writable
    try:
        (asked,) = questions(await ran(tmp_path, [("deny", "once", "")]))
    finally:
        Wanting.writable = ()
    assert f"again in the sandbox and {access}" in asked.risk
    assert asked.choices[1].explanation == permission


@pytest.mark.parametrize(("reach", "named"), [("session", False), ("session", True), ("always", False)])
async def test_what_was_opened_stays_open_for_the_session_and_is_kept_for_always(
    tmp_path: Path, reach: Reach, named: bool
) -> None:
    kept: list[Sequence[str]] = []

    def look(bench: Bench, told: str) -> None:
        assert bench.recorder.state.granted_rules == (rule(),)

    (tmp_path / "workspace").mkdir()
    words = f"sandbox readable {tmp_path}/workspace/.env {tmp_path}/workspace/keys" if named else ""
    bench = await ran(tmp_path, [("allow", reach, words)], kept=kept.append, look=look)
    assert decisions(bench)[-1].rule == rule()
    opened = tuple(one.path.rstrip("/") for one in Wanting.made.files())
    assert kept == [opened] * (reach == "always")


async def test_where_it_cannot_be_kept_it_holds_for_the_session_and_why_is_told(tmp_path: Path) -> None:
    def broken(paths: Sequence[str]) -> None:
        raise ConfigError("The file is read-only.", hint="Change its mode.")

    def look(bench: Bench, told: str) -> None:
        assert told == "[exit 0]\nhello"
        assert bench.recorder.state.granted_rules == (rule(),)

    bench = await ran(tmp_path, [("allow", "always", "")], kept=broken, look=look)
    (fault,) = bench.of(ErrorRaised)
    assert (fault.where, fault.message, fault.hint) == (
        "configuration",
        "The file is read-only.",
        "Change its mode.",
    )


async def test_a_no_leaves_them_shut_and_the_model_is_told(tmp_path: Path) -> None:
    def look(bench: Bench, told: str) -> None:
        assert (
            f"{SAID} The command was not run again with access to .env and keys: The user did not allow this call."
            in told
        )

    bench = await ran(tmp_path, [("deny", "once", "")], look=look)
    assert [one.decision for one in decisions(bench)] == ["allow", "deny"]
    assert len(Wanting.made.specs) == 1


async def test_an_answer_with_another_rule_is_asked_for_again_and_says_why(tmp_path: Path) -> None:
    bench = await ran(tmp_path, [("allow", "session", "sandbox readable /etc/shadow"), ("allow", "once", "")])
    first, second = questions(bench)
    assert (first.rule_error, second.rule_error) == (
        "",
        "You cannot edit the list of files here.",
    )
    assert first.digest == second.digest
    assert len(decisions(bench)) == 2 and len(Wanting.made.specs) == 2


async def test_a_no_with_another_rule_is_a_no(tmp_path: Path) -> None:
    bench = await ran(tmp_path, [("deny", "session", "sandbox readable /etc/shadow")])
    assert len(questions(bench)) == 1 and len(Wanting.made.specs) == 1
    assert (decisions(bench)[-1].decision, decisions(bench)[-1].rule) == ("deny", "")


async def test_where_no_one_is_there_they_stay_shut_and_the_way_to_open_them_is_named(
    tmp_path: Path,
) -> None:
    def look(bench: Bench, told: str) -> None:
        assert (
            f"{SAID} The command was not run again with access to .env and keys: the policy asks, and no one is there to answer."
            in told
        )
        assert "Use --readable to let commands read files." in told

    bench = await ran(tmp_path, [], interactive=False, look=look)
    last = decisions(bench)[-1]
    assert (last.decision, last.decided_by, last.rule_id) == ("deny", "engine", "sandbox.open")
    assert (questions(bench), len(Wanting.made.specs)) == ([], 1)


class Holding(Wanting):
    """One that knows of two files with secrets, one of them in a folder."""

    def scan(self) -> WorkspaceScan:
        return WorkspaceScan(self.files())


def noted(found: list[PolicyFacts]) -> PolicyAnswer:
    def answer(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        found.append(facts)
        return Decision("allow", "test", "the test allows it")

    return answer


async def test_a_command_is_judged_by_the_files_with_secrets_that_are_not_opened(tmp_path: Path) -> None:
    found: list[PolicyFacts] = []
    command = call(("run_command", json.dumps({"command": "echo hello"})))
    tools = list(tools_of("shell").values())
    async with running(
        tmp_path, [command, command, say("Done.")], tools, env=Holding, policy=noted(found)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        assert [one.name for one in found[-1].secrets] == [".env", "keys/"]
        bench.submit(
            DecidePermission(request_id=request.request_id, decision="allow", reach="session", rule="")
        )
        await bench.until("turn.finished")
    assert found[-1].session_rules == (rule(),) and found[-1].secrets == ()


async def test_what_runs_no_command_is_not_judged_by_them(tmp_path: Path) -> None:
    found: list[PolicyFacts] = []
    answers = [call(("echo", '{"words": "a"}')), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], env=Holding, policy=noted(found)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert [one.secrets for one in found] == [()]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("command", "policy", "looks", "shown"),
    [
        ("cat a.txt", "ask", True, False),
        ("git log a.txt", "ask", False, False),
        ("cp a.txt b.txt", "accept-edits", False, False),
        ("cp a.txt b.txt", "ask", False, True),
        ("cat a.txt", "bypass", True, True),
        ("cp a.txt b.txt", "bypass", False, True),
    ],
)
async def test_what_was_asked_about_or_nobody_asks_about_reads_what_it_names(
    tmp_path: Path, command: str, policy: PolicyName, looks: bool, shown: bool
) -> None:
    git(tmp_path, "init", "-q")
    script = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
    tools = list(tools_of("shell").values())
    async with running(
        tmp_path, script, tools, env=Wanting, policy=RulePolicy().decide, policy_name=policy
    ) as bench:

        def react(event: Envelope) -> None:
            if isinstance(event.payload, PermissionRequested):
                first = not Wanting.made.specs
                bench.submit(
                    DecidePermission(
                        request_id=event.payload.request_id, decision="allow" if first else "deny"
                    )
                )

        bench.on_event = react
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    spec = Wanting.made.specs[0]
    assert (spec.show_secrets_as_empty, f"{Wanting.made.root}/a.txt" in spec.readable_secrets) == (
        looks,
        shown,
    )
