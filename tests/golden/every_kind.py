"""A log with every kind of event at least once: two runs, a revert, a crash between them, faults, a compaction."""

from tests.golden.scribe import SONNET, Scribe, fingerprint
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.display_blocks import MarkdownBlock, TableBlock, TextBlock
from tui_agent.protocol.effects import InternalEffect, ReadEffect, RunEffect, WriteEffect, digest_effects
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPinned,
    ContextReduced,
    ContextRestored,
    ContextStuck,
    ContextTruncated,
    ContextWarned,
    ContextWindowInferred,
    MemoryUpdated,
    RepomapBuilt,
    RepomapUsed,
    Truncation,
)
from tui_agent.protocol.events.env import EnvStarted, EnvStopped
from tui_agent.protocol.events.eval import EvalCaseStarted, EvalScored, TestFinished, VerifierFinished
from tui_agent.protocol.events.files import (
    CheckpointPlanned,
    CheckpointRestored,
    CheckpointRestoreStarted,
    CheckpointTaken,
    FileChanged,
    FileRead,
    PlannedFileChange,
)
from tui_agent.protocol.events.hook import HookRan
from tui_agent.protocol.events.instructions import (
    InstructionFile,
    InstructionsLoaded,
    SkillRecord,
    SkillsLoaded,
)
from tui_agent.protocol.events.job import JobFinished, JobProgress, JobStarted
from tui_agent.protocol.events.model import ModelDelta, ModelFailed, ModelRetried
from tui_agent.protocol.events.plugin import PluginEvent, PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.policy import (
    PermissionChoice,
    PermissionDecided,
    PermissionRequested,
    PermissionRevoked,
)
from tui_agent.protocol.events.session import (
    CommandRejected,
    ErrorRaised,
    ForkChange,
    LogRepaired,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionContextLoaded,
    SessionEnded,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
    SettingsChanged,
    WorkspaceMoved,
)
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered, OfferedCommand
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.protocol.events.turn import (
    QuestionAnswered,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellProgress,
    UserShellStarted,
    UserSteered,
    UserUnqueued,
)
from tui_agent.protocol.ids import AgentId, CallId, JobId, RequestId, RunId, SessionId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent, TextContent, ToolCallPart
from tui_agent.protocol.settings import AgentState, Budgets, SessionSettings
from tui_agent.protocol.stored_text import BlobText

START = 1_711_700_000.0
FIRST_RUN, SECOND_RUN = RunId("run_0000000000a1"), RunId("run_0000000000a2")
APP = '<file path="app.py">\n1\tx = 1\n</file>'
LONG = "".join(f"line {number} of a long output\n" for number in range(400))


def opening(s: Scribe) -> None:
    settings = SessionSettings(model=SONNET, budgets=Budgets(max_cost_usd=2.0))
    s.emit(SessionStarted(workspace="/srv/app", product="tui-agent 0.1.0", settings=settings))
    s.emit(
        SessionForked(
            parent_session=SessionId("ses_0000000000parent"),
            at_seq=40,
            parent_crc="0badcafe",
            changes=ForkChange(
                workspace="/srv/app",
                left_out_folders=(".venv/",),
                model="demo",
                message="Try the other way.",
            ),
        )
    )
    s.emit(RunStarted(run_id=FIRST_RUN, pid=100, client="headless", product="tui-agent 0.1.0", model=SONNET))
    s.emit(PluginLoaded(plugin="files", version="1", source="bundled", contributions=("tool:read_file",)))
    s.emit(PluginFailed(plugin="broken", message="it has no register()", where="/srv/broken"))
    s.emit(EnvStarted(environment="local", root="/srv/app", sandbox="bubblewrap"))
    s.emit(SessionContextLoaded(from_session=SessionId("ses_before"), turns=2, summary="We chose SQLite."))
    s.emit(EvalCaseStarted(suite="smoke", case="fix-it", arm="baseline"))
    s.emit(RepomapBuilt(files=12, skipped=1, partial=False, duration_ms=31.0))
    s.emit(SessionTitled(title="every-kind", titled_by="user"))
    s.emit(WorkspaceMoved(workspace="/srv/app", previous="/srv/app-before"))
    s.emit(SettingsChanged(key="policy", value="accept-edits", previous="ask"))
    s.emit(
        CommandRejected(command="fork", reason="There is nothing to fork yet.", hint="Say something first.")
    )


def first_turn(s: Scribe) -> None:
    image = ImageContent(
        media_type="image/png", blob_sha256=s.log.blobs.put_bytes(b"\x89PNG"), size=4, name="a.png"
    )
    s.emit(UserMessageReceived(text="Look at this.", attachments=(image,)))
    s.emit(TurnStarted(turn=1))
    s.emit(AgentStateChanged(state=AgentState.RUNNING))
    at = s.begin_iteration()
    request = s.ask(900, (("system", 500), ("messages", 400)), ("read_file", "run_command"))
    s.emit(RepomapUsed(query="look", tokens=400, files=("app.py",), injected=True))
    s.emit(ModelDelta(request_id=request, part_kind="reasoning", part_index=0, text="I should "))
    s.emit(ModelDelta(request_id=request, part_kind="text", part_index=1, text="Half an ans"))
    s.emit(
        ModelRetried(
            request_id=request, attempt=1, fault="cut", message="The stream ended early.", wait_s=2.0
        )
    )
    s.wait(2.0)
    read = s.call("read_file", {"path": "app.py"})
    run = s.call("run_command", {"command": "make", "env": {"LONG": LONG}})
    s.emit(ModelDelta(request_id=request, part_kind="tool_call", part_index=2, text="{", name="read_file"))
    s.reply(
        request, thoughts=0, text="I look.", calls=[read, run], usage=(900, 60, 0), cost=0.004, seconds=1.5
    )
    tools(s, read, run)
    s.emit(UserSteered(text="Only the first file, please."))
    s.emit(UserQueued(queue_id=RequestId("queue_1"), text="Then the docs."))
    s.emit(UserQueued(queue_id=RequestId("queue_2"), text="Forget this."))
    s.emit(UserUnqueued(queue_id=RequestId("queue_2")))
    s.emit(MemoryUpdated(blocks={"goal": "look", "open_questions": []}))
    guide = InstructionFile(
        path="AGENTS.md", scope="project", sha256="d" * 64, size=20, tokens=5, text="Run make check once."
    )
    s.emit(InstructionsLoaded(trigger="turn", files=(guide,), order=("AGENTS.md",)))
    pdf = SkillRecord(name="pdf", description="Reads PDF files.", origin="user", path="skills/pdf")
    s.emit(SkillsLoaded(skills=(pdf,)))
    s.end_iteration(at, 8.0)
    delegate_turn(s)
    s.emit(TurnFinished(turn=1, reason="finished", duration_ms=20_000.0))
    s.emit(AgentStateChanged(state=AgentState.IDLE))


def tools(s: Scribe, read: ToolCallPart, run: ToolCallPart) -> None:
    s.called(read, "read", "app.py")
    s.called(run, "run", "make")
    s.allow(read, (ReadEffect(path="app.py"), InternalEffect(subject="notes")))
    s.start(read)
    s.emit(FileRead(path="app.py", digest=fingerprint("a"), size=9, first_line=1, last_line=3, complete=True))
    table = TableBlock(columns=("line", "text"), rows=(("1", "import os"),), align="rl")
    s.finish(read, "1 import os", ms=4.0, summary="3 lines", display=(table,))
    asked(s, run)
    s.wait(1.0)
    hooks(s, run)
    decided(s, run)
    s.emit(PermissionRevoked(rule="allow run make"))
    s.start(run, writes=True)
    s.emit(ToolProgress(call_id=run.call_id, text="compiling\n"))
    ended(s, run)
    jobs(s, run)


def asked(s: Scribe, run: ToolCallPart) -> None:
    effects = (RunEffect(script="make"),)
    s.emit(
        PermissionRequested(
            request_id=RequestId("perm_1"),
            call_id=run.call_id,
            tool="run_command",
            verb="run",
            target="make",
            effects=effects,
            digest=digest_effects("run_command", effects),
            preview=(MarkdownBlock(text="`make`"),),
            choices=(
                PermissionChoice(reach="once", rule="run make"),
                PermissionChoice(reach="always", rule="run *", offered=False, explanation="too wide"),
            ),
            risk="It runs any code.",
            default_no=True,
        )
    )


def hooks(s: Scribe, run: ToolCallPart) -> None:
    s.emit(
        HookRan(
            event="before_tool",
            command="./hooks/check.sh",
            source="user",
            call_id=run.call_id,
            tool=run.name,
            decision="ask",
            reason="make runs the network tests too",
            arguments_changed=True,
            arguments={"command": "make unit"},
            target="make unit",
            context="The unit tests are enough here.",
            exit_code=0,
            duration_ms=41.5,
        )
    )
    s.emit(
        HookRan(
            event="after_turn",
            command="./hooks/tell.sh",
            source="project",
            fault="It ended with 1.",
            exit_code=1,
        )
    )


def decided(s: Scribe, run: ToolCallPart) -> None:
    effects = (RunEffect(script="make"),)
    s.emit(
        PermissionDecided(
            call_id=run.call_id,
            request_id=RequestId("perm_1"),
            decision="allow",
            decided_by="user",
            policy="ask",
            rule_id="ask",
            reason="allowed for this session",
            digest=digest_effects("run_command", effects),
            effects=effects,
            reach="session",
            rule="allow run make",
        )
    )


def ended(s: Scribe, run: ToolCallPart) -> None:
    s.emit(
        FileChanged(
            path="build/out.txt",
            before=None,
            after=fingerprint("out"),
            before_size=0,
            after_size=3,
            mode=0o644,
            author="command",
            added=1,
            removed=0,
            call_id=run.call_id,
        )
    )
    s.wait(1.2)
    s.emit(
        ToolFinished(
            call_id=run.call_id,
            name="run_command",
            status="ok",
            part=s.parts,
            content=(TextContent(text=LONG[:200]),),
            summary="exit 0",
            full_output=s.log.blobs.put_text(LONG),
            duration_ms=1_200.0,
        )
    )
    s.parts += 1
    s.emit(CheckpointTaken(part=s.parts - 1, commit="c" * 40, paths=("build/out.txt",)))


def jobs(s: Scribe, run: ToolCallPart) -> None:
    """One that ends by itself, and one that is lost with the process."""
    first, second = JobId("job-1"), JobId("job-2")
    s.emit(JobStarted(job_id=first, command="make serve", cwd="web", call_id=run.call_id))
    s.emit(JobProgress(job_id=first, text="listening on :8000\n", size=19))
    s.emit(JobStarted(job_id=second, command="make watch", call_id=run.call_id))
    s.wait(0.5)
    s.emit(
        JobFinished(
            job_id=first,
            end="exited",
            exit_code=1,
            output="listening on :8000\n",
            size=19,
            duration_ms=500.0,
        )
    )


def delegate_turn(s: Scribe) -> None:
    at = s.begin_iteration()
    part = s.call("spawn_subtask", {"prompt": "Count the files."})
    request = s.ask(1_400, (("system", 500), ("messages", 900)), ("spawn_subtask",))
    s.reply(request, calls=[part], usage=(1_400, 30, 900), cost=0.002, seconds=1.0)
    s.called(part, "[Subtask]", "Count the files.")
    s.allow(part)
    s.start(part)
    s.agent = AgentId("helper-1")
    s.emit(
        AgentSpawned(
            name="counter",
            parent_agent=AgentId("main"),
            delegate_level=1,
            task="Count the files.",
            tools=("glob",),
            model=SONNET,
            call_id=part.call_id,
            policy="read-only-delegate",
            max_tokens=4_096,
            max_iterations=20,
        )
    )
    inner = s.begin_iteration(level=1)
    request = s.ask(300, (("system", 200), ("messages", 100)), ("glob",))
    s.reply(request, text="There are 12.", usage=(300, 10, 0), cost=0.001, seconds=1.0)
    s.end_iteration(inner, 1.0, "message")
    s.emit(
        AgentFinished(
            success=True,
            summary="There are 12.",
            reason="completed",
            iterations=1,
            model_calls=1,
            input_tokens=300,
            output_tokens=10,
            cost_usd=0.001,
            duration_ms=1_000.0,
        )
    )
    s.agent = AgentId("main")
    s.finish(part, "There are 12.", ms=1_000.0, summary="1 call")
    s.emit(
        TodoUpdated(
            items=(
                TodoItem(id="1", content="Count", status="completed"),
                TodoItem(id="2", content="Tell", parent="1"),
            )
        )
    )
    s.emit(
        QuestionAsked(
            question_id=RequestId("q_1"), text="Which docs?", form="choice", options=("api", "guide")
        )
    )
    s.emit(QuestionAnswered(question_id=RequestId("q_1"), answer="guide", choice=1))
    s.emit(TestFinished(framework="pytest", command="pytest", passed=3, failed=0, skipped=1, exit_code=0))
    s.end_iteration(at, 3.5, "delegate")


def second_turn(s: Scribe) -> None:
    """The queued message; its call is lost with the process."""
    s.emit(UserMessageReceived(text="Then the docs.", source="queue", queue_id=RequestId("queue_1")))
    s.emit(TurnStarted(turn=2))
    s.begin_iteration()
    part = s.call("edit_file", {"path": "docs.md"})
    request = s.ask(90_000, (("system", 500), ("messages", 89_500)), ("edit_file",))
    s.emit(ContextWarned(level="over", fraction=0.45))
    s.reply(request, text="I edit.", calls=[part], usage=(90_000, 40, 80_000), cost=0.03, seconds=1.0)
    s.called(part, "edit", "docs.md")
    s.allow(part, (WriteEffect(path="docs.md"),), "allow edits")
    s.start(part, writes=True)
    s.wait(60.0)
    s.emit(LogRepaired(moved_bytes=311, side_file="events.torn-1"))
    s.emit(RunStarted(run_id=SECOND_RUN, pid=200, client="app", product="tui-agent 0.1.0", model=SONNET))
    s.emit(RunResumed(run_id=SECOND_RUN, after_seq=s.log.last_seq, clean=False, closed_calls=1))
    s.emit(
        ToolFinished(
            call_id=part.call_id,
            name="edit_file",
            status="lost",
            part=None,
            content=(TextContent(text="The program ended while this ran; look before you repeat it."),),
            summary="lost",
        )
    )
    s.emit(JobFinished(job_id=JobId("job-2"), end="lost"))
    s.emit(TurnFinished(turn=2, reason="interrupted", detail="The program ended.", duration_ms=1_000.0))


def context_told(s: Scribe) -> None:
    """A summary that is taken back, a message that is to be kept, an output that is put away, and no way on."""
    s.emit(ContextRestored(compaction=s.log.last_seq))
    s.emit(ContextPinned(seqs=(5,)))
    whole = s.log.blobs.put_text("a line of output\n" * 1_000)
    assert isinstance(whole, BlobText)
    artifact = Artifact.from_blob("run_command", whole, lines=1_000, preview_size=0)
    s.emit(
        ContextReduced(
            call_ids=(CallId("call_away"),),
            artifacts=(artifact,),
            removed_seqs=(6,),
            before_tokens=90_000,
            after_tokens=60_000,
        )
    )
    s.emit(ContextStuck(message="The context cannot be made smaller.", hint="/new begins another session."))
    cut = Truncation(label="your message", raw_chars=whole.size, chars=9_000, artifact=artifact)
    s.emit(ContextTruncated(window=8_000, truncations=(cut,)))
    s.emit(ContextWindowInferred(profile="local", window=8_000, refused_tokens=10_700))


def after_the_crash(s: Scribe, back_to: int) -> None:
    planned = PlannedFileChange(
        path="docs.md", operation="write", added=2, removed=1, conflict="You changed it too."
    )
    s.emit(CheckpointPlanned(to_seq=back_to, changes=(planned,)))
    s.emit(CheckpointRestoreStarted(source="c" * 40, to_seq=back_to, paths=("docs.md",)))
    s.emit(CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("docs.md",)))
    s.emit(SessionHeadMoved(to_seq=back_to, from_seq=s.log.last_seq, reason="revert", files=True))
    s.emit(
        ContextCompacted(
            through_seq=back_to,
            summary="The user looked at app.py.",
            removed_seqs=(5, 6),
            turns=1,
            before_tokens=90_000,
            after_tokens=1_200,
            trigger="user",
        )
    )
    context_told(s)
    s.emit(UserShellStarted(command="git status"))
    s.emit(UserShellProgress(text="clean\n"))
    s.emit(UserShellFinished(command="git status", output="clean\n", exit_code=0, duration_ms=9.0))
    named = Mention(
        reference="app.py", kind="file", path="app.py", sha256="e" * 64, size=6, tokens=9, text=APP
    )
    gone = Mention(reference="old.py", kind="missing", note="there is no such file")
    s.emit(UserMessageReceived(text="Go on with @app.py, not @old.py.", mentions=(named, gone)))
    s.emit(TurnStarted(turn=3))
    s.begin_iteration()
    request = s.ask(2_000, (("system", 500), ("messages", 1_500)), ())
    s.emit(ModelDelta(request_id=request, part_kind="text", part_index=0, text="I was about to"))
    s.emit(
        ModelFailed(
            request_id=request, fault="cancelled", message="stopped by the user", partial="I was about to"
        )
    )
    s.emit(TurnFinished(turn=3, reason="interrupted", duration_ms=700.0))
    s.emit(PluginUnloaded(plugin="broken"))
    s.emit(CommandsOffered(owner="user", items=(OfferedCommand(name="standup", help="Report."),)))
    s.emit(CommandRan(name="standup", arguments="monday", display=(TextBlock(text="Nothing yet."),)))
    s.emit(PluginEvent(plugin="notes", name="state", version=1, data={"pages": 3}))
    s.emit(VerifierFinished(verifier="tests", reward=1.0, output="ok"))
    s.emit(EvalScored(case="fix-it", passed=True, score=1.0))
    s.emit(SimulationMessage(role="user", visible_to=("user", "agent"), reasoning="Hm.", response="Fix it."))
    s.emit(ErrorRaised(where="plugins", message="A pane broke.", hint="It is off now.", detail="Traceback"))
    s.emit(EnvStopped(environment="local", leftovers=0))
    s.emit(SessionEnded(reason="solved"))
    s.emit(RunFinished(run_id=SECOND_RUN, reason="quit"))


def every_kind() -> Scribe:
    """The whole log."""
    s = Scribe("ses_000000everykind", START)
    opening(s)
    first_turn(s)
    back_to = s.log.last_seq
    second_turn(s)
    after_the_crash(s, back_to)
    return s
