"""`policy check --explain` and `policy check-table`: reasons one a line, faults with their line, for any file at once."""

import io
import json
import os
from pathlib import Path

import pytest

from tests.stubs.left_out import leave_out
from tests.stubs.rows import rows
from tests.unit.cli.conftest import Call
from tui_agent.cli.console.exit_codes import Exit
from tui_agent.workspace.sandbox import detection

VALID = """\
# Shows our log.
[programs.showlog]
about = "Shows a log."
effects = ["reads"]
flags = ["-r --reverse"]
operands = ["read..."]
reads_below = false

[programs.showlog.options]
"-n --lines" = "number"

[[programs.showlog.examples]]
line = "showlog -n 5 app.log"
decision = "allow"

[[programs.showlog.examples]]
line = "showlog --delete app.log"
decision = "ask"
because = "--delete"
"""


def test_explain_prints_the_chain_of_reasons_one_a_line(call: Call) -> None:
    status, out, _ = call("policy", "check", "--explain", "wc -l a; foo --x")
    assert status == Exit.DONE
    assert out.splitlines() == [
        "ask: wc -l a; foo --x",
        "  effects may do anything",
        "  rule    ask.commands",
        "  because it is not known what foo does",
        "  command: wc -l a",
        "    known: wc (programs/wc.toml); it reads",
        "    file: reads a",
        "  command: foo --x",
        "    known: foo: not in the catalog; it runs",
        "    unclear (program): it is not known what foo does",
        "  reads.command says allow: it only reads this workspace or system files that everyone can read",
        "  ask.commands decides ask: it is not known what foo does",
    ]


def test_a_line_is_judged_with_the_sandbox_that_a_session_would_have(call: Call, tmp_path: Path) -> None:
    if not detection.detect_sandbox().kind:
        leave_out(detection.detect_sandbox().why_not)
    words = ("policy", "check", "--policy", "accept-edits", "foo")
    assert call(*words)[1].splitlines()[0::4] == [
        "allow: foo",
        "  sandbox bubblewrap limits what the command can change",
    ]
    folder = tmp_path / "home" / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[sandbox]\nmode = 'off'\n", encoding="utf-8")
    assert call(*words)[1].splitlines()[0] == "ask: foo"


def test_it_says_that_a_session_may_delete_what_undo_can_restore(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "link").symlink_to("keep")
    monkeypatch.chdir(tmp_path)
    words = ("policy", "check", "--policy", "accept-edits")
    out = call(*words, "--", "rm my_notes.txt b")[1].splitlines()
    assert out[0] == "ask: rm my_notes.txt b"
    assert "  session runs the command without your approval if /undo can restore my_notes.txt and b" in out
    found = json.loads(call(*words, "--json", "--", "rm my_notes.txt")[1])
    assert found["decision"] == "ask" and found["allowed_if_restorable"] == ["my_notes.txt"]
    for line in ("rm -r keep", "rm *.txt", "rm link/a", "rm my_notes.txt && curl x.org", "rm ../a"):
        assert "unasked" not in call(*words, "--", line)[1], line
    assert "unasked" not in call("policy", "check", "--", "rm my_notes.txt")[1]
    assert "unasked" not in call("policy", "check", "--policy", "plan", "--", "rm my_notes.txt")[1]


LINE = "ls \\\n src"


def test_explain_says_why_a_line_is_not_read(call: Call) -> None:
    out = call("policy", "check", "--json", "--explain", LINE)[1]
    found = json.loads(out)
    assert found["decision"] == "ask"
    assert any(
        line.startswith("uses bash syntax that tui-agent does not analyse") for line in found["explanation"]
    )
    assert "explanation" not in json.loads(call("policy", "check", "--json", LINE)[1])


def test_explain_names_the_rule_and_the_place_of_the_users_entry(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "programs.toml").write_text(VALID, encoding="utf-8")
    (folder / "policy.toml").write_text("[[rule]]\ndeny = 'run showlog -r *'\n", encoding="utf-8")
    out = call("policy", "check", "--explain", "showlog -r a")[1]
    assert f"known: showlog ({folder / 'programs.toml'}: programs.showlog); it reads" in out
    assert "rule: deny run showlog -r * decides deny" in out


WRONG = {
    b"no JSON": "the line is not valid JSON",
    b"[" * 200_000: "the line nests values too deeply",
    b'{"command": ' + b"[" * 200_000: "the line nests values too deeply",
    b'{"command": 1' + b"0" * 5_000 + b"}": "the line is not valid JSON",
    b'["ls"]': 'the line is not an object such as {"command": "git status"}',
    b'{"cmd": "ls"}': 'the object has no "command"',
    b'{"command": 5}': '"command" is not a string',
    b'{"command": null}': '"command" is not a string',
}


def test_a_wrong_line_of_input_is_answered_in_its_place(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    right = b'{"command": "ls"}'
    given = b"\n".join(each for wrong in WRONG for each in (wrong, b"", right))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    status, out, err = call("policy", "check", "--stdin")
    answers = [json.loads(line) for line in out.splitlines()]
    assert answers[::2] == [{"line": 1 + 3 * at, "error": reason} for at, reason in enumerate(WRONG.values())]
    assert [each["decision"] for each in answers[1::2]] == ["allow"] * len(WRONG)
    assert (status, err) == (Exit.FAILED, "")


def test_a_line_of_input_that_is_not_utf_8_is_judged_too(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    given = b'{"command": "ls \xff"}\n{"command": "ls"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
    status, out, _ = call("policy", "check", "--stdin")
    assert [json.loads(line)["decision"] for line in out.splitlines()] == ["ask", "allow"]
    assert status == Exit.DONE


def test_a_valid_table_is_called_valid(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "programs.toml"
    path.write_text(VALID, encoding="utf-8")
    assert call("policy", "check-table", str(path)) == (Exit.DONE, f"{path} is valid.\n", "")


@rows(
    "old, new, line, reason",
    [
        ('effects = ["reads"]', 'effect = ["reads"]', 4, "programs.showlog.effect: this key is not known"),
        ('"reads"', '"looks"', 4, "programs.showlog.effects.0: "),
        ('"number"', "5", 10, "programs.showlog.options.-n --lines"),
        ('"-r --reverse"', '"r"', 5, "programs.showlog.flags.r: r is not an option"),
        ('about = "Shows a log."', "", 2, "programs.showlog.about: this key is missing"),
        ('decision = "ask"', 'decision = "allow"', 16, "should be allow, not ask: --delete of showlog"),
        ('because = "--delete"', 'because = "--erase"', 16, "but for another reason than '--erase'"),
        ("[programs.showlog]", "[programs.showlog", 2, "it is not valid TOML"),
        ("# Shows our log.", "x = 1", 1, "x: this key is not known"),
    ],
)
def test_a_fault_in_a_table_is_printed_with_its_line(
    call: Call, tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    path = tmp_path / "programs.toml"
    assert old in VALID
    path.write_text(VALID.replace(old, new, 1), encoding="utf-8")
    status, out, _ = call("policy", "check-table", str(path))
    assert status == Exit.FAILED
    assert out.startswith(f"{path}:{line}: ")
    assert reason in out
    [fault] = [
        json.loads(text) for text in call("policy", "check-table", "--json", str(path))[1].splitlines()
    ]
    assert fault["place"] == f"{path}:{line}" and reason in fault["reason"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"#" * 10_000_000, "it is larger than 1 MB"),
        (b"#" * 250_000, "it is longer than 200,000 characters"),
        (b"\x00\x01", "it is not valid TOML"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"#!/bin/sh\necho hello\n", "it is not valid TOML"),
        (b"a." * 90_000 + b"a = 1", "a key has too many parts"),
        (b"x = " + b"[" * 90_000, "it is not valid TOML"),
        (b"x = " + b"1" * 90_000, "it is not valid TOML"),
        (b"[programs]\nx = 1", "programs.x: this must be a table"),
    ],
    ids=[
        "10 MB",
        "250 kB",
        "NUL",
        "not UTF-8",
        "a script",
        "long key",
        "brackets",
        "long number",
        "no table",
    ],
)
def test_any_file_gets_one_clear_line(call: Call, tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "programs.toml"
    path.write_bytes(content)
    status, out, err = call("policy", "check-table", str(path))
    assert (status, err, out.count("\n")) == (Exit.FAILED, "", 1)
    assert out.startswith(f"{path}") and reason in out


def test_a_table_that_is_no_file_is_named(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "missing.toml", "there is no such file"),
        (tmp_path, "it is not a regular file."),
        (tmp_path / "pipe", "it is not a regular file."),
    ):
        status, out, _ = call("policy", "check-table", str(path))
        assert (status, out.split(": ", 1)[0]) == (Exit.FAILED, str(path))
        assert out.split(": ", 1)[1].startswith(reason)
