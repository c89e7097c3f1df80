"""What git knows of the user's repository, asked without the repository's configuration.

Invariant: git runs on a folder of our own with a configuration of our own, in which only the repository's objects and
its index are lent; so that no monitor, filter, hook, pager, diff program or alias of the repository is ever run, nothing
is fetched, and nothing is written into it. Blocking: called in a thread or in a process of its own.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.programs import find_program, safe_path
from tui_agent.config.repository import Repository, find_repository, small_text

PATIENCE_S = 10.0
ATTRIBUTES = "* -filter -ident -working-tree-encoding !diff !merge\n"
CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfsmonitor = false
\tuntrackedCache = false
\thooksPath = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
[submodule]
\trecurse = false
{extensions}"""
SHA256 = "[extensions]\n\tobjectFormat = sha256\n"
LENT = ("info/exclude", "shallow")
ALWAYS = (
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
)


def repository_of(root: Path) -> Repository | None:
    """The repository that `root` is in; None where it is in none."""
    try:
        return find_repository(root)
    except OSError:
        return None


def ask_git(root: Path, *words: str, patience: float = PATIENCE_S) -> bytes | None:
    """What git answers in `root`; None where that is in no repository, or git is not there or does not know."""
    repository = repository_of(root)
    program = find_program("git", root, os.environ) if repository is not None else None
    if repository is None or program is None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="tui-agent-git-") as place:
            _lend(Path(place), repository)
            done = subprocess.run(
                [program, *ALWAYS, *words],
                cwd=root,
                env=_environment(Path(place), repository, root),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=patience,
                check=True,
            )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _lend(place: Path, repository: Repository) -> None:
    """Make a repository that has nothing of its own."""
    commit = repository.commit
    sha256 = len(commit) == 64
    for folder in ("refs/heads", "info"):
        (place / folder).mkdir(parents=True)
    text = CONFIG.format(version=1 if sha256 else 0, extensions=SHA256 if sha256 else "")
    (place / "config").write_text(text, encoding="utf-8")
    (place / "HEAD").write_text(f"{commit}\n" if commit else "ref: refs/heads/none\n", encoding="utf-8")
    (place / "info" / "attributes").write_text(ATTRIBUTES, encoding="utf-8")
    for name in LENT:
        lent = small_text(repository.common / name)
        if lent:
            (place / name).write_bytes(lent.encode("utf-8", "surrogateescape"))


def _environment(place: Path, repository: Repository, root: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "PATH": safe_path(root, os.environ),
        "GIT_DIR": str(place),
        "GIT_WORK_TREE": str(repository.top),
        "GIT_INDEX_FILE": str(repository.own / "index"),
        "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
