"""An editor that drives the real program by the Agent Client Protocol, with the client side of the protocol's library."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tests.e2e.conftest import Program
from tests.e2e.test_headless_runs import events

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

SCRIPT = """
answers:
  - text: The first answer is that of the mock.
  - calls: [{write_file: {path: new.txt, content: "new\\n"}}]
  - text: Written.
  - calls: [{run_command: {command: make all}}]
  - text: Never said.
"""


class Editor:
    """Allows a call that it is asked about, until it `vanishes`: then it never answers."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked = asyncio.Queue[str]()
        self.vanishes = False

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))

    async def request_permission(self, tool_call: Any, **_: Any) -> RequestPermissionResponse:
        self.asked.put_nowait(tool_call.title)
        if self.vanishes:
            await asyncio.Event().wait()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="once"))

    def kinds(self) -> list[str]:
        kinds = [update["sessionUpdate"] for update in self.updates]
        self.updates.clear()
        return [kind for kind in kinds if kind != "usage_update"]


async def drive(program: Program, script: Path, *mock: str) -> str:
    """Send garbage, work in one session, close and load it, and vanish while asked. Return the session's id."""
    editor = Editor()
    agent = await asyncio.create_subprocess_exec(
        *program.line("acp", *mock),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=program.environment,
        limit=1 << 24,
    )
    assert agent.stdin is not None and agent.stdout is not None and agent.stderr is not None
    agent.stdin.write(b'no json\n[1]\n{"jsonrpc":"2.0","id":"a","method":"no/such"}\n')
    assert json.loads(await agent.stdout.readline())["error"]["code"] == -32601
    client: Any = editor  # of the client's methods two
    connection = acp.connect_to_agent(client, agent.stdin, agent.stdout, use_unstable_protocol=True)
    await begin(connection, str(program.workspace))
    session = (await connection.new_session(cwd=str(program.workspace))).session_id
    await work(connection, editor, session, program.workspace, script)
    await vanish(connection, editor, session, agent)
    assert (await agent.stderr.read()).decode().count("was skipped") == 2
    return session


async def begin(connection: Any, workspace: str) -> None:
    """Agree on what both sides can do, and be refused what is not there."""
    offered = await connection.initialize(protocol_version=1)
    assert offered.agent_capabilities is not None and offered.agent_capabilities.load_session
    for folder in ("relative", f"{workspace}/none"):
        with pytest.raises(acp.RequestError, match="Folder not found"):
            await connection.new_session(cwd=folder)
    with pytest.raises(acp.RequestError, match="No session begins with 'ses_none'"):
        await connection.load_session(cwd=workspace, session_id="ses_none")


async def work(connection: Any, editor: Editor, session: str, workspace: Path, script: Path) -> None:
    """Get an answer, change the model, allow a call; then close the session and load it."""
    hello = await connection.prompt(session_id=session, prompt=[acp.text_block("hello")])
    assert hello.stop_reason == "end_turn"
    texts = [
        update["content"]["text"]
        for update in editor.updates
        if update["sessionUpdate"] == "agent_message_chunk"
    ]
    assert "".join(texts) == "Hello from the mock."
    await connection.set_config_option(config_id="model", session_id=session, value=f"scripted:{script}")
    editor.updates.clear()
    await connection.prompt(session_id=session, prompt=[acp.text_block("write it")])
    assert (workspace / "new.txt").read_text() == "new\n"
    assert editor.asked.get_nowait() == "write new.txt"
    kinds = ["tool_call", "tool_call_update", "tool_call_update", "agent_message_chunk"]
    assert editor.kinds() == kinds
    await run_session_commands(connection, editor, session, workspace)
    await choose_effort(connection, session, script)
    await connection.close_session(session_id=session)
    await connection.load_session(cwd=str(workspace), session_id=session)
    replayed = editor.kinds()
    assert replayed.count("user_message_chunk") == 2
    assert [kind for kind in replayed if kind in kinds][-4:] == kinds


async def run_session_commands(connection: Any, editor: Editor, session: str, workspace: Path) -> None:
    """Undo and redo the file, and summarise nothing."""
    for typed, said, is_there in (
        ("/undo", "Undid the last turn. /redo brings it back. 1 file removed.", False),
        ("/redo", "Redid the undone turn. 1 file restored.", True),
        ("/compact", "There is too little to summarise yet.", True),
    ):
        editor.updates.clear()
        await connection.prompt(session_id=session, prompt=[acp.text_block(typed)])
        [update] = [each for each in editor.updates if each["sessionUpdate"] == "agent_message_chunk"]
        assert update["content"]["text"] == said
        assert (workspace / "new.txt").exists() is is_there
    with pytest.raises(acp.RequestError) as refused:
        await connection.prompt(session_id=session, prompt=[acp.text_block("/redo")])
    assert (refused.value.code, str(refused.value)) == (
        -32602,
        "Nothing to redo. /undo undoes the last turn.",
    )


async def choose_effort(connection: Any, session: str, script: Path) -> None:
    """Choose an effort of a model that has some; a model without an effort offers none and refuses them."""

    async def choose(option: str, value: str) -> list[Any]:
        answer = await connection.set_config_option(config_id=option, session_id=session, value=value)
        return list(answer.config_options)

    _, offered = await choose("model", "openai/gpt-5")
    assert [each.value for each in offered.options] == ["default", "none", "low", "medium", "high", "xhigh"]
    _, chosen = await choose("effort", "high")
    assert chosen.current_value == "high"
    assert [each.id for each in await choose("model", f"scripted:{script}")] == ["model"]
    with pytest.raises(acp.RequestError, match="does not accept this value"):
        await choose("effort", "low")


async def vanish(connection: Any, editor: Editor, session: str, agent: asyncio.subprocess.Process) -> None:
    """Be asked about a command, and close the pipe instead of an answer."""
    editor.vanishes = True
    prompt = connection.prompt(session_id=session, prompt=[acp.text_block("build it")])
    running = asyncio.ensure_future(prompt)
    assert await editor.asked.get() == "run make all"
    assert agent.stdin is not None
    agent.stdin.close()
    assert await agent.wait() == 0
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError, ConnectionError):
        await running
    await connection.close()


def test_an_editor_works_in_a_session_and_vanishing_denies_what_it_was_asked(
    program: Program, mock: tuple[str, ...], tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(SCRIPT)
    session = asyncio.run(drive(program, script, *mock))
    recorded = [event["payload"] for event in events(show(program, session))]
    (denied,) = [
        event for event in recorded if event["kind"] == "permission.decided" and event["decision"] == "deny"
    ]
    assert denied["decided_by"] == "user"
    assert not [
        event
        for event in recorded
        if event["kind"] == "tool.started" and event["call_id"] == denied["call_id"]
    ]
    clients = [event["client"] for event in recorded if event["kind"] == "run.started"]
    assert clients == ["editor", "editor"]
    assert recorded[-1]["kind"] == "run.finished"
    assert program.run_in_process("sessions", "verify", session).returncode == 0
    again = program.run_in_process("run", "hello", "--session", session, *mock)
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, "Hello from the mock.")


def show(program: Program, session: str) -> str:
    return program.run_in_process("sessions", "show", session, "--json").stdout
