"""What a call leaves open is settled before it is judged: what is judged, shown and run is the same."""

from pathlib import Path

from tests.engine.harness import EchoTool, Words, ask, call, running, say
from tui_agent.errors import ToolError
from tui_agent.ports.environment import Environment
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import Effect, RunEffect
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished


class OpenTool(EchoTool):
    """Runs the command that the workspace's file `command` holds."""

    def effects(self, args: Words) -> tuple[Effect, ...]:
        return (RunEffect(script=args.words),)

    async def settle_arguments(self, args: Words, env: Environment) -> Words:
        if await env.stat("command") is None:
            raise ToolError("There is no file command.")
        return Words(words=(await env.read("command")).data.decode())


async def test_the_settled_command_is_judged_shown_and_run(tmp_path: Path) -> None:
    tool = OpenTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Done.")], [tool], policy=ask) as bench:
        (tmp_path / "workspace" / "command").write_text("cat notes.txt > new.txt")
        bench.submit(SubmitPrompt(text="go"))
        request = await bench.until_payload(PermissionRequested)
        assert request.effects == (RunEffect(script="cat notes.txt > new.txt"),)
        assert [(one.verb, one.target) for deed in request.commands for one in deed.effects] == [
            ("reads", "notes.txt"),
            ("writes", "new.txt, a new file"),
        ]
        bench.submit(DecidePermission(request_id=request.request_id, decision="allow", reach="once"))
        await bench.until("turn.finished")
    assert tool.ran == ["cat notes.txt > new.txt"]
    (decided,) = bench.of(PermissionDecided)
    assert decided.reason == "you allowed it (once)"


async def test_what_cannot_be_settled_fails_the_call_and_asks_nobody(tmp_path: Path) -> None:
    tool = OpenTool()
    async with running(tmp_path, [call(("echo", "{}")), say("Hm.")], [tool], policy=ask) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    (finished,) = bench.of(ToolFinished)
    assert (finished.status, finished.summary) == ("failed", "There is no file command.")
    assert bench.of(PermissionRequested) == [] and tool.ran == []
