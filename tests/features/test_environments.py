"""A session whose commands run elsewhere: in a container, in a plugin's environment, or not at all."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tests.features.test_mcp_servers import follow, of
from tests.stubs.containers import container_settings
from tui_agent.cli.doctor.command import run_check
from tui_agent.cli.policy.command import PolicyBench
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.env import EnvStarted, EnvStopped
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

SCRIPT = """
answers:
  - calls:
      - run_command: {command: "cat words.txt; ls /home; echo made > made.txt"}
  - calls:
      - read_file: {path: made.txt}
  - text: Done.
  - text: Done.
"""
PLUGIN = """
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.environment_wrapper import EnvironmentWrapper

class Elsewhere(EnvironmentWrapper):
    name = "elsewhere"

def register(api):
    api.environment("elsewhere", lambda root: Elsewhere(LocalEnvironment(root)))
"""


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "tui-agent" / "plugins").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "words.txt").write_text("words of the workspace\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return SessionOptions(
        tmp_path / "work",
        client="headless",
        interactive=False,
        model=f"scripted:{tmp_path / 'script.yaml'}",
        policy="bypass",
        data_dir=tmp_path / "data",
    )


def configure(tmp_path: Path, *, command: str, image: str = "", arguments: tuple[str, ...] = ()) -> None:
    values = {"command": command, "image": image, "arguments": list(arguments)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    text = "\n".join(['environment = "docker"', "[environments.docker]", *lines])
    (tmp_path / "config" / "tui-agent" / "config.toml").write_text(text)


def fake_docker(tmp_path: Path, script: str) -> str:
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.slow
async def test_commands_run_in_the_container_and_the_workspace_is_the_same(tmp_path, options):
    settings = container_settings()
    configure(tmp_path, command=settings.command, image=settings.image, arguments=settings.arguments)
    async with open_session(options) as opened:
        opened.submit(SubmitPrompt(text="Go"))
        events = await follow(opened, lambda known: of(known, TurnFinished))
        session = opened.id
    (started,) = of(events, EnvStarted)
    assert (started.environment, started.root, started.sandbox) == ("docker", str(options.cwd), "docker")
    assert started.details == f"Commands run in a podman container (image {settings.image}, no network)."
    command, read = of(events, ToolFinished)
    assert "words of the workspace" in command.content[0].text
    assert "cannot access '/home'" in command.content[0].text  # this machine has one, the image has none
    assert "made" in read.content[0].text
    assert (options.cwd / "made.txt").read_text() == "made\n"
    # Without the container, the session does not continue elsewhere by itself.
    configure(tmp_path, command="no-such-program", image=settings.image)
    with pytest.raises(ConfigError, match=r"The commands of this session ran in \w+\."):
        async with open_session(replace(options, session=session)):
            pass


async def test_what_is_missing_is_said_at_the_start_and_nothing_is_recorded(tmp_path, options):
    configure(tmp_path, command=fake_docker(tmp_path, "exit 0"))
    with pytest.raises(ConfigError, match="The environment docker has no image"):
        async with open_session(options):
            pass
    assert not list((tmp_path / "data").rglob("events.jsonl"))


async def test_a_missing_program_and_an_unknown_environment_are_named(tmp_path, options):
    configure(tmp_path, command="no-such-program", image="x:1")
    with pytest.raises(ConfigError, match="needs no-such-program, which was not found"):
        async with open_session(options):
            pass
    with pytest.raises(ConfigError, match="There is no environment 'dokcer'") as raised:
        async with open_session(replace(options, environment="dokcer")):
            pass
    assert raised.value.hint == "Choose one with --environment: apptainer, docker, e2b, local, modal."


def test_doctor_and_the_policy_take_no_container_for_a_sandbox(tmp_path, options):
    configure(tmp_path, command=fake_docker(tmp_path, "echo 'Error: no' >&2; exit 1"), image="x:1")
    base = load_startup_context(options)
    name, result = run_check("environment", base)
    assert (name, result.state, result.advice) == (
        "environment",
        "bad",
        "Correct [environments.docker] in config.toml.",
    )
    assert run_check("sandbox", base)[1].message.startswith("Commands run in the environment docker, not in")
    (options.cwd / ".env").write_text("KEY=1\n")
    assert "they are not hidden, because there is no sandbox" in run_check("secrets", base)[1].message
    assert not PolicyBench.for_workspace(base, cast(RulePolicy, None)).facts.sandboxed
    local = load_startup_context(replace(options, environment="local"))
    assert run_check("environment", local)[1] == ("ok", "commands run on this machine", "")


async def test_a_session_resumes_where_it_was_and_elsewhere_if_that_is_asked_for(tmp_path, options):
    (tmp_path / "config" / "tui-agent" / "plugins" / "away.py").write_text(PLUGIN)
    ran: list[EnvStarted | EnvStopped] = []

    async def run(options: SessionOptions) -> str:
        async with open_session(options) as opened:
            opened.submit(SubmitPrompt(text="Go"))
            events = await follow(opened, lambda known: of(known, TurnFinished))
            ran.extend(of(events, EnvStarted, EnvStopped))
            return opened.id

    first = replace(options, environment="elsewhere")
    session = await run(first)
    assert [(event.environment, event.sandbox) for event in ran] == [("elsewhere", "")]
    ran.clear()
    await run(replace(options, session=session))
    assert [event.environment for event in ran] == ["elsewhere", "elsewhere", "elsewhere"]
    ran.clear()
    await run(replace(options, session=session, environment="local"))
    assert ran[-1].environment == "local"
    (tmp_path / "config" / "tui-agent" / "plugins" / "away.py").unlink()
    other = await run(replace(options, environment="local"))
    assert other != session
