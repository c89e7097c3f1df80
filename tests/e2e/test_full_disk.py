"""A disk that is really full, under the real program: told at once, nothing unrecorded runs, and space goes on."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal
from tests.stubs.small_disk import small_disk

pytestmark = pytest.mark.e2e
SIZE = "12m"


class SmallDisk:
    """A file system of its own, which can be filled and freed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.ballast = place / "ballast"

    def fill(self, *, but: int = 0) -> None:
        """Leave `but` bytes, no more."""
        with self.ballast.open("ab", buffering=0) as file:
            piece = b"\0" * (1 << 16)
            while piece:
                try:
                    written = file.write(piece)
                except OSError:
                    written = 0
                if written < len(piece):
                    piece = piece[: len(piece) // 2]
            if but:
                file.truncate(max(0, file.tell() - but))

    def free(self) -> None:
        """Room again."""
        self.ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", SIZE) as place:
        yield SmallDisk(place)


@pytest.fixture
def on_disk(program: Program, disk: SmallDisk) -> Program:
    """The program with its home, and so its data, on the small disk; it works elsewhere."""
    home = disk.place / "home"
    home.mkdir()
    return replace(program, home=home)


def script(program: Program, text: str) -> tuple[str, ...]:
    path = program.workspace.parent / "script.yaml"
    path.write_text(text)
    return ("-m", f"scripted:{path}", "--policy", "bypass")


def whole(program: Program) -> None:
    """All sessions are as they should be."""
    done = program.run_in_process("sessions", "verify", "--all")
    assert done.returncode == 0, done.stdout


HELLO = "answers:\n  - text: Hello.\n"


def test_a_run_that_cannot_record_its_prompt_says_so_and_runs_nothing(
    on_disk: Program, disk: SmallDisk
) -> None:
    words = script(on_disk, f"{HELLO}  - calls: [{{run_command: {{command: touch ran}}}}]\n  - text: Done.\n")
    assert on_disk.run_in_process("run", "one", *words).returncode == 0
    disk.fill()
    done = on_disk.run("run", "two", "--continue", *words)
    assert done.returncode != 0
    assert "space" in done.stderr and "Traceback" not in done.stderr
    assert not (on_disk.workspace / "ran").exists()
    disk.free()
    assert on_disk.run_in_process("run", "two", "--continue", *words).returncode == 0
    assert (on_disk.workspace / "ran").exists()
    whole(on_disk)


def test_a_disk_that_fills_up_in_a_turn_stops_before_the_next_call(
    on_disk: Program, disk: SmallDisk, mock: tuple[str, ...]
) -> None:
    settings = on_disk.home / ".config" / "tui-agent" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[sandbox]\nmode = "off"\n')  # a confined command could not fill this disk
    fill = f"cat /dev/zero > {disk.ballast}"
    words = script(
        on_disk,
        "answers:\n"
        f"  - calls: [{{run_command: {{command: '{fill}; touch first; date +%s.%N > full'}}}}]\n"
        "  - calls: [{run_command: {command: touch second}}]\n"
        "  - text: Done.\n",
    )
    done = on_disk.run("run", "go", "--session", "ses_filled", *words)
    told = time.time()
    assert done.returncode != 0
    assert "space" in done.stderr and "Traceback" not in done.stderr
    assert (on_disk.workspace / "first").exists()
    assert not (on_disk.workspace / "second").exists()
    assert told - float((on_disk.workspace / "full").read_text()) < 5
    disk.free()
    assert on_disk.run_in_process("run", "again", "--session", "ses_filled", *mock).returncode == 0
    whole(on_disk)
    shown = on_disk.run_in_process("sessions", "show", "ses_filled", "--json").stdout
    kinds = [json.loads(line)["payload"]["kind"] for line in shown.splitlines()]
    assert kinds.count("tool.started") == 1 and kinds.count("tool.finished") == kinds.count("tool.called")


def test_an_export_to_a_full_disk_says_so_and_leaves_no_half_file(program: Program, disk: SmallDisk) -> None:
    write = "answers:\n  - calls: [{write_file: {path: new.txt, content: new}}]\n  - text: Done.\n"
    assert program.run_in_process("run", "one", *script(program, write)).returncode == 0
    out = disk.place / "exports"
    out.mkdir()
    forms = ("html", "archive", "bundle", "jsonl")
    exports = [("sessions", "export", "latest", "--format", form, "-o", str(out / form)) for form in forms]
    disk.fill()
    for words in exports:
        done = program.run_in_process(*words)
        assert done.returncode != 0, (words, done.stdout, done.stderr)
        assert "space" in done.stderr and "Traceback" not in done.stderr, (words, done.stderr)
        assert list(out.iterdir()) == [], words
    disk.free()
    for words in exports:
        done = program.run_in_process(*words)
        assert done.returncode == 0, (words, done.stderr)


def test_an_import_or_a_fork_on_a_full_disk_says_so_and_leaves_no_half_session(
    program: Program, on_disk: Program, disk: SmallDisk
) -> None:
    long = "answers:\n  - calls: [{write_file: {path: new.txt, content: new}}]\n  - text: Done.\n"
    assert (
        on_disk.run_in_process("run", "one", "--session", "ses_one", *script(on_disk, long)).returncode == 0
    )
    archive = program.workspace / "one.tar.gz"
    assert (
        on_disk.run_in_process(
            "sessions", "export", "ses_one", "--format", "archive", "-o", str(archive)
        ).returncode
        == 0
    )
    disk.fill()
    for words in (("import", str(archive)), ("fork", "ses_one", "--at", "5")):
        done = on_disk.run_in_process("sessions", *words)
        assert done.returncode != 0, words
        assert "space" in done.stderr and "Traceback" not in done.stderr, done.stderr
        listed = on_disk.run_in_process("sessions", "list", "--json")
        assert listed.returncode == 0, listed.stderr
        assert [json.loads(line)["id"] for line in listed.stdout.splitlines()] == ["ses_one"]
    disk.free()
    for words in (("import", str(archive)), ("fork", "ses_one", "--at", "5")):
        done = on_disk.run_in_process("sessions", *words)
        assert done.returncode == 0, done.stderr
    whole(on_disk)


def test_a_draft_that_cannot_be_kept_is_told_in_the_app(on_disk: Program, disk: SmallDisk) -> None:
    words = script(on_disk, HELLO)
    line = on_disk.line(*words)
    with Terminal(line, size=(100, 30), cwd=on_disk.workspace, environment=on_disk.environment) as terminal:
        terminal.until_text("Ask for a change")
        terminal.send("hello\r")
        terminal.until_text("Hello.")
        disk.fill()
        terminal.send("half a thought")
        terminal.until_text("space")
        disk.free()
        terminal.send(" more")
        drafts = on_disk.data / "sessions"
        terminal.until(lambda screen: "half a thought more" in screen, "what was typed")
        end = time.monotonic() + 60
        while not any("more" in path.read_text() for path in drafts.glob("*/draft")):
            assert time.monotonic() < end, "the draft is not kept"
            terminal.read_for(0.05)


def kinds_of(program: Program, session: str) -> list[dict[str, object]]:
    shown = program.run_in_process("sessions", "show", session, "--json").stdout
    return [json.loads(line)["payload"] for line in shown.splitlines()]


def seq_before(program: Program, session: str, text: str) -> int:
    """The event before the user's message."""
    payloads = kinds_of(program, session)
    return (
        next(at for at, one in enumerate(payloads) if one["kind"] == "user.message" and one["text"] == text)
        - 1
    )


def test_a_revert_that_has_no_room_says_so_and_changes_no_file(on_disk: Program, disk: SmallDisk) -> None:
    place = disk.place / "work"
    place.mkdir()
    program = replace(on_disk, workspace=place)
    path = on_disk.workspace.parent / "script.yaml"
    path.write_text(
        "answers:\n"
        "  - calls: [{run_command: {command: head -c 2000000 /dev/urandom > big}}]\n"
        "  - text: Made.\n"
        "  - calls: [{run_command: {command: rm big; echo x > small}}]\n"
        "  - text: Gone.\n"
    )
    words = ("--session", "ses_r", "-m", f"scripted:{path}", "--policy", "bypass")
    assert program.run_in_process("run", "one", *words).returncode == 0
    content = (place / "big").read_bytes()
    assert program.run_in_process("run", "two", *words).returncode == 0
    revert = ("sessions", "revert", "ses_r", "--to", str(seq_before(program, "ses_r", "two")))
    for left in (0, 400_000):  # bytes that the log still finds, and the file does not
        disk.fill(but=left)
        done = program.run_in_process(*revert)
        assert done.returncode != 0, left
        assert "space" in done.stderr and "Traceback" not in done.stderr, done.stderr
        assert {each.name for each in place.iterdir()} == {"small"}
        disk.free()
    done = program.run_in_process(*revert)
    assert done.returncode == 0, done.stderr
    assert (place / "big").read_bytes() == content and not (place / "small").exists()
    whole(program)


def test_a_checkpoint_that_has_no_room_is_told_and_taken_once_there_is_some(
    on_disk: Program, disk: SmallDisk
) -> None:
    big = "head -c 3000000 /dev/urandom > big"
    words = script(
        on_disk,
        f"{HELLO}  - calls: [{{run_command: {{command: '{big}'}}}}]\n  - text: Made.\n"
        "  - calls: [{run_command: {command: echo more > more}}]\n  - text: More.\n",
    )
    assert on_disk.run_in_process("run", "one", "--session", "ses_c", *words).returncode == 0
    disk.fill(but=1_500_000)
    done = on_disk.run_in_process("run", "two", "--session", "ses_c", *words)
    assert (done.returncode, (on_disk.workspace / "big").stat().st_size) == (0, 3_000_000), done.stderr
    told = [one for one in kinds_of(on_disk, "ses_c") if one["kind"] == "error.raised"]
    assert told and all("space" in f"{one['message']} {one['hint']}" for one in told), told
    assert not list(on_disk.home.rglob("tmp_obj_*"))  # it would take the rest of the disk
    disk.free()
    assert on_disk.run_in_process("run", "three", "--session", "ses_c", *words).returncode == 0
    to = str(seq_before(on_disk, "ses_c", "three"))
    assert on_disk.run_in_process("sessions", "revert", "ses_c", "--to", to).returncode == 0
    assert not (on_disk.workspace / "more").exists()
    whole(on_disk)


def test_a_setting_that_cannot_be_written_is_told_and_the_old_one_stays(
    on_disk: Program, disk: SmallDisk
) -> None:
    assert on_disk.run_in_process("plugins", "disable", "todo").returncode == 0
    before = on_disk.run_in_process("plugins", "list", "--json").stdout
    disk.fill()
    done = on_disk.run_in_process("plugins", "disable", "search")
    assert done.returncode != 0
    assert "space" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert on_disk.run_in_process("plugins", "list", "--json").stdout == before
    disk.free()
    assert on_disk.run_in_process("plugins", "disable", "search").returncode == 0
