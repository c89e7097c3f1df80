"""A repository whose configuration runs programs wherever it can: none of them runs, and nothing of it is touched."""

from pathlib import Path

from tests.stubs.checkpoints import begun, git, shadow, snapshot, taken, workspace, write

HOOKS = (
    "pre-commit",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
)


def trapped(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace full of traps, and the file that exists once one of them fired."""
    folder, fired = workspace(tmp_path, repository=True), tmp_path / "fired"
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {fired}\ncat\n')
    trap.chmod(0o755)
    write(
        folder,
        {".gitattributes": "* filter=lfs diff=evil text ident merge=evil working-tree-encoding=UTF-16\n"},
    )
    for hook in HOOKS:
        (folder / ".git" / "hooks" / hook).write_text(trap.read_text())
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    settings = {
        "core.fsmonitor": trap,
        "core.pager": trap,
        "core.editor": trap,
        "core.sshCommand": trap,
        "core.hooksPath": folder / ".git" / "hooks",
        "diff.external": trap,
        "diff.evil.textconv": trap,
        "diff.evil.command": trap,
        "filter.lfs.clean": trap,
        "filter.lfs.smudge": trap,
        "filter.lfs.process": trap,
        "filter.lfs.required": "true",
        "merge.evil.driver": trap,
        "gpg.program": trap,
        "commit.gpgSign": "true",
        "core.alternateRefsCommand": trap,
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.promisor": "true",
    }
    for name, value in settings.items():
        git(folder, "config", name, str(value))
    return folder, fired


async def test_no_program_of_the_repository_runs_and_nothing_of_it_changes(tmp_path: Path) -> None:
    folder, fired = trapped(tmp_path)
    own = snapshot(folder / ".git")
    made = await begun(folder)
    first = made.head
    write(folder, {"src/app.py": "new\n", "other": "x\n"})
    (folder / "README").unlink()
    second = await taken(made)
    assert await made.diff(first, second)
    plan = await made.plan_restore(first)
    await made.restore(plan)
    again = shadow(folder)
    await again.begin(made.head)
    await again.checkout(second, tmp_path / "out")
    await again.run_maintenance()
    await again.export_bundle(tmp_path / "all.bundle")
    assert await again.verify() == []
    assert not fired.exists()
    assert snapshot(folder / ".git") == own


async def test_a_callers_own_git_variables_are_not_passed_on(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    folder, fired = trapped(tmp_path)
    for name, value in (
        ("GIT_DIR", folder / ".git"),
        ("GIT_INDEX_FILE", folder / ".git" / "index"),
        ("GIT_EXTERNAL_DIFF", tmp_path / "trap"),
        ("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={tmp_path / 'trap'}'"),
        ("GIT_TRACE", tmp_path / "fired"),
    ):
        monkeypatch.setenv(name, str(value))
    own = snapshot(folder / ".git")
    made = await begun(folder)
    write(folder, {"README": "new\n"})
    await taken(made)
    assert snapshot(folder / ".git") == own
    assert not fired.exists()
