"""The environment docker beyond the contract: paths outside the workspace, what it promises, and its end."""

import os
import sys

import anyio
import pytest

from tests.stubs.containers import (
    apptainer_settings,
    container_settings,
    list_containers,
    shared_container_environment,
)
from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.ports.environment import ExecSpec, workspace_sandbox
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.containers.container import Container
from tui_agent.workspace.containers.environment import ContainerEnvironment
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.reaper_client import MAX_PROCESSES

KILLED = """
import os, sys, anyio
from pathlib import Path
from tests.stubs.containers import IMAGE
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.containers.command_lines import ContainerSettings
from tui_agent.workspace.containers.environment import ContainerEnvironment
from tui_agent.workspace.local.environment import LocalEnvironment

async def main():
    command, root, *arguments = sys.argv[1:]
    settings = ContainerSettings(command, IMAGE, "none", tuple(arguments))
    env = ContainerEnvironment.create(LocalEnvironment(Path(root)), settings, dict(os.environ))
    await env.start()
    show = lambda data: os.write(1, data)
    await env.exec(ExecSpec(script="setsid sleep 1000 & echo runs; sleep 1000"), show)

anyio.run(main)
"""


@pytest.mark.slow
async def test_no_container_outlives_an_engine_that_was_killed(tmp_path):
    settings = container_settings()
    before = list_containers(settings.command)
    arguments = (settings.command, str(tmp_path), *settings.arguments)
    async with await anyio.open_process([sys.executable, "-c", KILLED, *arguments], stderr=None) as engine:
        assert engine.stdout is not None
        with anyio.fail_after(60):
            assert await engine.stdout.receive() == b"runs\n"
        assert list_containers(settings.command) != before
        engine.kill()
    with anyio.fail_after(60):
        remaining = list_containers(settings.command)
        while remaining != before:
            await anyio.sleep(0.2)
            remaining = list_containers(settings.command)


@pytest.mark.slow
async def test_a_command_after_the_containers_end_says_so(tmp_path):
    settings = container_settings()
    env = ContainerEnvironment.create(LocalEnvironment(tmp_path), settings, dict(os.environ))
    await env.start()
    await anyio.run_process([*settings.command.split(), "kill", env._container.name])
    for _ in range(2):
        with pytest.raises(EnvironmentFault, match="has ended, so commands cannot run"):
            await env.exec(ExecSpec(script="true"), lambda data: None)
    await env.aclose()


@pytest.mark.slow
async def test_a_path_outside_the_workspace_is_the_containers_own(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "test.sh").write_text("echo tested > /logs.txt\n")
    env = shared_container_environment(tmp_path / "root")
    await env.start()
    await env.upload(tmp_path / "case", "/case/tests")
    result = await env.exec(ExecSpec(argv=("bash", "/case/tests/test.sh")), lambda data: None)
    assert (result.exit_code, result.output) == (0, b"")
    await env.download("/logs.txt", tmp_path / "logs.txt")
    assert (tmp_path / "logs.txt").read_text() == "tested\n"
    with pytest.raises(EnvironmentFault, match="outside the workspace"):
        await env.read("/logs.txt")
    with pytest.raises(EnvironmentFault, match='podman failed: Error: "/missing"'):
        await env.download("/missing", tmp_path / "x")


@pytest.mark.slow
async def test_a_process_that_hides_from_its_command_ends_when_no_other_command_runs(tmp_path):
    (tmp_path / "root").mkdir()
    env = shared_container_environment(tmp_path / "root")
    await env.start()
    hidden = "(setsid env -i /bin/sleep 1001 &)"
    await env.exec(ExecSpec(script=f"{hidden}; exit 0"), lambda data: None)
    listed = await env.exec(ExecSpec(script="cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), lambda data: None)
    assert b"sleep 1001" not in listed.output


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("script", "image", "message", "hint"),
    [
        ("exit 0", "", "The environment docker has no image.", "[environments.docker] image"),
        (
            "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 125",
            "x:1",
            "The daemon of docker is not running.",
            "systemctl start docker",
        ),
        (
            "echo \"Unable to find image 'x:1' locally\" >&2; exit 125",
            "x:1",
            "The image x:1 is not on this machine.",
            "pull x:1",
        ),
        (
            "echo 'permission denied while trying to connect to the Docker daemon socket' >&2; exit 1",
            "x:1",
            "You have no permission to use the daemon of docker.",
            "group docker",
        ),
        (
            "echo 'runc: exec: \"sh\": executable file not found in $PATH' >&2; exit 127",
            "x:1",
            "The image x:1 has no `sh`.",
            "with a shell",
        ),
        (
            "echo first >&2; echo 'Error: something else' >&2; exit 1",
            "x:1",
            "docker could not start a container with the image x:1: Error: something else",
            "[environments.docker]",
        ),
    ],
)
async def test_what_is_missing_is_said_at_the_start(tmp_path, script, image, message, hint):
    program = tmp_path / "docker"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    container = Container(ContainerSettings(str(program), image), str(tmp_path), dict(os.environ))
    with pytest.raises(ConfigError) as raised:
        await container.start()
    await container.aclose()
    assert raised.value.message == message
    assert hint in raised.value.hint


async def test_an_instance_of_apptainer_starts_and_ends_with_its_session(tmp_path):
    settings = apptainer_settings(tmp_path)
    environ = {**os.environ, "FAKE_INSTANCES": str(tmp_path)}
    (tmp_path / "root").mkdir()
    env = ContainerEnvironment.create(LocalEnvironment(tmp_path / "root"), settings, environ)
    with pytest.raises(ConfigError, match=r"The image .*/work\.sif is not on this machine"):
        await env.start()
    (tmp_path / "work.sif").touch()
    env = ContainerEnvironment.create(LocalEnvironment(tmp_path / "root"), settings, environ)
    await env.start()
    result = await env.exec(ExecSpec(script="echo $PPID; setsid sleep 1000 &"), lambda data: None)
    assert int(result.output) < 100  # a process namespace of its own
    with pytest.raises(EnvironmentFault, match="Use a path inside the workspace"):
        await env.download("/etc/hostname", tmp_path / "x")
    await env.aclose()
    assert not list(tmp_path.glob("*.instance"))
    lines = (tmp_path / "apptainer.log").read_text().splitlines()
    started = [line for line in lines if line.startswith("instance start")][-1]
    name, root = started.rpartition(" ")[2], env.root
    assert started == (
        f"instance start --containall --writable-tmpfs --net --network none --bind {root}:{root}"
        f" --bind /data:/data:ro {tmp_path}/work.sif {name}"
    )
    assert lines[-1] == f"instance stop {name}"
    assert (env.name, env.sandbox.kind) == ("apptainer", "apptainer")


def test_it_is_no_sandbox_for_the_policy(tmp_path):
    settings = ContainerSettings("/opt/bin/podman --remote", "python:3.12", "host")
    env = ContainerEnvironment(LocalEnvironment(tmp_path), Container(settings, "/x", {}), settings)
    assert workspace_sandbox(env) == ""
    assert env.sandbox.kind == "docker"
    assert env.sandbox.lines == ("Commands run in a podman container (image python:3.12, network host).",)


@pytest.mark.parametrize(
    ("command", "own"), [("docker", ("--pids-limit", str(MAX_PROCESSES))), ("podman --remote", ())]
)
def test_the_command_line_of_a_container(command, own):
    settings = ContainerSettings(command, "python:3.12", "bridge", ("-v", "/data:/data:ro"))
    if own and os.getuid():
        own += ("--user", f"{os.getuid()}:{os.getgid()}", "-e", "HOME=/tmp")
    arguments = list(settings.command_line({"PATH": "/usr/bin"}).supervise("tui-agent-1", "/home/ada/w:x"))
    at = arguments.index("run")
    assert arguments[at : at + 6] == ["run", "--rm", "-i", "--pull=never", "--name", "tui-agent-1"]
    assert arguments[at + 6 :] == [
        *("--label", "tui-agent=session", "--network", "bridge"),
        *("--mount", "type=bind,source=/home/ada/w:x,target=/home/ada/w:x", "-w", "/home/ada/w:x"),
        *("--entrypoint", "sh", *own, "-v", "/data:/data:ro", "python:3.12", "-c"),
    ]
