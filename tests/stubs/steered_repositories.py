"""Repositories that make git run a program or read a file of their own choice where it only looks, and a place to try them.

`./evil` leaves a file `ran` where the variable RAN says; a program that reads `outside/key` prints `FAKE-KEY`. Git runs only
in a throw-away sandbox without a network.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.stubs.left_out import leave_out

KEY = "FAKE-KEY"
EVIL = '#!/bin/sh\ntouch "$RAN"\nexit 1\n'
_NAMES = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.fsmonitor=false")
_ENVIRON = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C.UTF-8"}
Setup = Callable[[Path], None]


def git(folder: Path, *words: str) -> str:
    """Run git in a repository that does not steer it yet."""
    words = ("git", *_NAMES, "-c", "protocol.file.allow=always", *words)
    environ = {**os.environ, **_ENVIRON, "RAN": os.devnull}
    done = subprocess.run(words, cwd=folder, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build_plain(folder: Path) -> Path:
    """Make a repository with a merge, attributes and a changed file; nothing steers git yet."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--template=", "-b", "main", ".")
    (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (folder / "README.md").write_text("one\n")
    for name in ("evil", "h/post-index-change"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(EVIL)
        (folder / name).chmod(0o755)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "checkout", "-q", "-b", "side")
    _commit(folder, "side\n")
    git(folder, "checkout", "-q", "main")
    _commit(folder, "main\n")
    git(folder, "merge", "-q", "-s", "ours", "-m", "merge", "side")
    (folder / "README.md").write_text("dirty\n")
    return folder


def _commit(folder: Path, text: str) -> None:
    (folder / "README.md").write_text(text)
    git(folder, "commit", "-q", "-a", "-m", "change")


def add_config(folder: Path, text: str) -> None:
    """Add lines to a repository's configuration, as they are."""
    config = folder / ".git" / "config"
    config.write_bytes(config.read_bytes() + text.encode("utf-8", "surrogateescape"))


def configured(text: str) -> Setup:
    """Return what adds these lines to a configuration."""
    return lambda folder: add_config(folder, text)


def link(name: str, target: str) -> Setup:
    """Return what puts a link into `.git`, relative to where it lies."""

    def put(folder: Path) -> None:
        path = folder / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return put


def add_nested(folder: Path, name: str = "n") -> Path:
    """Add a repository that the index links to."""
    inner = build_plain(folder / name)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", "nested")
    return inner


FSMONITOR = "[core]\n\tfsmonitor = ./evil\n"


def _nested_twice(folder: Path) -> None:
    inner = add_nested(folder)
    add_config(add_nested(inner, "m"), FSMONITOR)
    git(folder, "commit", "-q", "-a", "-m", "n")


def _nested_index(*words: str) -> Setup:
    def build(folder: Path) -> None:
        inner = add_nested(folder)
        git(folder, *words)
        add_config(inner, FSMONITOR)

    return build


def _signed(folder: Path) -> None:
    commit = git(folder, "cat-file", "commit", "HEAD").split("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    (folder / "signed").write_text(f"{commit[0]}\n{signature}\n\nsigned\n")
    git(folder, "reset", "-q", "--soft", git(folder, "hash-object", "-t", "commit", "-w", "signed"))
    add_config(folder, "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = ./evil\n")


def _work_tree_outside(folder: Path) -> None:
    (folder / "key").write_text("x\n")
    git(folder, "add", "key")
    git(folder, "config", "core.worktree", "../../outside")


def _elsewhere(folder: Path) -> None:
    other = build_plain(folder.parent / "other")
    (other / "README.md").write_text(f"{KEY}\n")
    git(other, "commit", "-q", "-a", "-m", KEY)
    shutil.rmtree(folder / ".git")


def _file_to_elsewhere(folder: Path) -> None:
    _elsewhere(folder)
    (folder / ".git").write_text(f"gitdir: {folder.parent / 'other' / '.git'}\n")


def _link_to_elsewhere(folder: Path) -> None:
    _elsewhere(folder)
    (folder / ".git").symlink_to("../other/.git")


def _shared_with_elsewhere(folder: Path) -> None:
    _elsewhere(folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "commondir").write_text("../../other/.git\n")


def _borrowed_objects(folder: Path) -> None:
    _elsewhere(folder)
    git(folder, "init", "-q", "--template=", "-b", "main", ".")
    link("refs/heads/main", "../../../../other/.git/refs/heads/main")(folder)
    alternates = folder / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text("../../../other/.git/objects\n")


def _linked_objects(folder: Path) -> None:
    _elsewhere(folder)
    git(folder, "init", "-q", "--template=", "-b", "main", ".")
    link("refs/heads/main", "../../../../other/.git/refs/heads/main")(folder)
    shutil.rmtree(folder / ".git" / "objects")
    link("objects", "../../other/.git/objects")(folder)


def _interrupted_rebase(folder: Path) -> None:
    state = folder / ".git" / "rebase-merge"
    state.mkdir()
    (state / "interactive").write_text("")
    (state / "onto").write_text(git(folder, "rev-parse", "HEAD") + "\n")
    (state / "head-name").write_text("refs/heads/main\n")
    (state / "git-rebase-todo").write_text("")
    link("rebase-merge/done", "../../../outside/key")(folder)


STEERED: Mapping[str, Setup] = {
    "form feed": configured("[user]\n\tdummy = x\f[core]\n[core]\n\tx = y\f[user]\n\tfsmonitor = ./evil\n"),
    "two sections in a line": configured("[a] [core] fsmonitor = ./evil\n"),
    "comment before a backslash": configured("[core]\n# c\\\n\tfsmonitor = ./evil\n"),
    "sign of a comment in quotes": configured('[core]\n\tfsmonitor = "true;./evil"\n'),
    "hooks of the work tree": configured("[core]\n\thooksPath = h\n"),
    "merge driver": configured('[log]\n\tdiffMerges = remerge\n[merge "x"]\n\tdriver = ./evil\n'),
    "external diff": configured("[diff]\n\texternal = ./evil\n"),
    "text of a file": configured('[diff "x"]\n\ttextconv = ./evil\n'),
    "filter": configured('[filter "x"]\n\tclean = ./evil\n'),
    "signature": _signed,
    "submodule of a submodule": _nested_twice,
    "index of version 4": _nested_index("update-index", "--index-version", "4"),
    "split index": _nested_index("update-index", "--split-index"),
    "ignored revisions": configured("[blame]\n\tignoreRevsFile = ../outside/key\n"),
    "list of faults": configured("[fsck]\n\tskipList = ../outside/key\n"),
    "work tree outside": _work_tree_outside,
    "file to a repository elsewhere": _file_to_elsewhere,
    "link to a repository elsewhere": _link_to_elsewhere,
    "shared with a repository elsewhere": _shared_with_elsewhere,
    "borrowed objects": _borrowed_objects,
    "linked objects": _linked_objects,
    "linked references": link("packed-refs", "../../outside/key"),
    "linked list of commits": link("shallow", "../../outside/key"),
    "linked state of a rebase": _interrupted_rebase,
    "linked ignore file": link("info/exclude", "../../../outside/key"),
}
"""Executed with git 2.39: each runs `./evil` or prints the key."""

LOOKS = (
    "git status; git diff; git diff --cached; git log -p -m; git show -m HEAD; git blame README.md; git fsck; git branch -a;"
    f" git check-ignore -v {KEY}"
)


def run_confined(base: Path, script: str) -> str:
    """Run a script in a sandbox in which only `base` can be written; return its output."""
    if shutil.which("bwrap") is None:
        leave_out("bubblewrap is not installed")
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    words += ["--bind", str(base), str(base), "--unshare-all", "--die-with-parent", "--chdir", str(base)]
    for name, value in {**_ENVIRON, "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(base)}.items():
        words += ["--setenv", name, value]
    done = subprocess.run(
        [*words, "bash", "-c", script], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")
