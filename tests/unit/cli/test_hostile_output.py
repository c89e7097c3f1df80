"""Hostile text in every field of a session: what commands print of it moves no cursor and hides nothing."""

import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.stubs.clock import FakeClock
from tests.stubs.golden import golden
from tests.stubs.hostile import control_sequences, every_text, poisoned
from tui_agent.cli.console.output import escape_control, plain_json, table
from tui_agent.cli.main import main
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.ids import SessionId
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

SESSION = "ses_0000000000000abc"
_HIDDEN = set(
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad\u3164"
)
_HIDDEN |= {chr(code) for code in range(0xE0000, 0xE0200)}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one session, of which every text is hostile."""
    root = tmp_path_factory.mktemp("hostile")
    store = SessionStore(root / "sessions", FakeClock(tick=1.0), Redactor())
    log = store.create(SessionId(SESSION))
    for record in poisoned(golden("night_shift"), every_text()):
        if isinstance(record, Envelope):
            payload = record.payload
            if isinstance(payload, SessionStarted):
                payload = payload.model_copy(update={"workspace": str(root)})
            log.append(payload, agent=record.agent)
    log.close()
    return root


def foul(text: str) -> list[str]:
    """What of a text a terminal obeys, or nobody sees."""
    return [
        one
        for one in text
        if one in _HIDDEN or (unicodedata.category(one) in ("Cc", "Cs") and one not in "\n\t")
    ]


COMMANDS = [
    ("sessions", "list", "--all"),
    ("sessions", "list", "--all", "--json"),
    ("sessions", "show", SESSION),
    ("sessions", "show", SESSION, "--json"),
    ("sessions", "show", SESSION, "--actions"),
    ("sessions", "show", SESSION, "--state"),
    ("sessions", "preview", SESSION),
    ("sessions", "tree", SESSION),
    ("sessions", "checkpoints", SESSION),
    ("sessions", "search", "timesheet", "--all"),
    ("sessions", "export", SESSION, "--format", "markdown", "-o", "-"),
    ("sessions", "export", SESSION, "--format", "html", "-o", "-"),
    ("sessions", "verify", SESSION),
    ("trace", SESSION),
    ("trace", SESSION, "--json"),
    ("compare", SESSION, SESSION),
]


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_passes_on_what_it_reads(
    words: tuple[str, ...], data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    main([*words, "--data-dir", str(data)])
    said = capsys.readouterr()
    assert said.out or said.err
    assert not foul(said.out) and not foul(said.err)


def test_an_export_of_events_is_escaped_for_a_terminal_and_whole_for_a_file(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sessions", "export", SESSION, "--format", "jsonl", "-o", "-", "--data-dir", str(data)]
    main(words)
    piped = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(words)
    shown = capsys.readouterr().out
    assert foul(piped) and not foul(shown)
    # Each export hides the digests of contents that it does not hold with a key of its own.
    whole, escaped = (re.sub(r'("(?:crc|digest)": ?)"[0-9a-f]+"', r'\1""', text) for text in (piped, shown))
    assert [json.loads(one) for one in whole.split("\n") if one] == [
        json.loads(one) for one in escaped.split("\n") if one
    ]


@pytest.mark.slow_variants
@pytest.mark.parametrize("hostile", ["\x1b[7357m", "\x9b7357m", "\u202e", "\U000e0041", "\x1b]0;x\x07"])
@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "show", "{}"),
        ("policy", "check", "echo {}"),
        ("trace", "{}"),
        ("themes", "preview", "{}"),
        ("run", "-m", "{}", "x"),
    ],
    ids=str,
)
def test_no_fault_passes_on_what_it_names(
    words: tuple[str, ...], hostile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*(word.format(f"a{hostile}b") for word in words), "--data-dir", str(tmp_path)])
    said = capsys.readouterr()
    assert (said.out or said.err) and not foul(said.out) and not foul(said.err)


def test_every_form_of_control_sequence_is_made_harmless() -> None:
    for form in control_sequences():
        assert not foul(escape_control(form, lines=True)) and "\n" not in escape_control(f"{form}\n")


def test_json_still_holds_the_very_text() -> None:
    for form in every_text():
        line = plain_json(json.dumps(form, ensure_ascii=False))
        assert json.loads(line) == form and not foul(line)


def test_columns_are_aligned_by_terminal_cells(capsys: pytest.CaptureFixture[str]) -> None:
    table(
        [("notes 日本.txt", "removed"), ("e\u0301.py", "restored"), ("a.py", "removed")], ["path", "change"]
    )
    assert capsys.readouterr().out.splitlines() == [
        "path            change",
        "notes 日本.txt  removed",
        "e\u0301.py            restored",
        "a.py            removed",
    ]
