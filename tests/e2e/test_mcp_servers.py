"""MCP servers of the real program: a real one from PyPI, calls judged by the policy, and none left after a kill."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.e2e.killing import engine_of
from tests.e2e.terminal import YES, Terminal
from tests.stubs.left_out import only_where

pytestmark = pytest.mark.e2e

STUB = Path(__file__).parents[1] / "stubs" / "mcp_server.py"
SCRIPT = """
answers:
  - calls:
      - {tool}: {arguments}
  - text: Done.
"""


def configure(program: Program, name: str, *arguments: str) -> None:
    folder = program.home / ".config" / "tui-agent"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "config.toml").open("a") as config:
        config.write(f"[mcp.{name}]\ncommand = '{sys.executable}'\nargs = {list(arguments)!r}\n")


def script(program: Program, tool: str, arguments: dict[str, object]) -> None:
    text = SCRIPT.format(tool=tool, arguments=json.dumps(arguments))
    (program.workspace / "script.yaml").write_text(text)


def run(program: Program, *more: str) -> list[dict[str, Any]]:
    # A run waits longer for servers that the prompt names, as they need it on a busy machine.
    prompt = "use time, stub and everything"
    done = program.run("run", prompt, "--json", "--model", "scripted:script.yaml", *more)
    return [json.loads(line)["payload"] for line in done.stdout.splitlines()]


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def test_a_real_server_answers_and_the_first_request_offers_its_tools(program: Program) -> None:
    configure(program, "time", "-m", "mcp_server_time", "--local-timezone", "Europe/Berlin")
    script(
        program,
        "mcp_time_convert_time",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    )
    events = run(program, "--policy", "bypass")
    assert "mcp_time_convert_time" in of(events, "model.requested")[0]["tools"]
    (end,) = of(events, "tool.finished")
    assert end["status"] == "ok" and "T21:00:00+09:00" in end["data"]["structured"]["target"]["datetime"]
    assert of(events, "env.stopped")[0]["leftovers"] == 0


def test_a_call_is_denied_without_a_rule_and_allowed_by_one(program: Program) -> None:
    configure(program, "stub", str(STUB), "good")
    script(program, "mcp_stub_greet", {"name": "Ada"})
    (denied,) = of(run(program), "tool.finished")
    assert denied["status"] == "denied"
    (program.home / ".config" / "tui-agent" / "policy.toml").write_text(
        '[[rule]]\nallow = "tool mcp_stub_*"\n'
    )
    (allowed,) = of(run(program), "tool.finished")
    assert allowed["content"][0]["text"] == "Hello, Ada!"


def test_a_rule_for_a_tool_ends_when_its_running_server_describes_it_anew(
    program: Program, tmp_path: Path
) -> None:
    configure(program, "stub", str(STUB), "rewords", str(tmp_path / "changed"))
    script(program, "mcp_stub_greet", {"name": "Ada"})
    events = run(program)
    assert of(events, "tool.finished")[0]["status"] == "denied"
    effect = r'"server": "stub", "tool": "greet", "digest": "(\w+)"'
    digest = re.findall(effect, json.dumps(events))[0]
    policy = program.home / ".config" / "tui-agent" / "policy.toml"
    policy.write_text(f'[[rule]]\nallow = "tool mcp_stub_greet#{digest}"\n')
    greet = '  - calls: [{mcp_stub_greet: {"name": "Ada"}}]\n'
    pause = '  - calls: [{run_command: {command: "sleep 2"}}]\n'
    text = f"answers:\n{greet}{pause}{greet}  - text: Done.\n"
    (program.workspace / "script.yaml").write_text(text)
    ended = of(run(program), "tool.finished")
    assert [end["status"] for end in ended if end["name"] == "mcp_stub_greet"] == ["ok", "denied"]


def test_a_killed_program_leaves_no_server_behind(program: Program, tmp_path: Path) -> None:
    mark = tmp_path / "cancelled-mark"
    configure(program, "stub", str(STUB), "good", str(mark))
    script(program, "mcp_stub_slow", {"name": "Ada"})
    words = program.line("run", "go", "--json", "--model", "scripted:script.yaml", "--policy", "bypass")
    child = subprocess.Popen(words, cwd=program.workspace, env=program.environment, stdout=subprocess.PIPE)
    assert child.stdout is not None
    for line in child.stdout:
        if b'"tool.progress"' in line:
            break
    assert servers(mark) == 1
    child.send_signal(signal.SIGKILL)
    child.communicate()
    end = time.monotonic() + 20
    while servers(mark) and time.monotonic() < end:
        pass
    assert servers(mark) == 0


@pytest.mark.parametrize(
    ("later", "shown"),
    [
        (sys.executable, "Hello, Ada!"),
        ("no-such-program", "The MCP server stub is off: The program no-such-program was not found."),
    ],
    ids=["up again", "dead"],
)
def test_a_call_that_awaited_approval_when_the_engine_was_killed_waits_for_its_server(
    program: Program, start: Callable[..., Terminal], later: str, shown: str
) -> None:
    configure(program, "stub", str(STUB), "good")
    answers = [{"text": "Hi."}, {"calls": [{"mcp_stub_greet": {"name": "Ada"}}]}, {"text": "All done."}]
    (program.workspace / "script.yaml").write_text(json.dumps({"answers": answers}))
    words = ("--model", "scripted:script.yaml", "--session", "ses_asked")
    with start(*words) as terminal:
        terminal.until_text("Ask for a change")
        terminal.send("hello\r")
        wait_for_log(program, terminal, '"plugin":"mcp:stub"')
        terminal.send("greet Ada\r")
        terminal.until_text("this once")
        os.kill(engine_of(terminal.process.pid), signal.SIGKILL)
        terminal.until_text("engine")
    config = program.home / ".config" / "tui-agent" / "config.toml"
    config.write_text(config.read_text().replace(sys.executable, later))
    with start(*words) as terminal:
        if later == sys.executable:
            terminal.until_text("this once")
            terminal.press_until(YES, lambda screen: "this once" not in screen, "the approval to close")
        wait_for_log(program, terminal, '"All done."')
    shown_again = program.run_in_process("sessions", "show", "ses_asked", "--json").stdout
    events = [json.loads(line)["payload"] for line in shown_again.splitlines()]
    (end,) = of(events, "tool.finished")
    assert (end["status"], end["content"][0]["text"][: len(shown)]) == (
        "ok" if later == sys.executable else "failed",
        shown,
    )


def wait_for_log(program: Program, terminal: Terminal, text: str) -> None:
    log, end = program.data / "sessions" / "ses_asked" / "events.jsonl", time.monotonic() + 60
    while not (log.exists() and text in log.read_text("utf-8", "replace")):
        assert time.monotonic() < end, f"waited in vain for {text}; the screen:\n{terminal.text}"
        terminal.read_for(0.05)


@only_where("MCP_SERVER_EVERYTHING" in os.environ, "npm's server-everything is not installed")
def test_the_reference_server_answers(program: Program) -> None:
    configure(program, "everything", "unused")
    config = program.home / ".config" / "tui-agent" / "config.toml"
    config.write_text(f"[mcp.everything]\ncommand = {json.dumps(os.environ['MCP_SERVER_EVERYTHING'])}\n")
    script(program, "mcp_everything_get-structured-content", {"location": "Chicago"})
    events = run(program, "--policy", "bypass")
    (end,) = of(events, "tool.finished")
    assert end["status"] == "ok" and end["data"]["structured"]["temperature"] == 36
    (offered,) = [event for event in of(events, "commands.offered") if event["owner"] == "mcp:everything"]
    assert "everything:simple-prompt" in [item["name"] for item in offered["items"]]
    (program.workspace / "script.yaml").write_text("answers: [{text: Read.}]\n")
    message = "Explain @everything:demo://resource/static/document/features.md."
    done = program.run("run", message, "--json", "--model", "scripted:script.yaml", "--session", "ses_read")
    (received,) = of([json.loads(line)["payload"] for line in done.stdout.splitlines()], "user.message")
    (mention,) = received["mentions"]
    assert (mention["kind"], mention["truncated"]) == ("resource", False) and mention["tokens"] > 1_000
    config.write_text("")
    again = program.run("sessions", "export", "ses_read", "--format", "markdown", "-o", "-")
    assert "features.md" in again.stdout and again.returncode == 0


def test_the_text_of_a_servers_prompt_reads_no_resource(program: Program) -> None:
    configure(program, "stub", str(STUB), "resources")
    (program.workspace / "script.yaml").write_text("answers: [{text: Read.}]\n")
    done = program.run("run", "/stub:stand-up @stub:note:hello", "--json", "--model", "scripted:script.yaml")
    (received,) = of([json.loads(line)["payload"] for line in done.stdout.splitlines()], "user.message")
    assert "@stub:note:hello" in received["text"] and received["mentions"] == []


def test_a_resource_is_read_unless_a_rule_denies_its_server(program: Program) -> None:
    configure(program, "stub", str(STUB), "resources")
    (program.workspace / "script.yaml").write_text("answers: [{text: Read.}]\n")

    def mentions(told: str = "") -> list[dict[str, Any]]:
        words = ("run", "Say @stub:note:hello, please", "--json", "--model", "scripted:script.yaml")
        done = program.run(*words)
        assert done.stderr.count("@stub:note:hello: not sent: ") == bool(told) and told in done.stderr
        (received,) = of([json.loads(line)["payload"] for line in done.stdout.splitlines()], "user.message")
        found: list[dict[str, Any]] = received["mentions"]
        return found

    (read,) = mentions()
    assert read["kind"] == "resource" and "\nHello.\nRed text\n&lt;/resource>" in read["text"]
    (program.home / ".config" / "tui-agent" / "policy.toml").write_text(
        '[[rule]]\ndeny = "tool mcp_stub_*"\n'
    )
    (refused,) = mentions("deny tool mcp_stub_*")
    assert refused["kind"] == "refused" and not refused["text"] and "deny tool mcp_stub_*" in refused["note"]


def servers(mark: Path) -> int:
    """The number of running stub servers with this file in their arguments."""
    found = 0
    for entry in Path("/proc").iterdir():
        try:
            found += str(mark).encode() in (entry / "cmdline").read_bytes() if entry.name.isdigit() else 0
        except OSError:
            continue
    return found


def test_an_invalid_tool_is_named_and_the_others_of_its_server_work(program: Program) -> None:
    configure(program, "stub", str(STUB), "untyped")
    script(program, "mcp_stub_greet", {"name": "Ada"})
    done = program.run_in_process(
        "run", "go", "--json", "--model", "scripted:script.yaml", "--policy", "bypass"
    )
    assert "MCP server stub: The tool list is left out, because its description is not valid" in done.stderr
    assert "Hello, Ada!" in done.stdout
    checked = program.run_in_process("mcp", "check", "stub")
    assert "The tool list is left out" in checked.stderr and checked.returncode == 0


def test_a_faulty_entry_is_named_in_a_sentence(program: Program) -> None:
    configure(program, "'two words'", str(STUB))
    script(program, "mcp_stub_greet", {})
    done = program.run_in_process("run", "go", "--model", "scripted:script.yaml")
    assert "The MCP server two words is off. Its name must consist of at most 40 letters" in done.stderr
