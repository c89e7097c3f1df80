"""Many processes at one session: one goes on undisturbed, every other is told at once, and nothing is harmed."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_headless_runs import events, wait_for
from tests.stubs.processes import open_and_hold, processes

pytestmark = pytest.mark.e2e


@pytest.mark.timeout(240)
def test_twenty_openers_and_every_verb_at_once_leave_the_session_whole(
    program: Program, mock: tuple[str, ...], tmp_path: Path
) -> None:
    assert program.run_in_process("run", "hello", "--session", "s1", *mock).returncode == 0
    with program.start("run", "go scenario-slow", "--json", "--session", "s1", *mock) as holder:
        seen = wait_for(holder, "model.delta")
        context, openers = processes(), []
        for _ in range(20):
            go, go_there = context.Pipe()
            back, back_there = context.Pipe()
            opener = context.Process(target=open_and_hold, args=(program.data, go_there, back_there))
            opener.start()
            openers.append((opener, go, back))
        others = {
            "fork": program.start("sessions", "fork", "s1", "--at", "5", "--here", "--json"),
            "export": program.start("sessions", "export", "s1", "-o", str(tmp_path / "shared.html")),
            "archive": program.start(
                "sessions", "export", "s1", "--format", "archive", "-o", str(tmp_path / "shared.tar.gz")
            ),
            "verify": program.start("sessions", "verify", "s1"),
            "list": program.start("sessions", "list", "--json"),
            "trace": program.start("trace", "s1", "--json"),
            "rm": program.start("sessions", "rm", "s1", "--yes"),
            "revert": program.start("sessions", "revert", "s1", "--to", "3"),
        }
        for _, go, _ in openers:
            go.send("now")
        refused = [back.recv() for _, _, back in openers]
        for opener, _, _ in openers:
            opener.join()
        ended = {name: process.communicate(timeout=120) for name, process in others.items()}
        assert holder.poll() is None
        holder.send_signal(signal.SIGINT)
        rest, _ = holder.communicate(timeout=60)
    assert all("s1" in answer and answer != "writer" for answer in refused)
    codes = {name: process.returncode for name, process in others.items()}
    assert all("Traceback" not in err for _, err in ended.values()), ended
    assert codes["rm"] != 0 and codes["revert"] != 0, codes
    assert {name for name, code in codes.items() if code} == {"rm", "revert"}, ended
    whole = events(program.run_in_process("sessions", "show", "s1", "--json").stdout)
    printed = [*seen, *events(rest)]
    assert [event["seq"] for event in whole] == list(range(len(whole)))
    kinds = {event["seq"]: event["payload"]["kind"] for event in whole}
    assert all(kinds[event["seq"]] == event["payload"]["kind"] for event in printed)
    fork = json.loads(ended["fork"][0])["id"]
    for name in ("s1", fork):
        verified = program.run_in_process("sessions", "verify", name)
        assert verified.returncode == 0, verified.stdout


def test_a_session_whose_workspace_is_gone_is_still_read_everywhere(
    program: Program, mock: tuple[str, ...], tmp_path: Path
) -> None:
    place = tmp_path / "soon-gone"
    place.mkdir()
    write = program.home / "script.yaml"
    write.write_text("answers:\n  - calls: [{write_file: {path: new.txt, content: new}}]\n  - text: Done.\n")
    words = ("-m", f"scripted:{write}", "--policy", "bypass", "-C", str(place))
    assert program.run_in_process("run", "one", "--session", "ses_gone", *words).returncode == 0
    subprocess.run(["rm", "-r", str(place)], check=True)
    for verb in (
        ("sessions", "list"),
        ("sessions", "show", "ses_gone"),
        ("sessions", "verify", "ses_gone"),
        ("sessions", "export", "ses_gone", "-o", str(tmp_path / "a.html")),
        ("sessions", "export", "ses_gone", "--format", "bundle", "-o", str(tmp_path / "a.bundle")),
        ("sessions", "fork", "ses_gone", "--at", "5", "--here"),
        ("trace", "ses_gone"),
        ("replay", "ses_gone", "--headless"),
    ):
        done = program.run_in_process(*verb)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (verb, done.stderr)
    opened = program.run_in_process("run", "two", "--session", "ses_gone", *mock)
    assert opened.returncode == 2
    assert str(place) in opened.stderr and "was not found" in opened.stderr and opened.stderr.count("\n") == 1


LONG = "answers:\n  - calls: [{run_command: {command: 'seq 9000'}}]\n  - text: Done.\n"


def test_without_its_texts_a_session_is_still_read_and_says_what_is_missing(
    program: Program, mock: tuple[str, ...], tmp_path: Path
) -> None:
    script = program.home / "script.yaml"
    script.write_text(LONG)
    words = ("-m", f"scripted:{script}", "--policy", "bypass")
    prompt = "a long prompt " * 2_000
    assert program.run_in_process("run", prompt, "--session", "ses_poor", *words).returncode == 0
    blobs = list((program.data / "sessions" / "ses_poor" / "blobs").iterdir())
    assert len(blobs) >= 2
    for blob in blobs:
        blob.unlink()
    for verb in (
        ("sessions", "list"),
        ("sessions", "show", "ses_poor"),
        ("sessions", "search", "prompt"),
        ("sessions", "fork", "ses_poor", "--at", "5", "--here"),
        ("trace", "ses_poor"),
        ("replay", "ses_poor", "--headless"),
    ):
        done = program.run_in_process(*verb)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (verb, done.stderr)
    for form in ("html", "markdown", "jsonl", "archive"):
        out = tmp_path / f"poor.{form}"
        done = program.run_in_process("sessions", "export", "ses_poor", "--format", form, "-o", str(out))
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (form, done.stderr)
        if form in ("html", "markdown"):
            assert "missing" in out.read_text() or "not there" in out.read_text(), form
    verified = program.run_in_process("sessions", "verify", "ses_poor")
    assert verified.returncode == 1 and "missing or damaged" in verified.stdout
    again = program.run_in_process("run", "hello", "--session", "ses_poor", *mock)
    assert "Traceback" not in again.stderr
    assert again.returncode == 0 or "missing" in again.stderr, again.stderr
