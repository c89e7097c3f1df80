"""Agents that are programs: what they print becomes parts of the session. The fakes print what the real ones printed."""

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.architecture.source import ROOT
from tests.features.test_mcp_servers import follow, of
from tests.stubs.rows import rows
from tui_agent.cli.main import main
from tui_agent.config.session_options import SessionOptions
from tui_agent.engine.agent_programs.codex import Codex
from tui_agent.engine.agent_programs.opencode import OpenCode
from tui_agent.engine.agent_programs.program_agent import PROGRAMS
from tui_agent.engine.agent_programs.program_output import CallResult, ProgramAnswer, ProgramRequest
from tui_agent.errors import ConfigError
from tui_agent.evals.runs.run_folder import RunFolder
from tui_agent.folds.trace.metrics import Metrics
from tui_agent.folds.trace.part_list import PartRow, Parts
from tui_agent.protocol.commands import Interrupt, SubmitPrompt, Undo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.settings import PROGRAM_AGENTS, PolicyName
from tui_agent.session.headless_turn import Outcome, run_turn
from tui_agent.store.log_reader import read_records
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

PRINTED = ROOT / "tests" / "fixtures" / "agent_programs"
BEFORE, AFTER = (
    "def sum_to(n):\n    return sum(range(1, n))\n",
    "def sum_to(n):\n    return sum(range(1, n + 1))\n",
)
SESSION = "ses_0000000000000001"
FAKE = """\
#!/bin/sh
echo $$ > {log}.pid
echo "$*" >> {log}.words
cat >> {log}.input
head -n {head} {lines}
{act}
tail -n +{tail} {lines}
"""
WAIT = "until grep -q tool.finished ../data/sessions/*/events.jsonl; do sleep 0.05; done"
"""Waits until the first result is in the log, so that the change belongs to the second one."""
EDIT = "sed -i 's/range(1, n)/range(1, n + 1)/' series.py"


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "series.py").write_text(BEFORE)
    return SessionOptions(
        cwd=tmp_path / "work",
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        session=SESSION,
    )


def install(
    tmp_path: Path, name: str, lines: Sequence[str] | None = None, act: str = EDIT, after: int = 6
) -> None:
    """Put a fake program on the path: it prints the lines, and does `act` after `after` of them."""
    file = PRINTED / f"{name}.jsonl"
    if lines is not None:
        file = tmp_path / "lines.jsonl"
        file.write_text("\n".join([*lines, ""]))
    fake = tmp_path / "bin" / name
    fake.write_text(
        FAKE.format(log=tmp_path / name, head=after, tail=after + 1, lines=shlex.quote(str(file)), act=act)
    )
    fake.chmod(0o755)


async def turn(options: SessionOptions, text: str) -> Outcome:
    async with open_session(options) as opened:
        return await run_turn(opened, text, lambda record: None)


def events(options: SessionOptions) -> list[Envelope]:
    records = read_records(load_startup_context(options).store.folder(options.session))  # type: ignore[arg-type]
    return [record for record in records if isinstance(record, Envelope)]


def parts(options: SessionOptions) -> tuple[PartRow, ...]:
    fold = Parts()
    for event in events(options):
        fold.apply(event)
    return fold.view()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("name", "run", "edit", "tokens"),
    [("codex", "command_execution", "command_execution", 30790), ("opencode", "bash", "edit", 23310)],
)
async def test_what_a_program_prints_becomes_parts_with_checkpoints(
    name: str, run: str, edit: str, tokens: int, tmp_path: Path, options: SessionOptions
) -> None:
    install(tmp_path, name, act=f"{WAIT}; {EDIT}")
    options = replace(options, agent=name)
    outcome = await turn(options, "--fix sum_to")
    assert (outcome.reason, outcome.answer) == ("finished", "Fixed: sum_to now includes n.")
    assert (tmp_path / f"{name}.input").read_text() == "--fix sum_to"
    found = parts(options)
    assert [(row.type, row.name, row.status, row.changed_files) for row in found] == [
        ("text", "", "", False),
        ("tool_call", run, "", False),
        ("tool_result", run, "failed", False),
        ("text", "", "", False),
        ("tool_call", edit, "", False),
        ("tool_result", edit, "ok", True),
        ("text", "", "", False),
    ]
    metrics = Metrics()
    for event in events(options):
        metrics.apply(event)
    view = metrics.view()
    assert (view.iterations, view.input_tokens, view.output_tokens) == (3, tokens, 59)
    (taken,) = of([event.payload for event in events(options)], CheckpointTaken)[1:]
    assert isinstance(taken, CheckpointTaken) and taken.paths == ("series.py",)
    async with open_session(options) as opened:
        opened.submit(Undo())
        await follow(opened, lambda events: of(events, CheckpointRestored))
    assert (tmp_path / "work" / "series.py").read_text() == BEFORE


@pytest.mark.slow
async def test_the_next_turn_continues_the_programs_conversation_and_counts_only_its_own_tokens(
    tmp_path: Path, options: SessionOptions
) -> None:
    install(tmp_path, "codex")
    install(tmp_path, "opencode")
    for name, words in (
        ("codex", "resume 01a22744-2a36-78d0-85a9-d135bcca5200 -"),
        ("opencode", "--session ses_dd8bbc195ffeIXZLzTNOcSraNl"),
    ):
        for text in ("one", "two"):
            await turn(replace(options, agent=name, session=f"ses_00000000000000{name[:2]}"), text)
        first, second = (tmp_path / f"{name}.words").read_text().splitlines()
        assert words not in first and second.endswith(words)
    codex = Codex({})
    lines = [json.loads(line) for line in (PRINTED / "codex.jsonl").read_text().splitlines()]
    usages = [
        [
            event.usage.input_tokens
            for line in lines
            for event in codex.read(line)
            if isinstance(event, ProgramAnswer)
        ]
        for _ in range(2)
    ]
    assert (sum(usages[0]), sum(usages[1])) == (30790, 0)


@rows(
    "name, policy, words",
    [
        ("codex", "plan", "--sandbox read-only"),
        ("codex", "ask", "--sandbox read-only"),
        ("codex", "accept-edits", "--sandbox workspace-write"),
        ("codex", "bypass", "--dangerously-bypass-approvals-and-sandbox"),
        ("opencode", "plan", "--agent plan"),
        ("opencode", "ask", "--agent plan"),
        ("opencode", "bypass", "--auto"),
        ("tui-agent", "accept-edits", "--policy accept-edits"),
    ],
)
def test_the_policy_chooses_the_programs_permissions(name: str, policy: PolicyName, words: str) -> None:
    line = " ".join(PROGRAMS[name]({}).command(ProgramRequest("m", "high", policy)))
    assert set(PROGRAMS) == set(PROGRAM_AGENTS)
    assert words in line and "--model m" in line and "high" in line
    assert "--auto" not in line or policy == "bypass"


def test_calls_of_other_kinds_are_recorded_too() -> None:
    changes = [{"path": "a.py", "kind": "add"}]
    codex = Codex({})
    item = {"id": "item_1", "type": "file_change", "changes": changes, "status": "completed"}
    answer, result = codex.read({"type": "item.completed", "item": item})
    assert isinstance(answer, ProgramAnswer) and answer.parts[0].kind == "tool_call"
    assert result == CallResult("item_1", True, "add a.py")
    thought = {"id": "item_2", "type": "reasoning", "text": "hm"}
    assert not list(codex.read({"type": "item.completed", "item": thought}))
    (last,) = codex.read({"type": "turn.completed", "usage": {}})
    assert isinstance(last, ProgramAnswer) and last.parts[0].kind == "reasoning"
    opencode, state = OpenCode({}), {"status": "error", "input": {}, "error": "no such file"}
    assert not list(
        opencode.read({"type": "tool_use", "part": {"tool": "read", "callID": "c", "state": state}})
    )
    _, result = opencode.read(
        {"type": "step_finish", "part": {"tokens": {"cache": {"read": 2}}, "cost": 0.5}}
    )
    assert result == CallResult("c", False, "no such file")


@pytest.mark.slow
@rows(
    "name, lines, act, message",
    [
        ("codex", ['{"type":"turn.failed","error":{"message":"no quota"}}'], "", "codex: no quota"),
        ("opencode", ['{"type":"error","error":{"name":"X","data":{"message":"bad"}}}'], "", "opencode: bad"),
        (
            "codex",
            ["warning", "[1]", '{"item":3}'],
            "echo why >&2; exit 7",
            "codex: codex ended with status 7: why",
        ),
        ("codex", [], "", "codex: codex ended without an answer"),
        ("codex", ['{"type":"turn.completed","usage":{}}'], "", "codex: codex ended without an answer"),
        ("opencode", ["warning", '{"a": 1}'], "", "opencode: opencode ended without an answer: warning"),
        ("codex", ['{"type":"turn.started"}'], "kill -9 $$", "codex: codex was ended by SIGKILL"),
    ],
)
def test_a_program_that_fails_ends_the_turn_with_its_reason(
    name: str, lines: list[str], act: str, message: str, tmp_path: Path, options: SessionOptions
) -> None:
    install(tmp_path, name, lines, act)
    outcome = anyio.run(turn, replace(options, agent=name, session=None), "do it")
    assert (outcome.reason, outcome.detail) == ("model_error", message)


def test_a_limit_of_parts_stops_the_program(tmp_path: Path, options: SessionOptions) -> None:
    install(tmp_path, "codex", act="sleep 100", after=6)
    outcome = anyio.run(turn, replace(options, agent="codex", max_parts=3), "do it")
    assert outcome.reason == "part_limit"
    pid = (tmp_path / "codex.pid").read_text().strip()
    assert subprocess.run(["kill", "-0", pid], capture_output=True, check=False).returncode


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_a_limit_of_iterations_lets_the_program_finish_its_last_one(
    name: str, tmp_path: Path, options: SessionOptions
) -> None:
    for limit in (1, 2):
        install(tmp_path, name)
        options = replace(options, agent=name, max_iterations=limit, session=f"ses_000000000000000{limit}")
        outcome = anyio.run(turn, options, "do it")
        found = [row.type for row in parts(options)]
        assert (outcome.reason, found) == ("iteration_limit", ["text", "tool_call", "tool_result"] * limit)


@pytest.mark.slow
async def test_an_answer_that_did_not_end_is_recorded_when_the_program_ends_or_is_stopped(
    tmp_path: Path, options: SessionOptions
) -> None:
    text, call = '{"type":"text","part":{"text":"I edit."}}', PRINTED / "opencode.jsonl"
    uses = [line for line in call.read_text().splitlines() if '"type":"tool_use"' in line]
    install(tmp_path, "opencode", [text, uses[1]])
    ended = replace(options, agent="opencode", session="ses_0000000000000002")
    assert (await turn(ended, "do it")).reason == "finished"
    assert [(row.type, row.status) for row in parts(ended)] == [
        ("text", ""),
        ("tool_call", ""),
        ("tool_result", "ok"),
    ]
    said = [{"id": word, "type": "agent_message", "text": word} for word in ("one", "two")]
    command = {"id": "c", "type": "command_execution", "command": "sleep", "status": "in_progress"}
    kinds = (("completed", said[0]), ("started", command), ("completed", said[1]))
    lines = [json.dumps({"type": f"item.{kind}", "item": item}) for kind, item in kinds]
    install(tmp_path, "codex", lines, "sleep 100")
    stopped = replace(options, agent="codex")
    async with open_session(stopped) as opened:
        opened.submit(SubmitPrompt(text="do it"))
        await follow(opened, lambda events: of(events, ToolStarted))
        opened.submit(Interrupt())
        await follow(opened, lambda events: of(events, TurnFinished))
    assert [row.summary for row in parts(stopped) if row.type == "text"] == ["one", "two"]


async def test_a_missing_program_is_named_before_the_run(
    tmp_path: Path, options: SessionOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        await turn(replace(options, agent="codex"), "do it")
    assert str(caught.value) == (
        "The agent codex needs the program codex, which was not found in the environment local. "
        "Install it: npm install -g @openai/codex."
    )


CASE = """\
prompt = "Fix sum_to."
files = { "series.py" = "def sum_to(n):\\n    return sum(range(1, n))\\n" }
test_command = "grep 'n + 1' series.py"
[[oracle]]
text = "Done."
"""


@pytest.mark.slow
def test_an_evaluation_compares_agents_and_checks_their_programs_first(
    tmp_path: Path, options: SessionOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "case.toml").write_text(CASE)
    words = ["eval", "matrix", "case.toml", "--agents", "codex,opencode", "--out", "out", "-j", "1"]
    install(tmp_path, "codex")
    for wrong, message in (
        (words, "The agent opencode needs the program opencode"),
        (["eval", "run", "case.toml", "--agent", "codx"], "There is no agent 'codx'."),
        (
            ["eval", "run", "case.toml", "-m", "oracle", "--agent", "codex"],
            "The oracle replays known-good answers",
        ),
    ):
        assert main(wrong) == 2
        assert message in capsys.readouterr().err and not (tmp_path / "out").exists()
    failure = {"type": "error", "error": {"data": {"message": "no\nquota"}}}
    install(tmp_path, "opencode", [json.dumps(failure)], act="")
    assert main(words) == 1
    assert " s: opencode: no quota\n" in capsys.readouterr().out
    run = RunFolder(tmp_path / "out")
    results = {cell.arm: run.load_result(cell) for cell in run.load_plan().cells()}
    assert {arm: result and result.passed for arm, result in results.items()} == {
        "codex": True,
        "opencode": False,
    }
    codex, opencode = results["codex"], results["opencode"]
    assert codex is not None and codex.metrics["tools"] == {"command_execution": 2}
    assert opencode is not None and opencode.failure == "model"


@pytest.mark.slow
async def test_tui_agent_itself_runs_as_a_program(tmp_path: Path, options: SessionOptions) -> None:
    fake = tmp_path / "bin" / "tui-agent"
    fake.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/words\n'
        f'PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m tui_agent "$@"\n'
    )
    fake.chmod(0o755)
    script = "answers:\n  - text: I look.\n    calls:\n      - run_command: {command: %s}\n  - text: Fixed.\n  - text: More.\n"
    (tmp_path / "script.yaml").write_text(script % json.dumps(EDIT))
    model = f"scripted:{tmp_path / 'script.yaml'}"
    options = replace(options, agent="tui-agent", model=model, policy="bypass")
    outcomes = [await turn(options, text) for text in ("fix it", "more")]
    assert [(outcome.reason, outcome.answer) for outcome in outcomes] == [
        ("finished", "Fixed."),
        ("finished", "More."),
    ]
    assert (tmp_path / "work" / "series.py").read_text() == AFTER
    assert [(row.type, row.name, row.status, row.changed_files) for row in parts(options)] == [
        ("text", "", "", False),
        ("tool_call", "run_command", "", False),
        ("tool_result", "run_command", "ok", True),
        ("text", "", "", False),
        ("text", "", "", False),
    ]
    first, second = (tmp_path / "words").read_text().splitlines()
    assert "--session" not in first and "--session ses_" in second
