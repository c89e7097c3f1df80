"""`run` as a script sees it: real process, real HTTP, real tools, exit statuses."""

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tui_agent.config.user_choices import FILE_NAME, UserChoices

pytestmark = pytest.mark.e2e


def events(text: str) -> list[dict[str, Any]]:
    """Events by line; the checksum of a stored line is left out, for a run prints before a line is stored."""
    read = [json.loads(line) for line in text.splitlines()]
    return [{key: value for key, value in event.items() if key != "crc"} for event in read]


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [event["payload"]["kind"] for event in found]


def script(folder: Path, text: str) -> str:
    path = folder / "script.yaml"
    path.write_text(text)
    return f"scripted:{path}"


def wait_for(process: "subprocess.Popen[str]", kind: str) -> list[dict[str, Any]]:
    """Read events until one of that kind has come."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["payload"]["kind"] == kind:
            return seen
    raise AssertionError(f"no {kind} in {kinds(seen)}")


@pytest.mark.smoke
def test_a_plain_run_prints_the_answer_and_the_result_lines(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run("run", "hello", *mock)
    assert (done.returncode, done.stdout) == (0, "Hello from the mock.\n")
    status, run_id, session = done.stderr.splitlines()
    assert status == "status: success"
    assert re.fullmatch(r"run_id: run_[0-9a-f]{12}", run_id)
    assert re.fullmatch(r"session: ses_\w{16}", session)


def test_a_note_is_saved_in_the_data_folder_that_nobody_chose(program: Program) -> None:
    answers = script(
        program.home,
        "answers: [{calls: [{write_note: {title: Releases, text: On Tuesdays.}}]}, {text: Noted.}]",
    )
    done = subprocess.run(
        [*program.command, "run", "note it", "-m", answers, "--policy", "bypass"],
        capture_output=True,
        text=True,
        env=program.environment,
        cwd=program.workspace,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [note] = (program.home / ".local/share/tui-agent/notes").glob("*/*.md")
    assert note.read_text() == "# Releases\n\nOn Tuesdays.\n"


def test_json_prints_every_event_as_it_stands_in_the_log(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run("run", "go scenario-tools", "--json", *mock)
    assert done.returncode == 0
    printed = events(done.stdout)
    assert [event["seq"] for event in printed] == list(range(len(printed)))
    assert kinds(printed)[:2] == ["session.started", "run.started"]
    assert kinds(printed)[-1] == "run.finished"
    assert kinds(printed).count("tool.finished") == 30
    shown = program.run_in_process("sessions", "show", "latest", "--json")
    assert events(shown.stdout) == printed


def test_the_log_has_model_and_effort_as_asked_and_as_sent_and_never_the_key(
    program: Program, model_url: str
) -> None:
    words = ["-m", "openai-responses/gpt-x", "--base-url", model_url, "--reasoning-effort", "minimal"]
    done = program.run_in_process("run", "hello", "--json", *words)
    assert done.returncode == 0, done.stderr
    [started] = [one["payload"] for one in events(done.stdout) if one["payload"]["kind"] == "run.started"]
    assert {name: started["model"][name] for name in ("provider", "model", "effort", "effective_effort")} == {
        "provider": "openai-responses",
        "model": "gpt-x",
        "effort": "minimal",
        "effective_effort": "low",
    }
    written = [path for path in program.home.rglob("*") if path.is_file()]
    assert "events.jsonl" in {path.name for path in written}
    key = program.environment["OPENAI_API_KEY"].encode()
    assert [path for path in written if key in path.read_bytes()] == []
    assert key.decode() not in done.stdout + done.stderr


def test_a_run_uses_the_model_that_the_app_remembers_where_nothing_else_names_one(
    program: Program, model_url: str
) -> None:
    program.data.mkdir()
    chosen = UserChoices(model="openai-chat/chosen", base_url=model_url)
    (program.data / FILE_NAME).write_text(chosen.to_json())
    models = []
    for words in ((), ("-m", "openai-chat/given", "--base-url", model_url)):
        done = program.run_in_process("run", "hello", "--json", *words)
        assert (done.returncode, done.stderr) == (0, "")
        models += [
            event["payload"]["model"]["model"]
            for event in events(done.stdout)
            if event["payload"]["kind"] == "run.started"
        ]
    assert models == ["chosen", "given"]
    assert (program.data / FILE_NAME).read_text() == chosen.to_json()


def test_a_slash_command_that_does_not_exist_is_an_error_and_a_path_is_a_message(
    program: Program, mock: tuple[str, ...]
) -> None:
    folder = program.home / ".config" / "tui-agent" / "commands"
    folder.mkdir(parents=True)
    (folder / "standup.md").write_text("Say what was done: $ARGUMENTS\n")
    for words, status, written in (
        ("/nosuch z", 2, "There is no command /nosuch."),
        ("/standpu z", 2, "Did you mean /standup?"),
        ("/theme", 2, "/theme works only in the full-screen app."),
        ("/model/x", 0, "Hello from the mock."),
        ("/etc/hosts is wrong", 0, "Hello from the mock."),
        ("/standup today", 0, "Hello from the mock."),
    ):
        done = program.run_in_process("run", words, *mock)
        assert (done.returncode, written in done.stdout + done.stderr) == (status, True), (words, done)


def test_a_run_carries_out_and_refuses_the_same_slash_commands_as_other_clients(
    program: Program, mock: tuple[str, ...]
) -> None:
    (program.workspace / "undone.py").write_text(
        "from tui_agent.plugin_api import SessionStateView, command\n\n"
        "@command('/undo')\nasync def undo(text: str, state: SessionStateView) -> str:\n"
        '    """Never run: the session has a command of this name."""\n    return "mine"\n'
    )
    plugin = ("--plugin-dir", str(program.workspace / "undone.py"))
    program.run_in_process("run", "hello", *mock)
    for words, status, written in (
        ("/compact", 0, "There is too little to summarise yet."),
        ("/undo", 0, "Undid the last turn. /redo brings it back."),
        ("/redo", 0, "Redid the undone turn."),
        ("/redo", 2, "Nothing to redo."),
        ("/reload", 0, "No plugin has changed."),
        ("/commands", 0, "There are no commands of your own yet."),
        ("/model", 2, "/model works only in the full-screen app."),
    ):
        done = program.run_in_process("run", words, "--continue", *plugin, *mock)
        assert (done.returncode, written in done.stdout + done.stderr) == (status, True), (words, done)


def test_a_prompt_comes_from_standard_input(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run("run", "-", "--json", *mock, stdin="Grüße, 你好\n")
    said = [event["payload"] for event in events(done.stdout) if event["payload"]["kind"] == "user.message"]
    assert [message["text"].strip() for message in said] == ["Grüße, 你好"]


def test_a_prompt_may_look_like_an_option(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run_in_process("run", "--json", *mock, "--", "--version")
    assert '"text":"--version"' in done.stdout


def test_continue_goes_on_with_the_newest_session(program: Program, mock: tuple[str, ...]) -> None:
    first = program.run_in_process("run", "one", *mock).stderr.splitlines()[-1]
    again = program.run_in_process("run", "two", "--continue", *mock).stderr.splitlines()[-1]
    other = program.run_in_process("run", "three", *mock).stderr.splitlines()[-1]
    assert first == again != other
    listed = events(program.run_in_process("sessions", "list", "--json").stdout)
    assert len(listed) == 2
    assert f"session: {listed[1]['id']}" == first


def test_nothing_coloured_goes_into_a_pipe(program: Program, mock: tuple[str, ...]) -> None:
    outputs = [program.run("run", "hello", *mock), program.run("sessions", "list")]
    outputs += [
        program.run_in_process(*words)
        for words in (
            ["sessions", "show", "latest"],
            ["trace", "latest", "--spans"],
            ["themes", "preview", "night"],
            ["models", "list"],
            ["doctor"],
        )
    ]
    assert not [done.args for done in outputs if "\x1b" in done.stdout + done.stderr]


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (
            ["hello"],
            2,
            "No model is set. Choose a model in the app, or add --model NAME to this command",
        ),
        (["hello", "-m", "no-such-model"], 2, "no-such-model"),
        (["hello", "-m", "scripted:absent.yaml"], 2, "absent.yaml"),
        (["hello", "-m", "anthropic/x"], 2, "ANTHROPIC_API_KEY"),
        (["  ", "-m", "demo"], 2, "empty"),
        (["hello", "--session", "../../etc"], 2, "../../etc"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(
    program: Program, words: list[str], status: int, says: str
) -> None:
    done = program.run_in_process("run", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_provider_that_refuses_the_key_is_a_models_failure(program: Program) -> None:
    text = "answers:\n  - faults: [{kind: auth, message: bad key, status: 401}]\n    text: x\n"
    done = program.run_in_process("run", "hello", "-m", script(program.home, text))
    assert done.returncode == 5
    assert "bad key" in done.stderr
    assert "status: model_error" in done.stderr


def test_piped_text_is_part_of_the_recorded_message(program: Program) -> None:
    chosen = script(program.home, "answers: [{text: They are red.}]\n")
    done = program.run("run", "summarise this", "--json", "-m", chosen, stdin="Apples are red.\n")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    [message] = [event["payload"] for event in events if event["payload"]["kind"] == "user.message"]
    assert message["text"] == "summarise this\n\nText from standard input:\n\nApples are red.\n"


def test_a_budget_ends_the_run_with_its_status(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run_in_process("run", "go scenario-tools", "--max-parts", "4", *mock)
    assert done.returncode == 3
    assert "status: part_limit" in done.stderr
    assert "4" in done.stderr


@pytest.mark.parametrize("after", ["", ", {run_tests: {}}"], ids=["alone", "with a call not run after it"])
def test_a_denied_call_that_nothing_came_after_has_its_status(program: Program, after: str) -> None:
    text = f"""
answers:
  - calls: [{{write_file: {{path: new.txt, content: x}}}}{after}]
  - text: I may not write.
"""
    done = program.run_in_process("run", "write it", "-m", script(program.home, text), "--policy", "plan")
    assert done.returncode == 4
    assert done.stdout == "I may not write.\n"
    assert done.stderr.startswith("status: denied\n")
    assert not (program.workspace / "new.txt").exists()


def test_ctrl_c_interrupts_the_turn_and_leaves_a_legal_log(program: Program, mock: tuple[str, ...]) -> None:
    with program.start("run", "go scenario-slow", "--json", *mock) as running:
        wait_for(running, "model.delta")
        running.send_signal(signal.SIGINT)
        rest, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Traceback" not in err
    ending = kinds(events(rest))
    assert "turn.finished" in ending
    assert ending[-1] == "run.finished"


def test_a_killed_run_is_taken_up_again(program: Program, mock: tuple[str, ...]) -> None:
    with program.start("run", "go scenario-slow", "--json", *mock) as running:
        seen = wait_for(running, "model.delta")
        running.kill()
        running.communicate(timeout=30)
    done = program.run("run", "go scenario-default", "--continue", "--json", *mock)
    assert done.returncode == 0
    found = events(done.stdout)
    assert found[0]["session"] == seen[0]["session"]
    resumed = next(event["payload"] for event in found if event["payload"]["kind"] == "run.resumed")
    assert resumed["clean"] is False
    whole = events(program.run_in_process("sessions", "show", "latest", "--json").stdout)
    assert [event["seq"] for event in whole] == list(range(len(whole)))
    assert whole[: len(seen)] == seen


def test_the_trace_tells_what_a_session_did(program: Program, mock: tuple[str, ...]) -> None:
    program.run_in_process("run", "go scenario-tools", *mock)
    told = json.loads(program.run_in_process("trace", "latest", "--json").stdout)
    assert told["tools"] == {"read_file": 30}
    assert told["model_calls"] == 31
    assert told["final_answer"].startswith("All read.")
    assert len([span for span in told["spans"] if span["kind"] == "tool"]) == 30


def test_two_runs_of_one_session_cannot_hold_it_at_once(program: Program, mock: tuple[str, ...]) -> None:
    with program.start("run", "go scenario-slow", "--json", "--session", "shared", *mock) as running:
        wait_for(running, "model.delta")
        second = program.run_in_process("run", "hello", "--session", "shared", *mock)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=30)
    assert second.returncode == 2
    assert "shared" in second.stderr


def test_models_check_asks_the_model(program: Program, mock: tuple[str, ...]) -> None:
    name, base, url = mock[1:]
    done = program.run_in_process("models", "check", name, base, url, "--json")
    assert json.loads(done.stdout)["answer"] == "Hello from the mock."
    wrong = program.run_in_process("models", "check", "mock", "--base-url", "http://127.0.0.1:9/v1")
    assert wrong.returncode == 5
    assert "127.0.0.1:9" in wrong.stderr


def test_a_session_that_had_its_turns_ends_with_the_status_of_a_budget(
    program: Program, mock: tuple[str, ...]
) -> None:
    assert program.run_in_process("run", "one", "--max-turns", "1", *mock).returncode == 0
    done = program.run_in_process("run", "two", "--continue", "--max-turns", "1", *mock)
    assert done.returncode == 3
    assert "This session has reached its limit of one turn. --max-turns raises it." in done.stderr
    assert "status: turn_limit\nrun_id: run_" in done.stderr
    shown = events(program.run_in_process("sessions", "show", "latest", "--json").stdout)
    ends = [one["payload"]["reason"] for one in shown if one["payload"]["kind"] == "session.ended"]
    assert ends == ["finished", "turn_limit"]


def test_a_cost_limit_over_a_model_without_a_known_price_is_told(
    program: Program, mock: tuple[str, ...]
) -> None:
    done = program.run_in_process("run", "hello", "--max-cost", "1", *mock)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "tui-agent: The price of mock is unknown, so the cost limit of $1.00 cannot be enforced. "
        "To set the price, add input_price and output_price to its profile."
    )


DENIED = """
answers:
  - text: I look.
    calls:
      - read_file: {path: note1.txt}
  - text: I change it.
    calls:
      - write_file: {path: new.txt, content: x}
  - text: Nobody let me.
"""


def test_a_person_at_a_terminal_sees_what_the_agent_does_and_a_pipe_only_the_answer(program: Program) -> None:
    master, slave = pty.openpty()
    line = program.line("run", "hello", "-m", script(program.home, DENIED))
    run = partial(
        subprocess.run, line, env=program.environment, cwd=program.workspace, timeout=90, check=False
    )
    shown = run(stdout=subprocess.PIPE, stderr=slave, stdin=subprocess.DEVNULL, text=True)
    os.close(slave)
    told = b""
    with suppress(OSError):
        while piece := os.read(master, 4096):
            told += piece
    os.close(master)
    lines = told.decode().replace("\r", "").splitlines()
    assert lines[:4] == [
        "I look.",
        "\x1b[2m  read note1.txt · 1 line\x1b[0m",
        "I change it.",
        "! write new.txt · denied: policy ask requires approval for every write, and no one is there to answer",
    ]
    assert lines[4] == "" and lines[5] == "status: denied"
    assert lines[8].startswith("tui-agent: policy ask requires approval for every write")
    assert shown.stdout == "Nobody let me.\n"
    piped = run(capture_output=True, stdin=subprocess.DEVNULL, text=True)
    status, _, session_line, warning = piped.stderr.splitlines()
    session = session_line.removeprefix("session: ")
    assert (piped.returncode, piped.stdout, status) == (4, "Nobody let me.\n", "status: denied")
    assert warning == (
        "tui-agent: policy ask requires approval for every write, and no one is there to answer. To allow this "
        f"call: --policy accept-edits. To decide about calls yourself: tui-agent --session {session}"
    )


@pytest.mark.parametrize(
    ("call", "has_policy", "has_session"),
    [
        ("write_file: {path: new.txt, content: x}", True, True),
        ("write_file: {path: ../new.txt, content: x}", False, True),
        ("run_command: {command: 'curl http://10.0.0.5/'}", False, True),
        ("browse_url: {url: 'http://10.0.0.5/'}", False, False),
        ("read_file: {path: id_rsa}", False, False),
    ],
)
def test_after_a_denial_a_run_advises_only_what_would_have_allowed_the_call(
    program: Program, call: str, has_policy: bool, has_session: bool
) -> None:
    denied = f"answers:\n  - text: I try.\n    calls:\n      - {call}\n  - text: Nobody let me.\n"
    program.run_in_process("plugins", "enable", "web")
    done = program.run_in_process("run", "hello", "-m", script(program.home, denied))
    warning = done.stderr.splitlines()[-1]
    assert done.returncode == 4
    assert ("--policy accept-edits" in warning) == has_policy
    assert ("tui-agent --session" in warning) == has_session
    assert ("only a rule in policy.toml can allow this: `allow connect" in warning) == ("browse_url" in call)


def test_without_a_prompt_the_task_is_read_from_a_pipe(program: Program, mock: tuple[str, ...]) -> None:
    done = program.run("run", *mock, stdin="hello\n")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Hello from the mock.")
    empty = program.run_in_process("run", *mock)
    assert (empty.returncode, empty.stderr) == (
        2,
        'tui-agent: The prompt is empty. Describe the task: tui-agent run "…"\n',
    )
