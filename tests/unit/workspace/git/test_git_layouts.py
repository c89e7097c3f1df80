"""Repositories as git and usual tools make them steer nothing; the same with one part that leads elsewhere does."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tests.stubs.steered_repositories import FSMONITOR, add_config, build_plain, git, link
from tui_agent.workspace.git.git_config import COMMANDS, SECTIONS
from tui_agent.workspace.git.unsafe_git_folders import can_run_programs
from tui_agent.workspace.sandbox.git_paths import find_git_places
from tui_agent.workspace.sandbox.placeholders import Placeholders

USUAL = {
    "lfs": '[lfs]\n\trepositoryformatversion = 0\n[lfs "https://example.org/x.git/info/lfs"]\n\taccess = basic\n\tlocksverify = true\n'
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge --skip -- %f\n\trequired = true\n'
    "\tprocess = git-lfs filter-process --skip\n",
    "husky": "[core]\n\thooksPath = .husky/_\n",
    "VS Code": '[branch "a/b"]\n\tremote = origin\n\tmerge = refs/heads/a/b\n\tvscode-merge-base = origin/main\n'
    '\tgithub-pr-owner-number = "microsoft#vscode#1234"\n',
    "GitHub CLI": '[remote "origin"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    '\tgh-resolved = base\n[credential "https://github.com"]\n\thelper =\n\thelper = !/usr/bin/gh auth git-credential\n',
    "a tool's own": '[gitflow "branch"]\n\tmaster = main\n[mine]\n\tfsmonitor = ./watch\n[vscode]\n\tx = "a \\"b\\" ; c"\n',
    "scalar and maintenance": "[feature]\n\texperimental = true\n[maintenance]\n\tauto = false\n\tstrategy = incremental\n"
    '[maintenance "gc"]\n\tenabled = false\n',
    "an identity": "[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n\tsigningkey = ~/.ssh/id.pub\n[commit]\n\tgpgsign = true\n"
    "[gpg]\n\tformat = ssh\n[core]\n\tsshCommand = ssh -i ~/.ssh/work -o IdentitiesOnly=yes\n",
    "a description": '[branch "x"]\n\tdescription = It does \\"this\\".\\n\\nAnd that.\\n\n',
    "ignored revisions": "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n",
    "aliases": '[alias]\n\tst = status\n\tgo = "!f() { git checkout \\"$1\\"; }; f"\n[pager]\n\tlog = false\n[color "diff"]\n\tmeta = yellow\n',
    "a merge driver that does nothing": '[merge "ours"]\n\tdriver = true\n',
    "its own watcher": "[core]\n\tfsmonitor\n\tuntrackedCache = true\n",
    "a checkout of GitHub's": '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic ***\n[gc]\n\tauto = 0\n',
    "comments": "# fsmonitor = ./watch\n; external = x\n  # x\n\n",
}  # fmt: skip
STEERED = {
    "a mark of the byte order": "\ufeff[core]\n\tfsmonitor = ./evil\n",
    "an end of lines as on Windows": "[core]\r\n\tbare = false\r\n",
    "a key that is not known": "[core]\n\tneverHeardOf = x\n",
    "hooks in the configuration": '[hook "x"]\n\tcommand = ./evil\n',
    "a watcher that never ends in an old git": "[core]\n\tfsmonitor = yes\n",
    "a text that never ends": '[diff "x"]\n\ttextconv = yes\n',
    "a filter of what a remote sends": '[remote "o"]\n\turl = .\n\tpartialCloneFilter = blob:none\n',
    "a pager": "[pager]\n\tstatus = ./evil\n",
    "an alias of a command that git may lack": "[alias]\n\tlfs = !./evil\n",
    "an alias with a subsection": '[alias "lfs"]\n\tcommand = !./evil\n',
    "an extension of lfs": '[lfs "extension.x"]\n\tclean = ./evil\n',
    "a filter named as that of lfs": '[filter "lfs"]\n\tclean = ./git-lfs clean -- %f\n',
    "signatures in the usual format": "[format]\n\tpretty = %GG\n",
    "signatures in a format": "[pretty]\n\tx = %GG\n",
    "submodules in differences": "[diff]\n\tsubmodule = log\n",
    "submodules in searches": "[submodule]\n\trecurse = true\n",
    "sha256": "[extensions]\n\tobjectFormat = sha256\n",
    "a mailmap": "[mailmap]\n\tfile = ../key\n",
    "attributes": "[core]\n\tattributesFile = ../key\n",
    "a command for ssh": "[core]\n\tsshCommand = ./evil\n",
    "a helper that is a program": "[credential]\n\thelper = !./evil\n",
    "a program of a remote": '[remote "o"]\n\tuploadpack = ./evil\n',
    "a helper of a remote": '[remote "o"]\n\tvcs = x\n',
    "an update that is a program": '[submodule "x"]\n\tupdate = !./evil\n',
    "an order by signatures": "[branch]\n\tsort = signature\n",
    "hooks that a newer git finds": "[core]\n\thooksPath = :(optional)h\n",
    "a work tree that is no repository": "[core]\n\tworktree = ../..\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_plain(tmp_path_factory.mktemp("plain") / "work")


@pytest.fixture
def work(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "work", symlinks=True))


def steers(work: Path, text: str) -> bool:
    before = (work / ".git" / "config").read_bytes()
    add_config(work, text)
    steered = can_run_programs(str(work))
    (work / ".git" / "config").write_bytes(before)
    return steered


@rows("name", USUAL)
def test_usual_settings_steer_nothing(plain: Path, name: str) -> None:
    assert not steers(plain, USUAL[name])


@rows("name", STEERED)
def test_other_settings_do(plain: Path, name: str) -> None:
    assert steers(plain, STEERED[name])


def test_every_section_that_git_knows_is_known() -> None:
    keys = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    sections = {
        line.partition(".")[0].lower() for line in keys.splitlines() if "." in line and " " not in line
    }
    assert len(sections) > 80 and not sections - SECTIONS


def test_no_alias_stands_for_a_command_that_the_policy_knows() -> None:
    folder = Path("tui_agent/policy/catalog/programs/git")
    assert {path.stem.split()[0] for path in folder.glob("*.toml")} == COMMANDS


@pytest.mark.slow
def test_a_clone_with_submodules_and_work_trees_steers_nothing(work: Path, tmp_path: Path) -> None:
    inner = build_plain(tmp_path / "inner")
    outer = build_plain(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(inner), "deep")
    git(outer, "commit", "-q", "-a", "-m", "deep")
    git(work, "submodule", "add", "-q", str(outer), "libs/outer")
    git(work, "commit", "-q", "-a", "-m", "outer")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--recurse-submodules", str(work), str(clone))
    git(clone, "config", "--unset-all", "submodule.active")
    for folder in (work, clone, clone / "libs" / "outer", clone / "libs" / "outer" / "deep"):
        assert not can_run_programs(str(folder)), folder
    config = clone / ".git" / "modules" / "libs" / "outer" / "modules" / "deep" / "config"
    before = config.read_text()
    config.write_text(before + FSMONITOR)
    for folder in (clone, clone / "libs" / "outer", clone / "libs" / "outer" / "deep"):
        assert can_run_programs(str(folder)), folder
    config.write_text(before)
    shutil.rmtree(clone / "libs" / "outer")
    assert not can_run_programs(str(clone))
    (clone / "libs" / "outer").mkdir()
    (clone / "libs" / "outer" / "private").write_text("x\n")
    assert can_run_programs(str(clone))


def test_a_linked_work_tree_of_a_repository_elsewhere_steers_nothing(work: Path, tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere" / "linked"
    git(work, "worktree", "add", "-q", "--detach", str(linked))
    git(linked, "config", "extensions.worktreeConfig", "true")
    git(linked, "config", "--worktree", "core.sparseCheckout", "false")
    assert not can_run_programs(str(linked)) and not can_run_programs(str(work))
    own = work / ".git" / "worktrees" / "linked"
    back = (own / "gitdir").read_text()
    (own / "gitdir").write_text(os.path.relpath(back.strip(), own) + "\n")
    assert not can_run_programs(str(linked))
    (own / "gitdir").write_text(f"{tmp_path / 'other' / '.git'}\n")
    assert can_run_programs(str(linked))
    (own / "gitdir").write_text(back)
    git(work, "config", "diff.external", "./evil")
    assert can_run_programs(str(linked))


def test_a_work_tree_that_shares_anything_but_its_main_repository_steers(work: Path) -> None:
    git(work, "worktree", "add", "-q", "--detach", str(work / "linked"))
    assert not can_run_programs(str(work))
    (work / ".git" / "worktrees" / "linked" / "commondir").write_text("../../../other\n")
    assert can_run_programs(str(work))


def test_a_sandbox_that_another_session_holds_in_the_repository_steers_nothing(
    work: Path, tmp_path: Path
) -> None:
    places = find_git_places(str(work))
    absent = [f"{places.folder}/{name}" for name in places.absent]
    with Placeholders(str(work), tmp_path / "records").hold(absent):
        assert (work / ".git" / "commondir").is_file() and (work / ".git" / "modules").is_dir()
        assert not can_run_programs(str(work))
        assert git(work, "status", "--short") == "M README.md"
        (work / ".git" / "commondir").write_text("./..\n")
        assert can_run_programs(str(work))


def test_a_folder_that_shares_a_repository_is_one_itself(work: Path) -> None:
    planted = work / "docs"
    (planted / "base" / "refs").mkdir(parents=True)
    (planted / "base" / "objects").mkdir()
    (planted / "HEAD").write_text("ref: refs/heads/main\n")
    (planted / "commondir").write_text("base\n")
    assert not can_run_programs(str(work)) and can_run_programs(str(work), ["docs"])


def test_git_that_sees_no_repository_here_goes_on_to_the_one_above(work: Path) -> None:
    inner = build_plain(work / "vendor")
    decoy = inner / "src" / ".git"
    decoy.mkdir(parents=True)
    assert not can_run_programs(str(work), ["vendor/src"])
    for name in ("refs", "objects"):
        (decoy / name).mkdir()
    add_config(inner, FSMONITOR)
    assert not can_run_programs(str(work)) and can_run_programs(str(work), ["vendor/src"])
    for head in ("ref: x\n", "", "ref: refs/heads/main\n\n", "0" * 39):
        (decoy / "HEAD").write_text(head)
        assert can_run_programs(str(work), ["vendor/src"]), head
    (decoy / "HEAD").write_text("ref: refs/heads/main\n")
    assert not can_run_programs(str(work), ["vendor/src"])
    (decoy / "refs").rmdir()
    (decoy / "refs").write_text("")
    assert can_run_programs(str(work), ["vendor/src"])


@pytest.mark.slow
def test_folders_without_end_and_pipes_are_not_waited_for(work: Path) -> None:
    os.mkfifo(work / ".git" / "packed-refs")
    assert can_run_programs(str(work))
    (work / ".git" / "packed-refs").unlink()
    assert not can_run_programs(str(work))
    deep = work / ".git" / "refs"
    for _ in range(1_500):
        deep /= "a"
        deep.mkdir()
    assert not can_run_programs(str(work))
    (deep / "x").symlink_to("/")
    assert can_run_programs(str(work))
    subprocess.run(
        ["rm", "-r", str(work / ".git" / "refs")], check=True
    )  # too deep for pytest's own cleaning


def test_states_of_a_repository_steer_nothing(work: Path, tmp_path: Path) -> None:
    git(work, "gc", "-q")
    git(work, "commit-graph", "write", "--reachable", "--split")
    git(work, "stash")
    git(work, "sparse-checkout", "set", "h")
    assert not can_run_programs(str(work))
    with pytest.raises(subprocess.CalledProcessError):
        git(work, "rebase", "-q", "-m", "--onto", "side~1", "main~1", "-x", "false")
    assert (work / ".git" / "rebase-merge").is_dir() and not can_run_programs(str(work))
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-local", f"file://{work}", "shallow")
    assert (tmp_path / "shallow" / ".git" / "shallow").exists() and not can_run_programs(
        str(tmp_path / "shallow")
    )


@rows(
    "name",
    [
        "config",
        "index",
        "HEAD",
        "refs/heads/modules/x",
        "logs/HEAD",
        "info/attributes",
        "refs/x",
        "objects/pack/ab",
    ],
)
def test_a_link_in_it_steers(plain: Path, tmp_path: Path, name: str) -> None:
    work = Path(shutil.copytree(plain, tmp_path / name, symlinks=True))
    link(name, "../../key")(work)
    assert can_run_programs(str(work))


def test_a_link_to_hooks_steers_only_where_one_runs_at_a_look(work: Path) -> None:
    link("hooks", "../scripts")(work)
    (work / "scripts").mkdir()
    assert not can_run_programs(str(work))
    (work / "scripts" / "post-index-change").symlink_to("../evil")
    assert can_run_programs(str(work))


def test_objects_may_be_borrowed_within_the_workspace(work: Path) -> None:
    git(work, "clone", "-q", "--shared", ".", "copy")
    assert not can_run_programs(str(work), ["copy"])
    assert can_run_programs(str(work / "copy"))


def test_a_key_of_no_section_steers(work: Path) -> None:
    (work / ".git" / "config").write_text("bare = false\n")
    assert can_run_programs(str(work))


def test_what_changes_is_looked_at_again(work: Path) -> None:
    assert not can_run_programs(str(work))
    config = work / ".git" / "config"
    text = config.read_text()
    for _ in range(3):
        config.write_text(text + "[diff]\n\texternal = a\n")
        assert can_run_programs(str(work))
        config.write_text(text + "[diffx]\n\texternal= a\n")
        assert not can_run_programs(str(work))


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\thooksPath = myhooks\n",
        "[core] hooksPath = myhooks\n",
        '[core] ; c\n\tHOOKSPATH="myhooks"\n',
        "[core]\n\thooksPath = \\\n\tmyhooks\n",
    ],
)
def test_a_folder_of_hooks_is_read_only_however_its_setting_is_written(work: Path, settings: str) -> None:
    (work / "myhooks").mkdir()
    add_config(work, settings)
    set_to = git(work, "config", "core.hooksPath")
    assert "myhooks" in set_to
    assert str(work / "myhooks") in find_git_places(str(work)).read_only


def test_a_work_tree_has_the_hooks_of_its_repository(work: Path, tmp_path: Path) -> None:
    git(work, "config", "core.hooksPath", "myhooks")
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    (tree / "myhooks").mkdir()
    assert str(tree / "myhooks") in find_git_places(str(tree)).read_only
