"""A hook that is a command: it gets JSON and answers in JSON, and a broken one falls to asking."""

import json
import re
import shlex
import sys
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, allow, call, running, say
from tests.engine.hooking import ONE_CALL, Asked, a_turn, notices, ran, says
from tui_agent.ports.hook import Hook
from tui_agent.protocol.commands import DecidePermission, Interrupt, SubmitPrompt
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import UserQueued
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.hook_command import HookCommand


def gone(pid: Path) -> bool:
    """Whether the process whose number stands in a file has ended."""
    try:
        return Path(f"/proc/{pid.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return pid.exists()


BAD_HOOKS = {
    "fails": ("echo broken >&2; exit 1", "ended with 1: broken"),
    "is not there": ("./no/such/file", "ended with 127"),
    "is killed": ("kill -9 $$", "ended by SIGKILL"),
    "prints rubbish": ("echo yes please", "not JSON"),
    "prints a list": ("echo '[1]'", "not a JSON object"),
    "answers in another form": ("echo '{\"hookSpecificOutput\": {}}'", "unknown field 'hookSpecificOutput'"),
    "says what nobody knows": ('echo \'{"decision": "maybe"}\'', "'decision' has an invalid value"),
    "prints half a pair": ('printf \'{"reason": "\\\\ud800"}\'', "not JSON"),
    "prints 100 MB": ("head -c 100000000 /dev/zero", "wrote more than 1 MB"),
    "prints 100 MB of errors": ("head -c 100000000 /dev/zero >&2; exit 7", "wrote more than 1 MB"),
    "prints without end": ("yes", "stopped, because it wrote more than 1 MB"),
    "prints errors without end": ("yes >&2", "stopped, because it wrote more than 1 MB"),
    "nests": (f"{shlex.quote(sys.executable)} -c 'print(\"[\" * 100000)'", "not JSON"),
    "hangs": ("sleep 1000 & echo $! > pid; sleep 1000", "stopped after 0.3 s"),
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", BAD_HOOKS)
async def test_a_broken_hook_is_told_of_and_the_call_falls_to_asking(tmp_path, name):
    script, words = BAD_HOOKS[name]
    env = LocalEnvironment(tmp_path)
    limit = 0.3 if name == "hangs" else 60.0
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask, time_limit_s=limit)
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        asked = await bench.until_payload(PermissionRequested)
        assert f"a hook failed ({ran(bench)[0].command}): " in asked.reason
        assert words in ran(bench)[0].fault
        assert "A hook failed at echo a" in notices(bench)[0]
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert tool.ran == ["a"]
    assert name != "hangs" or gone(tmp_path / "pid")
    await env.aclose()


async def test_a_command_gets_json_and_answers_in_json(tmp_path):
    script = f"""{shlex.quote(sys.executable)} -c '
import json, sys
asked = json.load(sys.stdin)
assert asked["tool_input"] == {{"words": "a\\u00e9\\n"}}
print(json.dumps({{"decision": "deny", "reason": asked["hook_event"] + " in " + asked["cwd"]}}))
'"""
    env = LocalEnvironment(tmp_path)
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    answers = [call(("echo", json.dumps({"words": "aé\n"}))), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], hooks=[hook], facts={"cwd": "/work"}) as bench:
        await a_turn(bench)
    assert (ran(bench)[0].decision, ran(bench)[0].reason) == ("deny", "before_tool in /work")
    await env.aclose()


async def test_status_two_refuses_with_the_errors_as_the_reason(tmp_path):
    env = LocalEnvironment(tmp_path)
    script = "cat > /dev/null; echo ignored; echo 'no deployments today' >&2; exit 2"
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook]) as bench:
        await a_turn(bench)
    assert (ran(bench)[0].decision, ran(bench)[0].reason) == ("deny", "no deployments today")
    await env.aclose()


async def test_stopping_the_turn_ends_all_that_a_hook_started(tmp_path):
    env = LocalEnvironment(tmp_path)
    script = "sleep 1000 & (sleep 1000 & echo $! > part; mv part pid); wait"
    hook = Hook("before_tool", script, "user", HookCommand(env, script, {}).ask)
    async with running(tmp_path, ONE_CALL, [EchoTool()], hooks=[hook]) as bench:
        bench.submit(SubmitPrompt(text="Go."))
        while not (tmp_path / "pid").exists():
            await anyio.lowlevel.checkpoint()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        assert gone(tmp_path / "pid")
    await env.aclose()


async def test_a_hook_that_wants_other_tools_is_not_asked(tmp_path):
    hook = Asked("before_tool", says("deny"))
    other = Hook("before_tool", "./check", "user", hook._ask, matcher=re.compile("write|edit_.*"))
    tool = EchoTool()
    async with running(tmp_path, ONE_CALL, [tool], hooks=[other]) as bench:
        await a_turn(bench)
    assert tool.ran == ["a"] and not hook.asked


async def test_without_hooks_nothing_is_recorded(tmp_path):
    async with running(tmp_path, ONE_CALL, [EchoTool()], policy=allow) as bench:
        await a_turn(bench)
    assert not ran(bench) and not bench.of(UserQueued)
