"""A line that the policy takes for a reading one, and that writes: the sandbox lets it change nothing of the workspace."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tests.stubs.sandboxed import confinement, elsewhere, git, require_sandbox
from tests.stubs.tool_context import text, tools_of
from tui_agent.policy.decision.call_classes import READ_ONLY, WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.job import JobFinished
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName
from tui_agent.workspace.local.environment import LocalEnvironment


def misjudged(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    """Takes every line for one that only reads."""
    return Decision("allow", "reads.command", "it only reads", (READ_ONLY,))


def taken_for_a_write(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return Decision("allow", "test.allow", "the test allows it", (WORKSPACE,))


def last_result(bench: Bench) -> str:
    ends = bench.of(ToolFinished)
    return text(ToolResult(ok=True, content=ends[-1].content))


def workspace(base: Path) -> Path:
    root = base / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


LINES = [
    "ls\n\\rm -rf .git/refs .git/objects a.txt",
    "git ls-files | xargs --max-lines rm wc",
    "fd . -x tee 2>/dev/null; : > a.txt",
    "git log -1 --format=%B -U --output=a.txt; echo x >> a.txt",
    "git status; git commit --allow-empty -qm x; rm -rf .git",
]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["plan", "ask", "accept-edits", "bypass", "read-only-delegate"])
@pytest.mark.parametrize("line", LINES)
async def test_a_misjudged_line_changes_neither_files_nor_the_repository(
    line: str, policy: PolicyName
) -> None:
    require_sandbox()
    with elsewhere() as base:
        root = workspace(base)

        def confined(root: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        script = [call(("run_command", json.dumps({"command": line}))), say("Done.")]
        tools = list(tools_of("shell").values())
        async with running(
            base, script, tools, env=confined, policy=misjudged, policy_name=policy, interactive=False
        ) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            assert (
                "The command tried to change the workspace, which is read-only for this command"
                in last_result(bench)
            )
        assert (root / "a.txt").read_text() == "a\n"
        assert git(root, "fsck") == ""
        assert git(root, "log", "--format=%s") == "first\n"
        assert git(root, "status", "--short") == ""


async def test_nor_does_a_misjudged_job(tmp_path: Path) -> None:
    require_sandbox()
    with elsewhere() as base:
        root = workspace(base)

        def confined(root: Path) -> LocalEnvironment:
            return LocalEnvironment(root, confinement=confinement(root, base / "home", base / "records"))

        started = call(("run_command", json.dumps({"command": "rm -rf .git a.txt", "background": True})))
        read = call(("read_job_output", json.dumps({"job_id": "job-1", "wait": 20})))
        tools = list(tools_of("shell").values())
        async with running(
            base, [started, read, say("Done.")], tools, env=confined, policy=misjudged
        ) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("job.finished")
            (end,) = bench.of(JobFinished)
            assert (
                "The command tried to change the workspace, which is read-only for this command"
                in end.message
            )
        assert (root / "a.txt").read_text() == "a\n"
        assert git(root, "fsck") == ""


class SpecRecorder(LocalEnvironment):
    """Records the commands that it is given, and runs nothing."""

    made: "SpecRecorder"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        SpecRecorder.made = self
        self.specs: list[ExecSpec] = []

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        self.specs.append(spec)
        return ExecResult(0, "exited", b"", 0, 1.0)


@pytest.mark.parametrize(
    ("command", "policy", "read_only"),
    [
        ("git status", "ask", True),
        ("rg x", "accept-edits", True),
        ("touch a.txt", "bypass", False),
        ("git commit -m x", "bypass", False),
    ],
)
async def test_what_is_judged_to_write_can_write(
    tmp_path: Path, command: str, policy: PolicyName, read_only: bool
) -> None:
    git(tmp_path, "init", "-q")
    script = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
    tools = list(tools_of("shell").values())
    decide = RulePolicy().decide
    async with running(tmp_path, script, tools, env=SpecRecorder, policy=decide, policy_name=policy) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert [spec.read_only for spec in SpecRecorder.made.specs] == [read_only]


async def test_plan_writes_nothing_whatever_it_was_judged_to_do(tmp_path: Path) -> None:
    script = [call(("run_command", json.dumps({"command": "touch a.txt"}))), say("Done.")]
    tools = list(tools_of("shell").values())
    async with running(
        tmp_path, script, tools, env=SpecRecorder, policy=taken_for_a_write, policy_name="plan"
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert [spec.read_only for spec in SpecRecorder.made.specs] == [True]


@pytest.mark.parametrize(
    ("tools", "way_on"),
    [
        (("shell", "ask"), "present your plan with present_plan; the changes come after its approval."),
        (("shell",), "continue without it, or say what you need."),
    ],
)
@pytest.mark.parametrize("command", ["touch a.txt", "python a.py"])
async def test_a_refused_change_in_plan_mode_names_present_plan_where_it_is_offered(
    tmp_path: Path, tools: tuple[str, ...], way_on: str, command: str
) -> None:
    script = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
    kit = [tool for plugin in tools for tool in tools_of(plugin).values()]
    decide = RulePolicy().decide
    async with running(tmp_path, script, kit, policy=decide, policy_name="plan") as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert last_result(bench).endswith(f"Do not work around it: {way_on}")
