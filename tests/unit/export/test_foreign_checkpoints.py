"""Checkpoints that come in an archive are checked object by object; unsound ones are left out, and that is said."""

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.stubs.checkpoints import begun, git, snapshot, taken, workspace, write
from tests.stubs.store import said, store
from tui_agent.errors import CheckpointError
from tui_agent.export.archive.session_archive import export_archive, import_archive
from tui_agent.export.export_content import load_export
from tui_agent.export.html.page import to_html
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


def recorded(root: Path, text: str = "hello") -> Path:
    log = store(root).create("ses_a")
    model = ModelInfo(profile="p", provider="x", model="m")
    log.append(SessionStarted(workspace="/work", product="p", settings=SessionSettings(model=model)))
    log.append(said(text))
    log.close()
    return log.folder


async def archive_with(root: Path, bundle: Path) -> Path:
    """An archive of a session in which this file stands for the checkpoints."""
    plain, made = root / "plain.tar.gz", root / "made.tar.gz"
    await export_archive(recorded(root), Redactor(), plain)
    add_bundle(plain, made, bundle)
    return made


def add_bundle(plain: Path, made: Path, bundle: Path) -> None:
    data = bundle.read_bytes()
    with tarfile.open(plain) as old, tarfile.open(made, "w:gz") as new:
        for member in old:
            content = old.extractfile(member)
            assert content is not None
            raw = content.read()
            if member.name == "manifest.json":
                manifest = json.loads(raw)
                digest = hashlib.sha256(data).hexdigest()
                manifest["files"].append({"path": "repo.bundle", "size": len(data), "sha256": digest})
                raw = json.dumps(manifest).encode()
            member.size = len(raw)
            new.addfile(member, io.BytesIO(raw))
        last = tarfile.TarInfo("repo.bundle")
        last.size = len(data)
        new.addfile(last, io.BytesIO(data))


def hostile_bundle(root: Path, name: str) -> Path:
    """A bundle whose only commit has a file of this name, which git itself would never have taken up."""
    repository = root / "hostile"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=b"evil\n").strip()
    entry = f"100644 {name}".encode() + b"\0" + bytes.fromhex(blob)
    tree = git(repository, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=entry).strip()
    commit = git(repository, "commit-tree", tree, "-m", "agent: part 1").strip()
    git(repository, "update-ref", "refs/heads/main", commit)
    git(repository, "bundle", "create", "-q", str(root / "hostile.bundle"), "HEAD", "--all")
    return root / "hostile.bundle"


@pytest.mark.parametrize("name", ["..", ".git", "../escaped", "a/b"])
async def test_a_bundle_with_names_that_lead_elsewhere_is_left_out(tmp_path: Path, name: str) -> None:
    archive = await archive_with(tmp_path, hostile_bundle(tmp_path, name))
    made = await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    folder = tmp_path / "other" / "sessions" / made.session
    assert made.trouble
    assert sorted(path.name for path in Path.iterdir(folder)) == ["blobs", "events.jsonl"]


async def test_a_bundle_that_is_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "no.bundle").write_bytes(b"# v2 git bundle\nrubbish")
    archive = await archive_with(tmp_path, tmp_path / "no.bundle")
    made = await import_archive(archive, tmp_path / "other" / "sessions", "ses_new")
    assert made.trouble
    assert not (tmp_path / "other" / "sessions" / made.session / "checkpoints.git").exists()


async def test_a_store_of_a_bundle_goes_on_where_the_first_one_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = workspace(tmp_path)
    (folder / "README").chmod(0o600)
    made = await begun(folder)
    first = made.head
    write(folder, {"README": "new\n"})
    newest = await taken(made)
    await made.export_bundle(tmp_path / "all.bundle")
    shutil.rmtree(tmp_path / "checkpoints.git")
    again = GitCheckpoints(folder, tmp_path / "again.git")
    await again.import_bundle(Path("all.bundle"))
    await again.begin(newest)
    assert not await again.find_changes()
    await again.restore(await again.plan_restore(first))
    assert (folder / "README").read_text() == "read me\n"
    await again.checkout(newest, tmp_path / "out")
    assert (tmp_path / "out" / "README").stat().st_mode & 0o777 == 0o600
    assert snapshot(tmp_path / "out").keys() == snapshot(folder).keys()
    with pytest.raises(CheckpointError):
        await GitCheckpoints(folder, tmp_path / "third.git").import_bundle(tmp_path / "nowhere")


def test_a_secret_known_only_now_is_not_in_the_page(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "the key is hunter2-hunter2 " * 1_000)
    assert "hunter2" in to_html(load_export(folder, Redactor()))
    assert "hunter2" not in to_html(load_export(folder, Redactor(secrets={"KEY": "hunter2-hunter2"})))
