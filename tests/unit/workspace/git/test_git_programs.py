"""A repository whose own configuration names programs for git: then git itself is judged as one of them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.workspace.git.unsafe_git_folders import can_run_programs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def configured(root: Path, *lines: str) -> Path:
    config = root / ".git" / "config"
    config.write_text(config.read_text() + "\n".join(lines) + "\n")
    return root


RUN = {
    "fsmonitor": ["[core]", "  fsmonitor = touch /tmp/x; false"],
    "upper case": ["[CORE]", "\tFsMonitor=./watch"],
    "on the section's line": ["[core] fsmonitor = ./watch"],
    "external diff": ["[diff]", "external = ./show"],
    "a diff driver": ['[diff "pdf"]', "textconv = ./to-text"],
    "a diff command": ['[diff "x \\"y"]', 'command = "./it"'],
    "a filter": ['[filter "f"]', "clean = ./clean"],
    "a long filter": ['[filter "f"]', "process = ./serve"],
    "gpg": ['[gpg "ssh"]', "program = ./sign"],
    "more configuration": ["[include]", "path = ../more"],
    "more for a place": ['[includeIf "gitdir:/"]', "path = /x"],
    "a dotted section": ["[diff.pdf]", "textconv = ./to-text"],
    "a remote that objects are fetched from": ['[remote "o"]', "promisor = true", "uploadpack = ./serve"],
    "a partial clone": ["[extensions]", "partialClone = o"],
    "over two lines": ["[core]", "fsmonitor = \\", "./watch"],
}
LOOK = {
    "a usual one": [
        '[remote "origin"]',
        "url = https://example.org/x.git",
        '[branch "main"]',
        "remote = origin",
    ],
    "a remote that none are fetched from": ['[remote "o"]', "promisor = false"],
    "its own watcher": ["[core]", "fsmonitor = true", "untrackedCache = true"],
    "large files": ['[filter "lfs"]', "clean = git-lfs clean -- %f", "process = git-lfs filter-process"],
    "hooks of husky": ["[core]", "hooksPath = .husky/_"],
    "a comment": ["[core]", "# fsmonitor = ./watch", "; external = x"],
    "a helper for passwords": ["[credential]", "helper = store"],
    "another section's": ["[mine]", "fsmonitor = ./watch"],
}


@pytest.mark.parametrize("name", RUN)
def test_it_is_found_what_git_would_run(repository: Path, name: str) -> None:
    assert can_run_programs(str(configured(repository, *RUN[name])))


@pytest.mark.parametrize("name", LOOK)
def test_a_usual_configuration_names_none(repository: Path, name: str) -> None:
    assert not can_run_programs(str(configured(repository, *LOOK[name])))


def test_the_repository_above_counts_and_those_of_its_submodules(repository: Path) -> None:
    below = repository / "src" / "deep"
    below.mkdir(parents=True)
    module = repository / ".git" / "modules" / "a" / "lib"
    subprocess.run(["git", "init", "-q", "--bare", str(module)], check=True)
    assert not can_run_programs(str(below))
    (module / "config").write_text("[core]\nfsmonitor = ./watch\n")
    assert can_run_programs(str(below))
    (module / "config").unlink()
    configured(repository, "[diff]", "external = ./show")
    assert can_run_programs(str(below))


def test_a_hook_that_runs_at_a_look_and_a_configuration_that_cannot_be_read_count(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert not can_run_programs(str(repository))
    hook.chmod(0o755)
    assert can_run_programs(str(repository))
    hook.unlink()
    config = repository / ".git" / "config"
    config.unlink()
    config.symlink_to("/dev/zero")
    assert can_run_programs(str(repository))


def print_untracked(folder: Path, root: Path) -> bytes:
    """Compare two folders of a workspace by git from another one; return what it prints."""
    names = [os.path.relpath(root / name, folder) for name in ("docs", "src")]
    return subprocess.run(["git", "diff", *names], cwd=folder, capture_output=True, check=False).stdout


@pytest.fixture
def untracked(repository: Path) -> Path:
    for name in ("docs", "src", "plain"):
        (repository / name).mkdir()
        (repository / name / ".env").write_text(f"KEY={name}\n")
    subprocess.run(["git", "init", "-q", "--bare", str(repository / "bare.git")], check=True)
    return repository


def test_in_a_work_tree_git_compares_only_what_it_tracks(untracked: Path) -> None:
    assert not print_untracked(untracked, untracked)
    assert not can_run_programs(str(untracked), [".", "docs", "absent"])


@pytest.mark.parametrize("folder", [".git", ".git/refs", "bare.git", "bare.git/refs"])
def test_where_git_has_no_work_tree_it_compares_any_files(untracked: Path, folder: str) -> None:
    assert b"KEY=docs" in print_untracked(untracked / folder, untracked)
    assert can_run_programs(str(untracked), [folder]) and not can_run_programs(str(untracked))


@pytest.mark.parametrize("version", ["2", "1k"])
def test_a_repository_that_git_does_not_take_for_one_counts_as_none(untracked: Path, version: str) -> None:
    (untracked / ".git" / "config").write_text(f"[core]\n\trepositoryformatversion = {version}\n")
    assert b"KEY=docs" in print_untracked(untracked, untracked)
    assert can_run_programs(str(untracked))


def test_without_a_repository_git_compares_any_files(untracked: Path) -> None:
    shutil.rmtree(untracked / ".git")
    assert b"KEY=docs" in print_untracked(untracked, untracked)
    assert can_run_programs(str(untracked))


def test_a_workspace_of_several_repositories_needs_none_itself(untracked: Path) -> None:
    (untracked / "lib").mkdir()
    (untracked / ".git").rename(untracked / "lib" / ".git")
    assert not can_run_programs(str(untracked), ["lib"]) and can_run_programs(str(untracked), ["lib", "docs"])


def test_a_repository_of_another_user_needs_to_be_trusted(
    untracked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert can_run_programs(str(untracked))
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = /other\n\tdirectory = {untracked}\n")
    assert not can_run_programs(str(untracked))


def test_git_looks_for_no_repository_on_another_file_system(
    untracked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, mounted = os.stat, str(untracked / "docs")

    def look(path: str) -> os.stat_result:
        fields = list(found(path))
        fields[2] += path == mounted
        return os.stat_result(fields)

    monkeypatch.setattr(os, "stat", look)
    assert can_run_programs(str(untracked), ["docs"]) and not can_run_programs(str(untracked), ["src"])


@pytest.mark.parametrize("line", ["git status", "git diff", "cd src && git log | head", "time git ls-files"])
def test_a_look_by_git_is_asked_about_then(
    repository: Path, line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["policy", "check", "--json", "--cwd", str(repository), "--", line]
    main(words)
    assert json.loads(capfd.readouterr().out)["decision"] == "allow"
    configured(repository, "[core]", "fsmonitor = ./watch")
    main(words)
    judged = json.loads(capfd.readouterr().out)
    assert (judged["decision"], judged["rule"]) == ("ask", "guard.git-configuration")
    assert judged["classes"] == ["arbitrary"]


@pytest.fixture
def nested(repository: Path) -> Path:
    """A repository in the workspace whose own configuration names a program."""
    inner = repository / "vendor" / "x"
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    return configured(inner, "[core]", "fsmonitor = ./watch")


def test_a_repository_below_counts_where_git_runs_in_it(repository: Path, nested: Path) -> None:
    (nested / "deep").mkdir()
    assert not can_run_programs(str(repository), [".", "vendor", "absent", "vendor/y*"])
    for folder in ("vendor/x", "vendor/x/deep", "vendor/*", "vendor/../vendor/x", str(nested), "**"):
        assert can_run_programs(str(repository), [folder]), folder
    (repository / "link").symlink_to(nested)
    assert can_run_programs(str(repository), ["link"])


def test_a_repository_that_the_index_links_to_is_looked_at_with_it(repository: Path, nested: Path) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.fsmonitor=false"]
    subprocess.run(["git", *name, "commit", "-q", "--allow-empty", "-m", "a"], cwd=nested, check=True)
    assert not can_run_programs(str(repository))
    subprocess.run(["git", *name, "add", "vendor"], cwd=repository, check=True, capture_output=True)
    assert can_run_programs(str(repository))


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "line",
    [
        "git -C vendor/x status", "cd vendor/x && git status", "(cd vendor && cd x && git log)", "for d in vendor/*/; do (cd $d && git log); done",
        "find . -name .git -execdir git status \\;", "find . -name .git -exec git -C {} log \\;", "bash -c 'cd vendor/x; git status'",
    ],
)  # fmt: skip
def test_a_look_into_it_is_asked_about(nested: Path, line: str, capfd: pytest.CaptureFixture[str]) -> None:
    main(["policy", "check", "--json", "--cwd", str(nested.parent.parent), "--", line])
    assert json.loads(capfd.readouterr().out)["decision"] == "ask"
