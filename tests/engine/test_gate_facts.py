"""What a call is judged by, and what the question about it holds: the facts, the digest, the deeds, who waits."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import BaseModel

from tests.engine.harness import Bench, EchoTool, PolicyAnswer, Words, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec, FileInfo, OutputSink, Sandbox
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import Preview, ToolContext, ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect, InternalEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.policy import PermissionChoice, PermissionDecided, PermissionRequested
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment

ALWAYS = PermissionChoice(reach="always", rule="allow tool echo")
STEERED, CONFINED = (True, False), ("", "fake")


class Knowing(LocalEnvironment):
    """Knows of itself what a test wants it to."""

    steered = False
    kind = ""
    lost: Collection[str] = ()

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(self.kind)

    def find_workspace_programs(self, names: Collection[str]) -> frozenset[str]:
        return frozenset(names) & {"make"}

    def find_files(self, paths: Collection[str]) -> frozenset[str]:
        return frozenset(paths)

    def git_is_steered(self, folders: Collection[str] = ()) -> bool:
        return self.steered or "vendor/x" in folders

    async def stat(self, path: str) -> FileInfo | None:
        if path in self.lost:
            raise EnvironmentFault(f"{path} cannot be looked at.")
        return await super().stat(path)


class Acting(EchoTool):
    """Has the effects that its words name: a script, or a file."""

    runs = True
    limit: float | None = None

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (RunEffect(script=args.words),) if self.runs else (WriteEffect(path=args.words),)

    async def preview(self, args: Words, env: Environment) -> Preview:
        return Preview((), content=args.words, time_limit_s=self.limit)


def asking(*offers: PermissionChoice, classes: tuple[str, ...] = ()) -> PolicyAnswer:
    return lambda *_: Decision("ask", "test.ask", "the test asks", classes, offers)


def echo(**arguments: str) -> list[object]:
    return [call(("echo", json.dumps(arguments))), say("Done.")]


async def asked(bench: Bench, count: int = 1) -> PermissionRequested:
    return await bench.until_payload(PermissionRequested, count)


@pytest.mark.parametrize("kind", CONFINED)
@pytest.mark.parametrize("steered", STEERED)
async def test_what_is_known_of_the_workspace_is_a_fact_of_the_decision(
    tmp_path: Path, steered: bool, kind: str
) -> None:
    found: list[PolicyFacts] = []

    class Env(Knowing):
        pass

    Env.steered, Env.kind = steered, kind

    def noting(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        found.append(facts)
        return Decision("allow", "test", "the test allows it")

    calls = [
        ("echo", json.dumps({"words": words}))
        for words in ("make > out/a", "git status", "cat ~/b link/c", "git -C vendor/x log")
    ]
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "link").symlink_to(tmp_path / "elsewhere")
    async with running(
        tmp_path, [call(*calls), say("Done.")], [Acting()], policy=noting, env=Env, policy_name="accept-edits"
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert {(one.policy, one.workspace, one.sandboxed) for one in found} == {
        ("accept-edits", str(tmp_path / "workspace"), bool(kind))
    }
    assert [sorted(one.workspace_programs) for one in found] == [["make"], [], [], []]
    assert [one.git_is_steered for one in found] == [False, steered, False, True]
    places = {path: place for one in found for path, place in one.resolved.items()}
    assert places["out/a"] == str(tmp_path / "workspace" / "out" / "a")
    assert places["~/b"] == str((Path.home() / "b").resolve())
    assert places["link/c"] == str(tmp_path / "elsewhere" / "c")


async def test_a_folder_named_like_a_home_is_one_to_a_tool_that_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "workspace" / "~").mkdir(parents=True)
    found: list[PolicyFacts] = []

    def noting(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
        found.append(facts)
        return Decision("allow", "test", "the test allows it")

    tool = Acting()
    tool.runs = False
    async with running(tmp_path, echo(words="~/b"), [tool], policy=noting) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert found[0].resolved["~/b"] == str(tmp_path / "workspace" / "~" / "b")


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize(("limit", "told"), [(20.0, 20.0), (None, 30.0)])
async def test_only_what_runs_says_how_long_it_may_and_what_confines_it(
    tmp_path: Path, runs: bool, limit: float | None, told: float
) -> None:
    class Env(Knowing):
        kind = "fake"

    tool = Acting()
    tool.runs, tool.limit = runs, limit
    async with running(tmp_path, echo(words="make"), [tool], policy=asking(), env=Env) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        assert (request.time_limit_s, request.sandbox) == ((told, "fake") if runs else (None, ""))
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")


async def test_the_agent_waits_for_the_answer_and_then_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path, echo(words="make"), [Acting()], policy=asking()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        assert bench.recorder.state.agent_state == "waiting"
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
        payloads = [event.payload for event in bench.events]
        states = [one for one in payloads if isinstance(one, AgentStateChanged | PermissionDecided)]
        number = next(at for at, one in enumerate(states) if isinstance(one, PermissionDecided))
        around = states[number - 2 : number]
        told = [(one.state, one.reason) for one in around if isinstance(one, AgentStateChanged)]
        assert told == [("waiting", "echo make"), ("running", "")]


async def test_what_would_be_new_is_told_of_the_first_files_and_never_guessed(tmp_path: Path) -> None:
    class Env(Knowing):
        lost = ("f03",)

    names = [f"f{number:02}" for number in range(25)]
    script = "; ".join(f"echo > {name}" for name in names)
    async with running(tmp_path, echo(words=script), [Acting()], policy=asking(), env=Env) as bench:
        (tmp_path / "workspace" / "f01").write_text("there")
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
    told = [one.target for deed in request.commands for one in deed.effects if one.verb == "writes"]
    known = {"f01", "f03", *names[20:]}
    assert told == [name if name in known else f"{name}, a new file" for name in names]


class Pair(BaseModel):
    one: str = ""
    two: str = ""


class PairTool(EchoTool):
    """Two arguments, of which neither effects nor preview tell anything."""

    def __init__(self) -> None:
        super().__init__(safe=False)
        self.spec = replace(self.spec, args=Pair)  # type: ignore[misc]

    def target(self, args: Pair) -> str:  # type: ignore[override]
        return "a pair"

    def effects(self, args: Pair) -> tuple[Effect, ...]:  # type: ignore[override]
        return (InternalEffect(subject="pair"),)

    async def preview(self, args: Pair, env: Environment) -> Preview:  # type: ignore[override]
        return Preview(())

    async def run(self, args: Pair, ctx: ToolContext) -> ToolResult:  # type: ignore[override]
        return ToolResult(ok=True, content=(), summary="done")


async def test_a_digest_is_of_the_arguments_and_not_of_their_order(tmp_path: Path) -> None:
    texts = (
        '{"one": "a", "two": "b"}',
        '{"two": "b", "one": "a"}',
        '{"one": "b", "two": "a"}',
        '{"one": "\\ud800"}',
    )
    answers = [call(*(("echo", text) for text in texts)), say("Done.")]
    async with running(tmp_path, answers, [PairTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        decided = bench.of(PermissionDecided)
        first, again, other, odd = (one.digest for one in decided)
        assert first == again and len({first, other, odd}) == 3


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_only_a_yes_to_what_has_changed_is_asked_again(tmp_path: Path, decision: str) -> None:
    looks: list[str] = []

    class Changing(Acting):
        async def preview(self, args: Words, env: Environment) -> Preview:
            looks.append(args.words)
            return Preview((), content="first" if len(looks) == 1 else "later")

    tool = Changing()
    async with running(tmp_path, echo(words="make"), [tool], policy=asking()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        yes = decision == "allow"
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow" if yes else "deny"))
        if yes:
            second = await asked(bench, 2)
            bench.submit(DecidePermission(request_id=second.request_id, decision="allow"))
        await bench.until("turn.finished")
        (decided,) = bench.of(PermissionDecided)
        assert (decided.decision, tool.ran) == (decision, ["make"] if yes else [])
        assert (len(bench.of(PermissionRequested)), decided.digest == request.digest) == (
            1 + yes,
            not yes,
        )


async def test_a_rule_for_always_lasts_for_the_session_where_none_can_be_kept(tmp_path: Path) -> None:
    tool = Acting()
    async with running(tmp_path, echo(words="make"), [tool], policy=asking(ALWAYS), remember=None) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach="always"))
        await bench.until("turn.finished")
        (decided,) = bench.of(PermissionDecided)
        assert (decided.rule, decided.reach, tool.ran) == (ALWAYS.rule, "session", ["make"])
        assert bench.recorder.state.granted_rules == (ALWAYS.rule,)


async def test_what_cannot_be_shown_is_asked_about_and_says_so(tmp_path: Path) -> None:
    class Broken(Acting):
        async def preview(self, args: Words, env: Environment) -> Preview:
            raise EnvironmentFault("the disk is gone")

    tool = Broken()
    async with running(tmp_path, echo(words="make"), [tool], policy=asking()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        assert "No preview: the disk is gone" in str(request.preview)
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow"))
        await bench.until("turn.finished")
        assert tool.ran == ["make"]


async def test_what_was_allowed_outside_is_named_in_order_and_a_sibling_is_outside(tmp_path: Path) -> None:
    class Noting(Knowing):
        specs: ClassVar[list[ExecSpec]] = []

        async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
            self.specs.append(spec)
            return ExecResult(0, "exited", b"", 0, 1.0)

    names = ("workspace2/z", "workspace2/a", "workspace2/m", "workspace/in")
    script = "; ".join(f"echo > {tmp_path / name}" for name in names)
    answers = [call(("run_command", json.dumps({"command": script}))), say("Done.")]
    async with running(tmp_path, answers, list(tools_of("shell").values()), env=Noting) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [spec.writable_paths for spec in Noting.specs] == [
            tuple(str(tmp_path / "workspace2" / name) for name in ("a", "m", "z"))
        ]


POLICIES: tuple[PolicyName, ...] = ("ask", "accept-edits", "plan")


@pytest.mark.parametrize("name", POLICIES)
async def test_a_decision_names_the_profile_that_held(tmp_path: Path, name: PolicyName) -> None:
    async with running(tmp_path, echo(words="a"), [EchoTool()], policy_name=name) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (decided,) = bench.of(PermissionDecided)
        assert decided.policy == name


async def test_the_question_tells_of_programs_that_the_repository_names(tmp_path: Path) -> None:
    class Env(Knowing):
        steered = True

    async with running(tmp_path, echo(words="git status"), [Acting()], policy=asking(), env=Env) as bench:
        bench.submit(SubmitPrompt(text="go"))
        request = await asked(bench)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny"))
        await bench.until("turn.finished")
    (deed,) = request.commands
    told = [f"{one.verb} {one.target}" for one in deed.effects]
    assert told == ["runs programs set in this repository's git configuration"]
