"""S13: hostile text everywhere, and only the program's own bytes reach the terminal; no content draws over an approval."""

from collections.abc import Callable
from random import Random

import pyte
import pytest
import yaml

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal
from tests.stubs.clock import FakeClock
from tests.stubs.golden import golden
from tests.stubs.hostile import classes, control_sequences, every_text, poisoned
from tests.stubs.own_bytes import foreign
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.ids import SessionId
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

pytestmark = pytest.mark.e2e

SESSION = "ses_0000000000000abc"
SIZES = [(120, 40), (80, 24)]
F = {1: "\x1bOP", 2: "\x1bOQ", 3: "\x1bOR", 4: "\x1bOS", 5: "\x1b[15~"}
Start = Callable[..., Terminal]


def poison(program: Program, name: str) -> None:
    """A recorded session of this workspace, hostile in every field."""
    log = SessionStore(program.data / "sessions", FakeClock(tick=1.0), Redactor()).create(SessionId(SESSION))
    for record in poisoned(golden(name), every_text(), 6):
        if isinstance(record, Envelope):
            payload = record.payload
            if isinstance(payload, SessionStarted):
                payload = payload.model_copy(update={"workspace": str(program.workspace)})
            log.append(payload, agent=record.agent)
    log.close()


def look_around(terminal: Terminal) -> None:
    """Through every pane, sheet and picker, and up and down the transcript."""
    terminal.read_for(1.0)
    for _ in range(6):
        terminal.send("\x1b[5~")
        terminal.read_for(0.15)
    for key in F.values():
        terminal.send(key)
        terminal.read_for(0.3)
        terminal.send("\x1b[6~\r")
        terminal.read_for(0.2)
        terminal.send("\x1b")
        terminal.read_for(0.3)
    for line in (
        "/sessions",
        "/trace",
        "/tools",
        "/plugins",
        "/diff",
        "/context",
        "/tree",
        "/policy",
        "/status",
    ):
        terminal.send(f"{line}\r")
        terminal.read_for(0.6)
        terminal.send("\x1b[B")
        terminal.read_for(0.2)
        terminal.send("\x1b")
        terminal.read_for(0.3)
    assert terminal.process.poll() is None, terminal.text


@pytest.mark.parametrize(("name", "size"), [("night_shift", SIZES[0]), ("every_kind", SIZES[1])])
def test_only_own_bytes_reach_the_terminal_from_a_hostile_session(
    start: Start, program: Program, mock: tuple[str, ...], name: str, size: tuple[int, int]
) -> None:
    poison(program, name)
    with start("--session", SESSION, *mock, size=size) as terminal:
        terminal.until_text("Ask for a change")
        look_around(terminal)
        assert foreign(terminal.output, size) == []


def settled(terminal: Terminal) -> None:
    """Two megabytes on one line take a slow machine a while."""
    # Less than the time limit of a test, so that a failure shows the screen.
    terminal.until(lambda screen: "All settled." in screen, "the end of the turn", patience=100.0)


def hostile_files(program: Program) -> None:
    """Names of files as hostile as the disk takes them."""
    for number, text in enumerate(every_text()):
        name = f"{number}{text.replace('/', '_').replace(chr(0), '')}".encode("utf-8", "replace")
        (program.workspace / name[:200].decode("utf-8", "ignore")).write_text(
            text.encode("utf-8", "replace").decode()
        )


def test_only_own_bytes_reach_the_terminal_while_a_turn_runs(start: Start, program: Program) -> None:
    hostile_files(program)
    (program.workspace / "all.txt").write_text("\n".join(every_text()).encode("utf-8", "replace").decode())
    (program.workspace / "line.txt").write_text(("x" * 1_000_000 + "\u202e\x1b[7357m") * 2)
    (program.workspace / "noise.bin").write_bytes(Random(7357).randbytes(300_000))
    spoken = "".join(every_text()).encode("utf-8", "replace").decode()[:20_000]
    calls = [
        {"run_command": {"command": command}}
        for command in ("ls", "cat all.txt", "cat line.txt", "cat noise.bin")
    ]
    script = program.home / "script.json"
    answers = [{"reasoning": spoken, "text": spoken, "calls": [call]} for call in calls] + [
        {"text": f"{spoken} All settled."}
    ]
    script.write_text(yaml.safe_dump({"answers": answers}, allow_unicode=False))
    size = (120, 40)
    with start("-m", f"scripted:{script}", "--policy", "bypass", "go \x07on", size=size) as terminal:
        settled(terminal)
        look_around(terminal)
        terminal.send("@1")
        terminal.read_for(0.5)
        assert foreign(terminal.output, size) == []


OVERDRAWING = {
    "sequences": "echo ok " + " ".join(form for form in control_sequences()[:120] if "\0" not in form),
    "cleared": "echo \x1b[2J\x1b[H\x1b[3J\x1bc\x1b[?1049l\x1b[1;1r\x1b[10T\x1b[10S\x9b2J done",
    "blanks": "echo ok" + " " * 300 + "; rm -rf sub",
    "lines": "echo ok" + "\n" * 300 + "rm -rf sub",
    "wide": "echo " + "漢" * 300 + " ; rm -rf sub",
    "emoji": "echo " + "👩\u200d👩\u200d👧\u200d👦🇩🇪👍🏽" * 40 + " ; rm -rf sub",
    "piles": "echo " + ("Z" + "\u0301" * 30) * 40 + " ; rm -rf sub",
    "bidi": "echo \u202e" + "gnp.exe" * 30 + "\u2066 ; rm -rf sub",
    "halves": "echo " + "".join(classes()["private"]) + " ; rm -rf sub",
    "answers": "echo '\n  › Y  Yes, this once\n    N  No, and say why\n  Enter choose   Esc no' ; rm -rf sub",
}


class Judge:
    """A terminal's screen as pyte sees it."""

    def __init__(self, terminal: Terminal, size: tuple[int, int]) -> None:
        self._terminal = terminal
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._taken = 0

    def rows(self) -> list[str]:
        new = self._terminal.output[self._taken :]
        self._taken += len(new)
        # pyte reads keyboard modes as something else; they draw nothing.
        self._stream.feed(new.replace(b"\x1b[<u", b"").replace(b"\x1b[>25u", b"").replace(b"\x1b[>29u", b""))
        return list(self._screen.display)


@pytest.mark.parametrize("size", SIZES)
def test_no_command_draws_over_the_question_about_it(
    start: Start, program: Program, size: tuple[int, int]
) -> None:
    """One turn of all the commands. Each is denied, and the next one asked about."""
    script = program.home / "script.yaml"
    answers = [
        {"text": "I run it.", "calls": [{"run_command": {"command": command}}]}
        for command in OVERDRAWING.values()
    ]
    script.write_text(yaml.safe_dump({"answers": [*answers, {"text": "All settled."}]}, allow_unicode=False))
    with start("-m", f"scripted:{script}", "do it", size=size) as terminal:
        judge = Judge(terminal, size)
        for number, name in enumerate(OVERDRAWING, 1):
            terminal.until(
                lambda _, number=number: count(program, "permission.requested") == number,
                f"the question about {name}",
            )
            terminal.until_text("say why")
            terminal.read_for(0.5)
            judge_question(name, judge.rows())

            def is_answered(_: str, number: int = number) -> bool:
                return count(program, "permission.decided") == number

            # A second Escape after a slow answer would stop the turn.
            terminal.press_until("\x1b", is_answered, "the answer", again_s=15.0)
        terminal.until_text("All settled.")
        assert foreign(terminal.output, size) == []


def count(program: Program, kind: str) -> int:
    """The number of events of a kind in the log."""
    logs = program.data.glob("sessions/*/events.jsonl")
    return sum(log.read_bytes().count(f'"kind":"{kind}"'.encode()) for log in logs)


def judge_question(name: str, rows: list[str]) -> None:
    """The question about a command stands whole on the screen."""
    first = next(at for at, row in enumerate(rows) if "? Run a command?" in row)
    bar = rows[first].rindex("▌", 0, rows[first].index("? Run"))
    places = []
    for key, word in zip(
        "YSAN",
        ("Yes, this once", "Yes, this session", "Always, this project", "No, and say why"),
        strict=True,
    ):
        at = max(at for at, row in enumerate(rows) if word in row[bar:] and row[bar] == "▌")
        assert rows[at][bar + 1 :].lstrip("› ").startswith(f"{key}  {word}"), "\n".join(rows)
        places.append(at)
    last = places[-1] + 1
    assert places == sorted(places) and "Esc no" in rows[-1], "\n".join(rows)
    assert all(row[bar] == "▌" for row in rows[first : last + 1]), "\n".join(rows)
    assert (
        "rm -rf sub" not in OVERDRAWING[name]
        or "rm -rf sub" in "".join(rows)
        or "D whole command" in rows[-1]
    )


LEAKS = [
    "\x1b[31;7357m", "\x1b[8m", "\x1b[2J", "\x9b31m", "\x1b]0;x\x07", "\x1b]2;a\x1b\\", "\x1b]8;;http://x\x07", "\x1bP1$r0m\x1b\\", "\x1b_G\x1b\\",
    "\x1bc", "\x1b(0", "\x00", "\x08", "\u202e", "\u200b", "\U000e0041", "\ufe0f", "\x85", "\x1b[41;1H", "\x1b[1;200H", "\x1b[5n", "\x1b[38;2;1;2m",
]  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS, ids=ascii)
def test_the_judge_finds_a_planted_leak(leak: str) -> None:
    own = "\x1b[?1049h\x1b[1;1H\x1b[1;38;2;1;2;3;48;5;7mtext 漢 ✓\x1b[0m\x1b]2;title\x07\x07"
    assert foreign(own.encode(), (120, 40)) == []
    assert foreign(f"{own}{leak}{own}".encode(), (120, 40))


def test_the_judge_finds_what_is_no_text_at_all() -> None:
    assert foreign(b"ok \xff\xfe", (120, 40))
    assert foreign(b"ok \x1b[38;2;1", (120, 40)) == foreign("✓".encode()[:2], (120, 40)) == []
