"""Changes to files that may hold secrets: the log has the change but not the content, and an undo restores the file."""

from pathlib import Path

import pytest

from tests.engine.harness import say
from tests.engine.test_rewind import files, go, shell, told, turn
from tests.stubs.sandboxed import git
from tui_agent.engine.checkpoints.attribution import file_changed_event
from tui_agent.export.export_content import Texts
from tui_agent.export.formats import export_text
from tui_agent.folds.comparison.net_changes import net_file_changes
from tui_agent.folds.projection import fold
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.ports.checkpoint import FileDifference
from tui_agent.protocol.commands import Redo, RunUserShell, Undo
from tui_agent.protocol.events.files import FileChanged
from tui_agent.session.clock import SystemClock
from tui_agent.store.lineage import open_blobs
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

NOTE = "it may hold secrets, so its content is not recorded"
VALUES = ("4711-9932", "correct horse", "8888-1111")


def stored_bytes(folder: Path) -> bytes:
    """The bytes of a session's files, without its checkpoints."""
    found = (path for path in folder.rglob("*") if path.is_file() and "checkpoints.git" not in path.parts)
    return b"".join(path.read_bytes() for path in found)


async def test_the_users_change_of_a_secret_file_is_recorded_without_its_content(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q")
    session = tmp_path / "sessions" / "ses_test"
    async with told(tmp_path, say("A.")) as bench:
        await go(bench, RunUserShell(command="true"))
        (root / ".env").write_text("PIN=4711-9932\nMAILPW=correct horse\n")
        await go(bench, RunUserShell(command="true"))
        (root / ".gitignore").write_text(".env\n")
        (root / ".env").write_text("PIN=8888-1111\nMAILPW=correct horse\n")
        await go(bench, RunUserShell(command="true"))
        changes = [change for change in bench.of(FileChanged) if change.path == ".env"]
        assert [(change.added, change.removed) for change in changes] == [(2, 0), (1, 1)]
        assert changes[0].disk_sha256_after != changes[1].disk_sha256_after
        exported = [export_text(session, Redactor(), form) for form in ("markdown", "html", "jsonl")]
        assert NOTE in exported[0] and NOTE in exported[1]
        held = stored_bytes(session).decode("utf-8", "replace") + "".join(exported)
        assert [value for value in VALUES if value in held] == []


async def test_an_undo_restores_a_secret_file_that_a_command_changed(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".env").write_text("PIN=4711-9932\n")
    async with told(tmp_path, shell("sed -i s/9932/1111/ .env"), say("A.")) as bench:
        await turn(bench, "first")
        [change] = bench.of(FileChanged)
        assert (change.path, change.author, change.added, change.removed) == (".env", "command", 1, 1)
        [net] = net_file_changes(bench.events, open_blobs(tmp_path / "sessions" / "ses_test").find)
        assert (net.added, net.removed, net.hunks, net.note) == (1, 1, "", NOTE)
        await go(bench, Undo())
        assert files(tmp_path) == {".env": "PIN=4711-9932\n"}
        await go(bench, Redo())
        assert files(tmp_path) == {".env": "PIN=4711-1111\n"}
    assert b"4711-" not in stored_bytes(tmp_path / "sessions")


async def test_exports_hide_the_content_that_an_older_version_stored(tmp_path: Path) -> None:
    texts = Texts(open_blobs(tmp_path), Redactor(is_secret_file=may_hold_secrets))
    digest = open_blobs(tmp_path).put_bytes(b"PIN=4711-9932\n")
    async with told(tmp_path, say("A.")) as bench:
        await turn(bench, "first")
        change = FileChanged(
            path="config/.env",
            before=None,
            after=digest,
            before_size=0,
            after_size=14,
            mode=0o644,
            author="human",
            added=1,
            removed=0,
        )
        exported = texts.build_change(bench.events[-1], change)
        assert (exported.diff, exported.note) == ("", f"{NOTE}, 0 B to 14 B")
        by_command = change.model_copy(update={"author": "command"})
        view = fold(FilesChanged(), [bench.events[-1].model_copy(update={"payload": by_command})])
        assert [net.note for net in texts.net_changes(view)] == [NOTE]


@pytest.mark.parametrize(
    ("versions", "counts"),
    [
        ((None, "A=1\nB=2\n", "A=1\nB=2\nC=3\n"), (1, 0)),
        ((None, "A=1\nB=2\n", "A=1\n"), (0, 1)),
        ((None, "A=1\nB=2\n", None), (0, 2)),
        (("A=1\n", "A=1\nB=2\n", "A=1\n"), (0, 1)),
        (("A=1\n", None, "A=1\nB=2\n"), (2, 0)),
    ],
)
def test_a_change_after_a_recorded_change_of_a_secret_file_counts_its_lines(
    tmp_path: Path, versions: tuple[str | None, ...], counts: tuple[int, int]
) -> None:
    redactor = Redactor(is_secret_file=may_hold_secrets)
    blobs = SessionStore(tmp_path / "sessions", SystemClock(), redactor).create("ses_1").blobs
    start, middle, end = (None if text is None else text.encode() for text in versions)

    def difference(before: bytes | None, after: bytes | None) -> FileDifference:
        return FileDifference(".env", before, after, len(before or b""), len(after or b""), 0o600)

    recorded = file_changed_event(blobs, difference(start, middle), "agent", None)
    event = file_changed_event(blobs, difference(start, end), "human", None, recorded)
    assert (event.added, event.removed) == counts
