"""A fork in its own folder lacks the generated folders that checkpoints hold, such as `.venv`, and says so."""

import json
import shutil
from pathlib import Path

import pytest

from tests.stubs.checkpoints import git, write
from tests.unit.cli.test_session_fork import Call, log
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import fold
from tui_agent.store.log_reader import read_records

SCRIPT = """
answers:
  - text: I write it.
    calls:
      - {write_file: {path: new.txt, content: "one\\n"}}
      - {write_file: {path: .venv/installed.py, content: "by the agent"}}
  - text: Done.
  - text: And again.
    calls:
      - {write_file: {path: later.txt, content: "two\\n"}}
  - text: Done again.
"""
FOLDERS = [".venv/", "web/node_modules/"]
NOTE = (
    "Left out: .venv/, web/node_modules/ (installed or generated files). "
    "Install or build them again in the fork's folder."
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    write(
        folder,
        {
            "a.txt": "as found\n",
            ".venv/lib/site.py": "x = 1\n",
            "web/page.js": "page\n",
            "web/node_modules/dep.js": "dep\n",
            "web/__pycache__/page.pyc": "cache\n",
            ".cache/kept.txt": "committed\n",
        },
    )
    (tmp_path / "script.yaml").write_text(SCRIPT)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder


def run(call: Call, tmp_path: Path, *words: str) -> None:
    script = ("-m", f"scripted:{tmp_path / 'script.yaml'}", "--policy", "accept-edits")
    status, out, err = call("run", *words, *script)
    assert status == 0, out + err


def fork(call: Call, tmp_path: Path, *words: str) -> dict[str, object]:
    at = log(tmp_path)[-1]["seq"]
    status, out, err = call("sessions", "fork", "ses_a", "--at", str(at), *words, "--json")
    assert status == 0, err
    made: dict[str, object] = json.loads(out)
    return made


def names(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.parts[0] != ".git"}


def test_a_fork_lacks_generated_folders_and_tells_the_user_and_the_model(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    git(work, "add", "-f", ".cache")
    run(call, tmp_path, "write it", "--session", "ses_a")
    with (work / ".venv/large.bin").open("wb") as file:
        file.truncate(6_000_000)
    made = fork(call, tmp_path, "--folder", "../try")
    assert names(tmp_path / "try") == {"a.txt", "new.txt", "web/page.js", ".cache/kept.txt"}
    assert NOTE in str(made["note"]) and "over 5 MB" not in str(made["note"])
    assert isinstance(made["changed"], dict) and made["changed"]["left_out_folders"] == FOLDERS
    run(call, tmp_path, "again", "--session", str(made["id"]))
    own = [event["payload"] for event in log(tmp_path, str(made["id"])) if event["seq"] > made["seq"]]
    changed = [payload["path"] for payload in own if payload["kind"] == "file.changed"]
    assert changed == ["later.txt"], "the user removed nothing"
    assert not any(payload.get("folders") for payload in own if payload["kind"] == "checkpoint.taken")
    messages = fold(ModelMessages(), read_records(tmp_path / "sessions" / str(made["id"])))
    assert "without ignored files and the generated folders .venv/, web/node_modules/." in repr(messages)


@pytest.mark.parametrize("is_redacted", [False, True])
def test_folders_that_an_imported_fork_lacks_are_not_the_users_change(
    call: Call, tmp_path: Path, work: Path, is_redacted: bool
) -> None:
    run(call, tmp_path, "write it", "--session", "ses_a")
    fork_id = str(fork(call, tmp_path, "--folder", "../try")["id"])
    archive = str(tmp_path / "fork.tar.gz")
    redact = ("--redact",) if is_redacted else ()
    status, _, err = call("sessions", "export", fork_id, "--format", "archive", "-o", archive, *redact)
    assert status == 0, err
    (tmp_path / "sessions" / fork_id).rename(tmp_path / "moved")
    assert call("sessions", "import", archive)[0] == 0
    imported = len(log(tmp_path, fork_id))
    run(call, tmp_path, "again", "--session", fork_id)
    own = [event["payload"] for event in log(tmp_path, fork_id)[imported:]]
    assert [payload["path"] for payload in own if payload["kind"] == "file.changed"] == ["later.txt"]
    assert not any(payload.get("folders") for payload in own if payload["kind"] == "checkpoint.taken")
    assert call("sessions", "verify", fork_id)[0] == 0


def test_an_undo_in_the_fork_does_not_bring_a_part_of_a_generated_folder_back(
    call: Call, tmp_path: Path, work: Path
) -> None:
    run(call, tmp_path, "write it", "--session", "ses_a")
    made = fork(call, tmp_path, "--folder", "../try")
    first = next(event["seq"] for event in log(tmp_path) if event["payload"]["kind"] == "user.message")
    status, _, err = call("sessions", "revert", str(made["id"]), "--to", str(first - 1))
    assert status == 0, err
    assert names(tmp_path / "try") == {"a.txt", "web/page.js"}
    assert call("sessions", "verify", str(made["id"]))[0] == 0


def test_a_work_tree_keeps_the_committed_files_of_a_generated_folder(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    git(work, "add", "-f", ".cache", "a.txt")
    git(work, "commit", "-qm", "first")
    run(call, tmp_path, "write it", "--session", "ses_a")
    made = fork(call, tmp_path, "--worktree", "../tree")
    assert names(tmp_path / "tree") == {"a.txt", "new.txt", "web/page.js", ".cache/kept.txt"}
    assert made["note"] == NOTE


def test_a_fork_of_a_workspace_that_is_gone_lacks_only_virtual_environments(
    call: Call, tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(work, "init", "-q")
    git(work, "add", "-f", ".cache", "web/node_modules")
    git(work, "commit", "-qm", "first")
    write(work, {".venv/pyvenv.cfg": "home = /usr/bin\n"})
    run(call, tmp_path, "write it", "--session", "ses_a")
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(work)
    made = fork(call, tmp_path, "--folder", "try")
    kept = {".cache/kept.txt", "web/node_modules/dep.js", "web/__pycache__/page.pyc"}
    assert names(tmp_path / "try") == {"a.txt", "new.txt", "web/page.js", *kept}
    assert "Left out: .venv/ (installed" in str(made["note"])


def test_a_fork_keeps_all_generated_folders_if_git_gives_no_answer(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    git(work, "add", "-f", ".cache")
    git(work, "commit", "-qm", "first")
    run(call, tmp_path, "write it", "--session", "ses_a")
    (work / ".git/index").write_bytes(b"damaged")
    fork(call, tmp_path, "--folder", "../try")
    assert {".cache/kept.txt", "web/node_modules/dep.js"} <= names(tmp_path / "try")


def test_a_work_tree_keeps_a_committed_folder_that_is_no_longer_in_the_index(
    call: Call, tmp_path: Path, work: Path
) -> None:
    git(work, "init", "-q")
    git(work, "add", "-f", "web/node_modules", "a.txt")
    git(work, "commit", "-qm", "first")
    run(call, tmp_path, "write it", "--session", "ses_a")
    git(work, "rm", "-rq", "--cached", "web/node_modules")
    made = fork(call, tmp_path, "--worktree", "../tree")
    assert "web/node_modules/dep.js" in names(tmp_path / "tree")
    assert isinstance(made["changed"], dict) and made["changed"]["left_out_folders"] == [".cache/", ".venv/"]


def test_a_fork_without_a_checkpoint_lacks_generated_folders_too(
    call: Call, tmp_path: Path, work: Path
) -> None:
    run(call, tmp_path, "write it", "--session", "ses_a")
    for path in (tmp_path / "sessions/ses_a").glob("checkpoints.git"):
        path.rename(tmp_path / "moved.git")
    log_path = tmp_path / "sessions/ses_a/events.jsonl"
    lines = [
        line for line in log_path.read_text().splitlines(keepends=True) if "checkpoint.taken" not in line
    ]
    log_path.write_text("".join(lines))
    made = fork(call, tmp_path, "--folder", "../try")
    assert "The fork gets the workspace's current files." in str(made["note"])
    assert names(tmp_path / "try") == {"a.txt", "new.txt", "web/page.js"}
