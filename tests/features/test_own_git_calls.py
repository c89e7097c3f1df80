"""Our own git calls run no program of the repository: not its monitor, filters, hooks, pagers, diff programs, aliases."""

import subprocess
from pathlib import Path

import pytest

from tests.stubs.hostile_repository import Hostile, build
from tui_agent.config.project.git_query import query_git
from tui_agent.config.project.repository import find_repository
from tui_agent.config.system_programs import find_program, safe_path
from tui_agent.context.repomap.index_db import open_index
from tui_agent.context.repomap.repository_map import RepoMap
from tui_agent.session.fork_workspace import add_worktree, filter_overrides
from tui_agent.tui.controller.start_page import folder_facts
from tui_agent.tui.prompt.completion_files import list_files
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    made = build(tmp_path / "shop" / "repo", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f".::{made.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.chdir(made.folder)
    return made


def test_the_traps_are_live(hostile: Hostile) -> None:
    assert hostile.traps >= 100 and hostile.fired() == []
    for words in (("status",), ("diff",), ("checkout", "-f", "HEAD"), ("st",), ("fetch",)):
        subprocess.run(["/usr/bin/git", *words], cwd=hostile.folder, capture_output=True, check=False)
    fired = set(hostile.fired())
    assert {"git_included_fsmonitor", "git_clean", "git_smudge", "git_process", "git_alias"} <= fired
    assert {"git_clean_odd_name", "git_hook_post-index-change", "git_ext_remote"} <= fired


def test_branch_state_and_completion_of_the_screen(hostile: Hostile) -> None:
    assert folder_facts(hostile.folder).startswith("git main, ")
    assert "README.md" in list_files(hostile.folder)
    assert query_git(hostile.folder, "diff", "--stat", "HEAD") is not None
    assert hostile.fired() == []


def test_an_added_submodule_counts_as_a_change_as_in_git_status(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    words = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    for folder in (inner, outer):
        subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
        subprocess.run(["git", *words, "commit", "-qm", "x", "--allow-empty"], cwd=folder, check=True)
    add = ["git", *words, "submodule", "--quiet", "add", str(inner), "libs/sub"]
    subprocess.run(add, cwd=outer, check=True, capture_output=True)
    assert folder_facts(outer) == "git main, 2 changed"
    (outer / "libs/sub/new.txt").write_text("x")
    assert folder_facts(outer) == "git main, 2 changed"


@pytest.mark.slow
def test_the_map_of_the_repository_with_its_history(hostile: Hostile, tmp_path: Path) -> None:
    mapped = RepoMap(hostile.folder, tmp_path / "cache")
    assert "README.md" in mapped.map("readme", refresh=True).text
    mapped.close()
    kept = open_index(mapped.index, mapped.key)
    assert kept.commits.row_ids()
    kept.close()
    assert hostile.fired() == []


async def test_checkpoints_are_taken_looked_at_and_put_back(hostile: Hostile, tmp_path: Path) -> None:
    shadow = GitCheckpoints(hostile.folder, tmp_path / "store.git")
    await shadow.begin("")
    first = shadow.head
    (hostile.folder / "a.trap").write_text("written by the agent\n")
    changes = await shadow.find_changes()
    await shadow.commit(changes, part=1, author="agent", message="one")
    await shadow.checkout(first, tmp_path / "out")
    await shadow.plan_restore(first)
    assert (tmp_path / "out" / "a.trap").read_text() == "changed\n"
    assert hostile.fired() == []


@pytest.mark.slow
async def test_a_work_tree_for_a_fork_has_the_files_and_runs_no_filter(
    hostile: Hostile, tmp_path: Path
) -> None:
    shadow = GitCheckpoints(hostile.folder, tmp_path / "store.git")
    await shadow.begin("")
    below, _ = await add_worktree(hostile.folder, tmp_path / "tree", tmp_path / "store.git", shadow.head)
    assert (below / "a.trap").read_text() == (below / "b.odd").read_text() == "changed\n"
    await add_worktree(hostile.folder, tmp_path / "plain", tmp_path / "store.git", "")
    assert (tmp_path / "plain" / "a.trap").read_text() == "a.trap\n"
    assert hostile.fired() == []


def test_only_filters_of_the_repository_are_switched_off() -> None:
    listed = b"global\0filter.lfs.process\0local\0filter.a=b.clean\0worktree\0FILTER.x.y.smudge\0local\0core.bare\0"
    off = filter_overrides(listed)
    assert off["GIT_CONFIG_COUNT"] == "8"
    assert {value for key, value in off.items() if "KEY" in key} == {
        f"filter.{driver}.{key}"
        for driver in ("a=b", "x.y")
        for key in ("clean", "smudge", "process", "required")
    }


def test_no_program_is_found_in_the_folder_that_is_worked_in(hostile: Hostile) -> None:
    environ = {"PATH": f".:relative:{hostile.folder}:{hostile.folder / 'bin'}::/usr/bin:/bin"}
    assert safe_path(hostile.folder, environ) == "/usr/bin:/bin"
    assert find_program("git", hostile.folder, environ) == "/usr/bin/git"
    assert find_program("npx", hostile.folder, {"PATH": str(hostile.folder)}) is None


def test_a_link_outside_to_a_program_inside_is_not_taken(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "git").symlink_to(hostile.folder / "git")
    assert find_program("git", hostile.folder, {"PATH": str(tmp_path / "tools")}) is None


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("head", "branch", "known"),
    [
        ("ref: refs/heads/main\n", "main", True),
        ("ref: refs/heads/a/b\n", "a/b", False),
        ("0" * 40, "", True),
        ("ref: ../../../etc/passwd\n", "", False),
        ("ref: refs/../../../secret\n", "", False),
        ("-- --upload-pack=touch\n", "", False),
    ],
)
def test_the_branch_is_read_from_small_files_whatever_they_say(
    hostile: Hostile, head: str, branch: str, known: bool
) -> None:
    (hostile.folder / ".git" / "HEAD").write_text(head)
    repository = find_repository(hostile.folder / "src")
    assert repository is not None
    assert (repository.branch, bool(repository.commit)) == (branch, known)
    folder_facts(hostile.folder)
    assert hostile.fired() == []
