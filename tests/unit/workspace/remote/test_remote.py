"""Environments on the machine of a provider, each through its SDK: Modal's classes are faked, E2B's servers are."""

import os
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.stubs.remote_machines import e2b_server, fake_modal, separate_machine
from tests.stubs.rows import rows
from tui_agent.errors import ConfigError, EnvironmentFault, EnvironmentLost
from tui_agent.ports.environment import ExecSpec, workspace_sandbox
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.remote import mirror
from tui_agent.workspace.remote.e2b_machine import E2BMachine
from tui_agent.workspace.remote.environment import RemoteEnvironment
from tui_agent.workspace.remote.modal_machine import ModalMachine


@pytest.fixture(params=["modal", "e2b"])
def env(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RemoteEnvironment]:
    """An environment that is not started; `store` is the folder that the machine has in the workspace's place."""
    root, store = tmp_path / "root", tmp_path / "store"
    root.mkdir()
    store.mkdir()
    local, calls = LocalEnvironment(root), list[tuple[str, Any]]()
    with separate_machine(store, root) as machine:
        if request.param == "modal":
            monkeypatch.setitem(sys.modules, "modal", fake_modal(machine, calls))  # type: ignore[arg-type]
            yield RemoteEnvironment("modal", local, ModalMachine("python:3.12", "none", 600))
            options = {"app": "app tui-agent", "image": "image python:3.12", "timeout": 600}
            created = ("create", (("sleep", "infinity"), {**options, "block_network": True}))
            assert calls == [created, ("terminate", None)]
            return
        if not os.environ.get("CI"):
            pytest.importorskip("e2b", reason="the extra e2b is not installed")
        with e2b_server(machine, calls) as server:
            address = f"http://127.0.0.1:{server.server_address[1]}"
            monkeypatch.setenv("E2B_API_KEY", "e2b_" + "0" * 40)
            monkeypatch.setenv("E2B_API_URL", address)
            monkeypatch.setenv("E2B_SANDBOX_URL", address)
            yield RemoteEnvironment("e2b", local, E2BMachine("", "none", 600))
        (_, wanted), ended = calls
        assert (wanted["templateID"], wanted["timeout"]) == ("base", 600)
        assert wanted["allow_internet_access"] is False
        assert ended == ("kill", "/sandboxes/box1")


async def shell(remote: RemoteEnvironment, script: str, **more: object):
    return await remote.exec(ExecSpec(script=script, **more), lambda data: None)  # type: ignore[arg-type]


@pytest.mark.slow_variants
async def test_commands_run_there_and_their_changes_are_here(env, tmp_path):
    root, store = tmp_path / "root", tmp_path / "store"
    (root / "sub").mkdir()
    (root / "sub" / "old.txt").write_text("old")
    (root / "gone.txt").write_text("x")
    await env.start()
    assert (store / "sub" / "old.txt").read_text() == "old"
    result = await shell(
        env,
        "cat old.txt; pwd; echo new > new.txt; chmod +x new.txt; ln -s new.txt link; rm ../gone.txt; exit 3",
        cwd="sub",
    )
    assert (result.output.decode(), result.exit_code) == (f"old{root}/sub\n", 3)
    assert (root / "sub" / "new.txt").read_text() == "new\n"
    assert os.access(root / "sub" / "new.txt", os.X_OK)
    assert (root / "sub" / "link").readlink() == Path("new.txt")
    assert not (root / "gone.txt").exists()
    written = await env.write("sub/old.txt", b"edited", (await env.read("sub/old.txt")).digest)
    assert written.text == "edited"
    (root / "sub" / "new.txt").unlink()
    assert (await shell(env, "cat sub/old.txt; ls sub")).output == b"editedlink\nold.txt\n"
    assert await env.aclose() == 0
    with pytest.raises(EnvironmentFault, match="closed"):
        await shell(env, "true")


@pytest.mark.slow_variants
async def test_what_a_program_gets_and_what_comes_of_it(env):
    await env.start()
    words = ("a b", "*", "$HOME", "; rm x", "ä")
    result = await env.exec(ExecSpec(argv=("printf", "%s|", *words), env={"X": "1"}), lambda data: None)
    assert (result.output.decode(), result.exit_code) == ("|".join(words) + "|", 0)
    assert (await shell(env, "echo $EXTRA $PAGER", env={"EXTRA": "more"})).output == b"more cat\n"
    result = await shell(env, "for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    assert result.output.split() == [f"{name}{i}".encode() for i in (1, 2, 3) for name in ("out", "err")]
    result = await shell(env, "echo out; echo wrong >&2", max_stderr_bytes=3)
    assert (result.output, result.stderr) == (b"out\n", b"wro")
    given = b"line\n" * 20_000
    assert (await shell(env, "wc -c", stdin=given)).output.split() == [b"100000"]
    assert (await shell(env, "cat")).output == b""
    result = await shell(env, "head -c 500000 /dev/zero | tr '\\0' x", max_output=1_000)
    assert (len(result.output), result.dropped_bytes) == (1_000, 499_000)
    assert (await shell(env, "kill -SEGV $$")).message == "ended by SIGSEGV"
    outcomes = []
    for argv, cwd in ((("no-such-program",), ""), (("./",), ""), (("true",), "missing"), (("a\0b",), "")):
        outcomes.append((await env.exec(ExecSpec(argv=argv, cwd=cwd), lambda data: None)).outcome)
    assert outcomes == ["not_found", "failed", "not_found", "failed"]
    await env.aclose()


@pytest.mark.slow_variants
async def test_a_command_whose_time_is_up_is_ended_with_all_it_started(env, tmp_path):
    await env.start()
    script = "echo begun; (setsid sleep 1003 &); sleep 1003"
    result = await shell(env, script, timeout=2.0)
    assert (result.outcome, result.exit_code, result.output) == ("timeout", None, b"begun\n")
    assert result.message == "stopped after 2 s"
    left = await shell(env, "pgrep -fx 'sleep 1003'")
    assert left.exit_code == 1
    await env.aclose()


async def test_files_outside_the_workspace_are_the_machines_own(env, tmp_path):
    await env.start()
    (tmp_path / "given.sh").write_text("echo given")
    place = str(tmp_path / "store.sh")
    await env.upload(tmp_path / "given.sh", place)
    assert (await env.exec(ExecSpec(argv=("sh", place)), lambda data: None)).output == b"given\n"
    await env.download(place, tmp_path / "back.sh")
    assert (tmp_path / "back.sh").read_text() == "echo given"
    assert (workspace_sandbox(env), env.sandbox.kind) == ("", env.name)
    await env.aclose()


def test_an_archive_cannot_write_outside_the_workspace(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "made").write_text("x")
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "outside")
        archive.addfile(link)
        archive.add(tmp_path / "made", "way/made")
    with pytest.raises(EnvironmentFault, match="could not be copied here"):
        mirror._unpack(str(tmp_path / "root"), (tmp_path / "bad.tar").read_bytes())
    assert not list((tmp_path / "outside").iterdir())
    (tmp_path / "root" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "kept").write_text("x")
    mirror._remove(str(tmp_path / "root"), ["out/kept"])
    assert (tmp_path / "outside" / "kept").exists()


@rows(
    "status, kind, message",
    [
        (401, ConfigError, "E2B could not create a sandbox: "),
        (400, ConfigError, "E2B could not create a sandbox: "),
        (503, EnvironmentLost, "E2B could not create a sandbox: "),
        (500, EnvironmentLost, "E2B could not create a sandbox: "),
        (201, EnvironmentLost, "E2B could not run a command: "),
    ],
)
def test_a_failure_of_e2b_is_told_from_one_that_lasts(
    status: int, kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(server: Any) -> None:
        machine = E2BMachine("", "open", 600)
        await machine.start()
        server.shutdown()
        server.server_close()
        await machine.run(("true",), "/", {}, b"", print, print)

    with e2b_server((), []) as server:
        server.create_status = status
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("E2B_API_KEY", "e2b_" + "0" * 40)
        monkeypatch.setenv("E2B_API_URL", address)
        monkeypatch.setenv("E2B_SANDBOX_URL", address)
        with pytest.raises(kind, match=message):
            anyio.run(use, server)


@rows(
    "name, is_lost",
    [("AuthError", False), ("NotFoundError", False), ("ConnectionError", True), ("ExecTimeoutError", True)],
)
def test_a_failure_of_modal_is_told_from_one_that_lasts(name: str, is_lost: bool) -> None:
    bases = (type("TimeoutError", (Exception,), {}),) if name == "ExecTimeoutError" else (Exception,)
    error = type(name, bases, {})("no")

    async def fail(*argv: str, **options: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        modal = fake_modal((), [])
        modal.Sandbox.create.aio = fail
        patch.setitem(sys.modules, "modal", modal)
        with pytest.raises(
            EnvironmentLost if is_lost else ConfigError, match="Modal could not create a sandbox: no"
        ):
            anyio.run(ModalMachine("", "open", 600).start)


async def test_e2b_builds_a_template_from_a_dockerfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\nCOPY data /data\nRUN pip install x\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("a")
    calls = list[tuple[str, Any]]()
    with e2b_server((), calls) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("E2B_API_KEY", "e2b_" + "0" * 40)
        monkeypatch.setenv("E2B_API_URL", address)
        machine = E2BMachine(str(tmp_path / "Dockerfile"), "none", 600)
        await machine.start()
        await machine.aclose()
        server.build_status = "error"
        with pytest.raises(EnvironmentFault, match=r"/Dockerfile could not be built: .*RUN failed"):
            await machine.start()
    assert [name for name, _ in calls] == [
        "template",
        "upload",
        "build",
        "create",
        "kill",
        "template",
        "upload",
        "build",
    ]
    image, steps = calls[2][1]
    assert (image, [step for step in steps if step[0] == "COPY"]) == ("python:3.12", [("COPY", ["data"])])
    assert calls[0][1] == calls[3][1]["templateID"] and calls[0][1].startswith("tui-agent-case-")


async def test_modal_builds_an_image_from_a_dockerfile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[tuple[str, Any]]()
    monkeypatch.setitem(sys.modules, "modal", fake_modal((), calls))  # type: ignore[arg-type]
    await ModalMachine(f"{tmp_path}/Dockerfile", "none", 600).start()
    assert calls[0][1][1]["image"] == f"built {tmp_path}/Dockerfile in {tmp_path}"


@pytest.mark.parametrize("machine", [ModalMachine("", "open", 600), E2BMachine("", "open", 600)])
async def test_a_missing_sdk_is_said(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "modal", None)
    monkeypatch.setitem(sys.modules, "e2b", None)
    with pytest.raises(ConfigError) as raised:
        await machine.start()
    assert re.fullmatch(r"Install it: .* install .*\[(modal|e2b)\]'?", raised.value.hint)
