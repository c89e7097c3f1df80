"""The contract of ports.environment, the same for every environment: what a program gets, and what comes of it."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from tests.unit.workspace.local.contract import PYTHON, Sink, digest, shell
from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment


async def test_a_program_gets_its_words_as_they_are(env):
    sink = Sink()
    words = ("a b", "*", "$HOME", "; rm -rf /", "$(x)", "ä")
    code = "import sys; print(sys.argv[1:])"
    result = await env.exec(ExecSpec(argv=(PYTHON, "-c", code, *words)), sink)
    assert result.output.decode() == f"{list(words)}\n"
    assert (result.exit_code, result.outcome, result.dropped_bytes) == (0, "exited", 0)
    assert sink.data == result.output


async def test_stdout_and_stderr_come_in_the_order_they_were_written(env):
    result, _ = await shell(env, "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done")
    assert result.output.split() == [f"{s}{i}".encode() for i in range(1, 6) for s in ("out", "err")]


async def test_a_script_runs_under_bash_in_the_folder_that_was_named(env, root):
    (root / "sub").mkdir()
    result, _ = await shell(env, "[[ $PWD == */sub ]] && pwd | tr a-z A-Z; exit 7", cwd="sub")
    assert result.output.decode().strip() == str(root / "sub").upper()
    assert result.exit_code == 7


async def test_standard_input_is_empty_and_there_is_no_terminal(env):
    result, _ = await shell(env, "cat; tty; : < /dev/tty || echo none; echo end")
    assert result.output.decode().splitlines()[0] == "not a tty"
    assert result.output.decode().splitlines()[-2:] == ["none", "end"]


async def test_children_find_utf8_no_pager_and_no_forced_locale(tmp_path):
    environ = {"PATH": os.environ["PATH"], "FORCE_COLOR": "1", "API_KEY": "k", "HOME": "/h"}
    env = LocalEnvironment(tmp_path, environ=environ, hidden={"API_KEY"})
    result = await env.exec(ExecSpec(argv=("env",), env={"EXTRA": "1"}), lambda data: None)
    found = dict(line.split("=", 1) for line in result.output.decode().splitlines())
    assert {
        name: found.get(name) for name in ("PYTHONUTF8", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT")
    } == {
        "PYTHONUTF8": "1",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }
    assert (found["EXTRA"], found["HOME"]) == ("1", "/h")
    assert not {"API_KEY", "FORCE_COLOR", "LC_ALL", "LANG", "NO_COLOR"} & set(found)


async def test_programs_form_their_output_for_the_width_that_was_told(tmp_path):
    env = LocalEnvironment(tmp_path, environ={"PATH": os.environ["PATH"], "COLUMNS": "300"})
    look = ExecSpec(argv=(sys.executable, "-c", "import shutil; print(shutil.get_terminal_size().columns)"))
    assert (await env.exec(look, lambda data: None)).output == b"80\n"
    env.output_columns = 114
    assert (await env.exec(look, lambda data: None)).output == b"114\n"


async def test_programs_beside_the_python_of_tui_agent_are_found_only_by_the_users_own_path(tmp_path):
    own = Path(sys.executable).parent
    script = ExecSpec(script="command -v python python3 pip pytest; echo end")
    bare = LocalEnvironment(tmp_path, environ={"PATH": "/nowhere"})
    assert (await bare.exec(script, lambda data: None)).output == b"end\n"
    for name in ("python", "python3", "pytest"):
        assert (await bare.exec(ExecSpec(argv=(name, "--version")), lambda data: None)).outcome == "not_found"
    users = LocalEnvironment(tmp_path, environ={"PATH": f"/nowhere:{own}"})
    assert (await users.exec(script, lambda data: None)).output.decode().startswith(f"{own}/python\n")


async def test_where_python_has_only_the_name_python3_a_tool_starts_this_one(tmp_path):
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho machine\n")
    python.chmod(0o755)
    env = LocalEnvironment(tmp_path, environ={"PATH": str(python.parent)})
    result = await env.exec(ExecSpec(argv=("python", "-m", "pytest")), lambda data: None)
    assert result.output == b"machine\n"


async def test_a_path_of_relative_folders_finds_no_program_of_the_workspace(tmp_path):
    program = tmp_path / "planted"
    program.write_text("#!/bin/sh\necho planted\n")
    program.chmod(0o755)
    for path in (".", "", "bin:."):
        env = LocalEnvironment(tmp_path, environ={"PATH": path})
        assert (await env.exec(ExecSpec(script="command -v planted"), lambda data: None)).output == b""


async def test_a_program_reads_what_it_is_given_and_then_the_end(env):
    given = b"\x00\xff" + b"0123456789" * 200_000
    result = await env.exec(ExecSpec(script="sha256sum; wc -c", stdin=given), Sink())
    assert result.output.split()[0].decode() == digest(given)
    assert result.output.split()[-1] == b"0"


async def test_a_program_that_reads_nothing_of_what_it_is_given_ends_as_well(env):
    result = await env.exec(ExecSpec(script="exit 3", stdin=b"x" * 10_000_000), Sink())
    assert result.exit_code == 3


async def test_errors_are_kept_apart_where_they_are_wanted_so_and_never_stand_in_the_way(env):
    script = "echo out; echo wrong >&2; head -c 5000000 /dev/zero >&2; echo end"
    result = await env.exec(ExecSpec(script=script, max_stderr_bytes=10), Sink())
    assert (result.output, result.stderr) == (b"out\nend\n", b"wrong\n\0\0\0\0")
    together = await env.exec(ExecSpec(script="echo out; echo wrong >&2"), Sink())
    assert (together.output, together.stderr) == (b"out\nwrong\n", b"")


async def test_an_unknown_program_is_told_apart_from_one_that_failed(env, root):
    result = await env.exec(ExecSpec(argv=("no-such-program-here",)), lambda data: None)
    assert (result.outcome, result.exit_code) == ("not_found", None)
    assert "no-such-program-here" in result.message
    (root / "plain.txt").write_text("x")
    result = await env.exec(ExecSpec(argv=("./plain.txt",)), lambda data: None)
    assert result.outcome == "failed"
    result = await env.exec(ExecSpec(argv=("true",), cwd="missing"), lambda data: None)
    assert (result.outcome, "missing" in result.message) == ("not_found", True)
    result = await env.exec(ExecSpec(argv=("echo", "a\0b")), lambda data: None)
    assert result.outcome == "failed"
    result = await env.exec(ExecSpec(argv=("echo", "x" * 3_000_000)), lambda data: None)
    assert result.outcome == "failed"


async def test_a_program_that_a_signal_ended_says_so(env):
    result, _ = await shell(env, "kill -SEGV $$")
    assert (result.exit_code, result.outcome, result.message) == (139, "exited", "ended by SIGSEGV")


async def test_output_streams_while_the_program_runs(env, root):
    os.mkfifo(root / "go")
    sink = Sink()
    async with anyio.create_task_group() as group:
        group.start_soon(env.exec, ExecSpec(script="echo first; cat go; echo last"), sink)
        assert await sink.until(lambda data: b"first" in data) == b"first\n"
        await anyio.Path(root / "go").write_bytes(b"second\n")
    assert sink.data == b"first\nsecond\nlast\n"


async def test_output_above_the_cap_is_counted_and_dropped(env):
    sizes: list[int] = []
    spec = ExecSpec(script="head -c 50000000 /dev/zero", max_output=1_000_000)
    result = await env.exec(spec, lambda data: sizes.append(len(data)))
    assert (len(result.output), result.dropped_bytes, sum(sizes)) == (1_000_000, 49_000_000, 50_000_000)
    assert result.exit_code == 0


async def test_bytes_that_are_no_text_come_through(env):
    result, _ = await shell(env, r"printf '\xff\xfe\x00\xc3'")
    assert result.output == b"\xff\xfe\x00\xc3"


@pytest.mark.slow_variants
async def test_a_program_whose_time_is_up_is_ended_and_keeps_its_output(env):
    result, _ = await shell(env, "echo begun; sleep 1000", timeout=2.5)
    assert (result.outcome, result.exit_code, result.output) == ("timeout", None, b"begun\n")
    assert "2.5 s" in result.message


async def test_a_program_whose_time_is_up_can_clean_up_for_the_grace_period(tmp_path):
    env = LocalEnvironment(tmp_path, grace=10.0)
    clean_up = "trap 'sleep 0.5; echo cleaned; exit' TERM"
    result, _ = await shell(env, f"{clean_up}; echo ready; sleep 1000 & wait", timeout=1.0)
    assert (result.outcome, result.output) == ("timeout", b"ready\ncleaned\n")
    await env.aclose()
