"""Runs read-only git queries on the user's repository, ignoring its configuration.

The functions of this module block: call them in a thread.

Invariant: no program from the repository's configuration (filter, hook, pager) runs, and nothing is written.
"""
# Git runs in a temporary repository that uses only the objects and the index of the user's repository.

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tui_agent.config.project.generated_folders import GeneratedFolders
from tui_agent.config.project.repository import Repository, find_repository, read_small_text
from tui_agent.config.system_programs import find_program, safe_path

TIMEOUT_S = 10.0
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
BORROWED_FILES = ("info/exclude", "shallow")
COMMON_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.pager=cat"),
)


def locate_repository(root: Path) -> Repository | None:
    """Return the git repository that contains `root`, or None if there is none."""
    try:
        return find_repository(root)
    except OSError:
        return None


def list_own_files(root: Path, *, timeout_s: float = TIMEOUT_S) -> list[str] | None:
    """Return the tracked files, and the untracked files that are neither ignored nor generated.

    A nested repository is one item, without `/` at its end. Return None if there is no repository or git fails.
    """
    output = query_git(root, "ls-files", "-z", "-t", "-co", "--exclude-standard", timeout_s=timeout_s)
    if output is None:
        return None
    items = [item.partition(" ") for item in os.fsdecode(output).split("\0") if item]
    names = {name for _, _, name in items}
    folder_of = GeneratedFolders(names.__contains__).folder_of
    return [name.rstrip("/") for tag, _, name in items if name and (tag != "?" or not folder_of(name))]


def query_git(root: Path, *words: str, timeout_s: float = TIMEOUT_S) -> bytes | None:
    """Run git on the repository of `root` and return the output.

    Return None if git or the repository is missing, or if git fails.
    """
    repository = locate_repository(root)
    program = find_program("git", root, os.environ) if repository is not None else None
    if repository is None or program is None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="tui-agent-git-") as folder:
            _prepare_repository(Path(folder), repository)
            completed = subprocess.run(
                [program, *COMMON_OPTIONS, *words],
                cwd=root,
                env=_environment(Path(folder), repository, root),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=timeout_s,
                check=True,
            )
    except (OSError, subprocess.SubprocessError):
        return None
    return completed.stdout


def _prepare_repository(folder: Path, repository: Repository) -> None:
    commit = repository.commit
    sha256 = len(commit) == 64
    for subfolder in ("refs/heads", "info"):
        (folder / subfolder).mkdir(parents=True)
    config = CONFIG.format(version=1 if sha256 else 0, extensions=SHA256 if sha256 else "")
    (folder / "config").write_text(config, encoding="utf-8")
    (folder / "HEAD").write_text(f"{commit}\n" if commit else "ref: refs/heads/none\n", encoding="utf-8")
    (folder / "info" / "attributes").write_text(ATTRIBUTES, encoding="utf-8")
    for name in BORROWED_FILES:
        text = read_small_text(repository.common_folder / name)
        if text:
            (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def _environment(folder: Path, repository: Repository, root: Path) -> Mapping[str, str]:
    return {
        **git_environment(root, os.environ),
        "GIT_DIR": str(folder),
        "GIT_WORK_TREE": str(repository.top),
        "GIT_INDEX_FILE": str(repository.git_folder / "index"),
        "GIT_OBJECT_DIRECTORY": str(repository.common_folder / "objects"),
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


def git_environment(workspace: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables for read-only git commands. With them, git neither fetches nor prompts."""
    inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return {
        **inherited,
        "PATH": safe_path(workspace, environ),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
