"""The checkpoints of a fork, and its git work tree.

Invariant: only `add_worktree` changes the user's repository, and no program from the repository's configuration runs.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import anyio
from anyio import to_thread

from tui_agent.config.project.generated_folders import VENV_FILE, GeneratedFolders
from tui_agent.config.project.git_query import git_environment, locate_repository, query_git
from tui_agent.config.settings.settings import CheckpointSettings
from tui_agent.config.system_programs import find_program
from tui_agent.errors import UsageError
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.unicode_text import list_first
from tui_agent.store.log_reader import read_records
from tui_agent.workspace.checkpoints.alternates import (
    alternates_file,
    describe_missing_folders,
    read_alternates,
)
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits, read_limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints
from tui_agent.workspace.checkpoints.store_state import MAIN_REF

STORE_NAME = "checkpoints.git"
MAX_LOST_NAMED = 8
MAX_BORROW_DEPTH = 3
"""Maximum length of a chain of forks that each use their parent's git objects."""
# Git follows at most five alternates, and the user's repository is one of them.
MAX_FILE_BYTES = Limits().file_bytes


def load_state(folder: Path, at_seq: int | None = None) -> SessionStateView:
    """Return the state at the end of a session's current branch, or at the event `at_seq`."""
    if at_seq is None:
        return fold(SessionState(), read_records(folder, skip_deltas=True, current_branch_only=True))
    until = [record for record in read_records(folder) if record.seq <= at_seq]
    return fold(SessionState(), current_branch(until))


def fork_checkpoints(parent_folder: Path, child_folder: Path) -> None:
    """Give a fork access to its parent's checkpoints. Raise `OSError` if a file cannot be copied."""
    objects, store = parent_folder / STORE_NAME / "objects", child_folder / STORE_NAME
    commit = load_state(child_folder).commit
    if not commit or not objects.is_dir():
        return
    # Git accepts a folder as a repository if it has `objects`, `refs` and `HEAD`.
    for folder in ("objects/info", "objects/pack", "refs/heads"):
        (store / folder).mkdir(parents=True, exist_ok=True)
    store.chmod(0o700)
    if _borrow_depth(parent_folder) < MAX_BORROW_DEPTH:
        alternates_file(store).write_bytes(os.fsencode(objects.absolute()) + b"\n")
    else:
        _copy_objects(parent_folder, child_folder)
    (store / MAIN_REF).write_text(f"{commit}\n")
    (store / "HEAD").write_text(f"ref: {MAIN_REF}\n")


async def remove_from_checkpoints(child_folder: Path, folders: Sequence[str]) -> None:
    """Remove from a fork's newest checkpoint the folders that its workspace lacks.

    Otherwise, they would look like folders that the user removed. Raise `CheckpointError` if the checkpoints cannot be
    used.
    """
    state = load_state(child_folder)
    if folders and state.commit:
        shadow = GitCheckpoints(Path(state.workspace), child_folder / STORE_NAME)
        await shadow.remove_folders(state.commit, folders)


def detach_checkpoints(parent_folder: Path, child_folder: Path) -> None:
    """Make the fork independent of its parent: copy the git objects that the fork uses from `parent_folder`.

    Raise `OSError` if an object cannot be copied.
    """
    if _alternates_line(parent_folder) in _borrowed_paths(child_folder):
        _copy_objects(parent_folder, child_folder)


def _copy_objects(parent_folder: Path, child_folder: Path) -> None:
    """Hard-link or copy the parent's git objects into the child."""
    source, target = parent_folder / STORE_NAME / "objects", child_folder / STORE_NAME / "objects"
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if path.is_dir():
            (target / inner).mkdir(parents=True, exist_ok=True)
        elif inner.parts[0] != "info" and not (target / inner).exists():  # `info/alternates` is merged below
            _link(path, target / inner)
    # The parent's own lenders stay, since their objects were not copied. The list is replaced only now, when every
    # object is in place: after a crash before this line, the fork still borrows from its parent.
    lines = [*_borrowed_paths(child_folder), *_borrowed_paths(parent_folder)]
    remaining = [line for line in dict.fromkeys(lines) if line != _alternates_line(parent_folder)]
    alternates = alternates_file(child_folder / STORE_NAME)
    draft = alternates.with_name("alternates.new")
    draft.write_bytes(b"".join(line + b"\n" for line in remaining))
    draft.replace(alternates)
    if not remaining:
        alternates.unlink()


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or one without hard links
        draft = target.with_name(f".tmp-{target.name}")
        shutil.copyfile(source, draft)
        draft.replace(target)


def _alternates_line(folder: Path) -> bytes:
    return os.fsencode((folder / STORE_NAME / "objects").absolute())


def _borrowed_paths(folder: Path) -> list[bytes]:
    return [line for line in read_alternates(folder / STORE_NAME / "objects") if line]


def _borrow_depth(folder: Path) -> int:
    """Return the number of ancestors whose git objects this session uses, also indirectly."""
    depth, current = 0, folder
    while depth <= MAX_BORROW_DEPTH:
        object_folders = [Path(os.fsdecode(line)) for line in _borrowed_paths(current)]
        lenders = [path.parent.parent for path in object_folders if path.parent.name == STORE_NAME]
        if not lenders:
            break
        depth, current = depth + 1, lenders[0]
    return depth


async def verify_checkpoints(folder: Path) -> list[str]:
    """Check a session's checkpoints. Return a sentence for each defect."""
    state, own_commits = load_state(folder), _commits(folder)
    if not (folder / STORE_NAME).is_dir():
        missing = f"Checkpoints: {folder / STORE_NAME} is missing; no files can be restored."
        return [missing] if own_commits else []
    shadow = GitCheckpoints(folder, folder / STORE_NAME)
    if shadow.unavailable_reason:
        return []
    defects = await shadow.verify()
    # If borrowed objects are missing, every commit would look lost; the reported defects already say so.
    lender_missing = await to_thread.run_sync(describe_missing_folders, folder / STORE_NAME)
    lost = [] if lender_missing and defects else await shadow.find_lost(own_commits)
    if lost:
        names = list_first([commit[:12] for commit in lost], MAX_LOST_NAMED)
        defects.append(
            f"{len(lost)} of the log's checkpoints are lost ({names}); their files cannot be restored"
        )
    if state.commit and not defects:
        await shadow.list_files(state.commit)
    return [f"Checkpoints: {line}." for line in defects]


def _commits(folder: Path) -> list[str]:
    """Return the commits of this session's own checkpoints and restores, without those of its parents."""
    commits = []
    for record in read_records(folder, skip_deltas=True):
        match record:
            case Envelope(session=session, payload=CheckpointTaken() | CheckpointRestored() as payload):
                if session == folder.name:
                    commits.append(payload.commit)
    return commits


async def checkpoint_notes(folder: Path, settings: CheckpointSettings) -> list[str]:
    """Return notes for the user about the session's checkpoints."""
    shadow = GitCheckpoints(folder, folder / STORE_NAME, limits=read_limits(settings))
    if shadow.unavailable_reason or not (folder / STORE_NAME).is_dir():
        return []
    note = await shadow.describe_borrowed()
    return [note] if note else []


async def checkout_for_fork(
    shadow: GitCheckpoints, commit: str, dest: Path, workspace: Path
) -> tuple[str, ...]:
    """Write a checkpoint's files into an empty or new folder, without generated folders such as `.venv`.

    `workspace`: the workspace of the checkpoint.

    Return the paths of the folders that were left out, each with `/` at its end. In the fork, programs in such a folder
    would still use the files of the old folder. The user can install or build the folder again.
    """
    paths = [file.path for file in await shadow.list_files(commit)]
    left_out = await to_thread.run_sync(_find_generated, paths, workspace)
    await shadow.checkout(commit, dest, left_out)
    return left_out


def _find_generated(paths: Sequence[str], workspace: Path) -> tuple[str, ...]:
    """Return the generated folders around `paths` in which the user's repository has no files.

    If the repository's files are unknown, return only virtual environments.
    """
    known_paths = set(paths)
    committed_folders = _find_committed_folders(workspace)
    if committed_folders is None:
        generated = GeneratedFolders(known_paths.__contains__).count(paths)
        return tuple(sorted(folder for folder in generated if f"{folder}{VENV_FILE}" in known_paths))
    generated = GeneratedFolders(known_paths.__contains__, committed_folders.__contains__).count(paths)
    return tuple(sorted(generated.keys() - committed_folders))


def _find_committed_folders(workspace: Path) -> frozenset[str] | None:
    """Return the folders with files that are in the newest commit or staged. The paths end with `/`.

    Return None if they are unknown: the workspace is gone, or git fails.
    """
    if not workspace.is_dir():
        return None
    repository = locate_repository(workspace)
    if repository is None:
        return frozenset()
    # A folder that the user is about to remove from the repository is still part of the newest commit.
    newest_commit = (f"--with-tree={repository.commit}",) if repository.commit else ()
    output = query_git(workspace, "ls-files", "-z", *newest_commit)
    if output is None:
        return None
    parents = (PurePosixPath(path).parents for path in os.fsdecode(output).split("\0"))
    return frozenset(f"{folder}/" for folders in parents for folder in folders)


async def add_worktree(workspace: Path, dest: Path, store: Path, commit: str) -> tuple[Path, tuple[str, ...]]:
    """Create a git work tree at `dest` with the files of the checkpoint `commit`.

    The work tree belongs to the user's repository. Return the folder in the work tree that corresponds to `workspace`,
    and the generated folders that were left out (see `checkout_for_fork`). Raise `UsageError` if git refuses. Raise
    `CheckpointError` if the checkpoint cannot be read.
    """
    top = (await run_user_git(workspace, "rev-parse", "--show-toplevel")).strip()
    await run_user_git(workspace, "worktree", "add", "--detach", "--", str(dest), "HEAD")
    target = _same_folder_in(workspace, Path(top), dest)
    if not commit:
        return target, ()
    # Inside `dest`, so that the files are on the same file system and can be moved instead of copied.
    with tempfile.TemporaryDirectory(dir=dest, prefix=".checkpoint-") as temporary:
        shadow = GitCheckpoints(workspace, store)
        left_out = await checkout_for_fork(shadow, commit, Path(temporary), workspace)
        has_files = target.is_dir()
        tracked = await run_user_git(workspace, "-C", str(target), "ls-files", "-z") if has_files else ""
        names = [name for name in tracked.split("\0") if name]
        await to_thread.run_sync(_overlay, Path(temporary), target, names)
    return target, left_out


def _same_folder_in(workspace: Path, top: Path, dest: Path) -> Path:
    return dest / workspace.resolve().relative_to(top.resolve())


def _overlay(files: Path, target: Path, tracked: Sequence[str]) -> None:
    for name in tracked:
        path = target / name
        # A folder at the path of a tracked file is a submodule that is not checked out.
        is_folder = path.is_dir() and not path.is_symlink()
        # A tracked file that the checkpoint lacks was deleted in the session. Larger files are in no checkpoint, so
        # nothing is known about them.
        if not is_folder and not os.path.lexists(files / name) and path.lstat().st_size <= MAX_FILE_BYTES:
            path.unlink()
            _remove_empty_folders(path.parent, target)
    for inner, _, names in os.walk(files):
        target_folder = target / Path(inner).relative_to(files)
        target_folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (Path(inner) / name).replace(target_folder / name)


def _remove_empty_folders(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


# The agent can write to the repository's configuration. Hooks, a file monitor or filters there would run as programs of
# the user, outside the sandbox, so all of them are turned off.
SAFE_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_REPOSITORY_SCOPES = (b"local", b"worktree")
_FILTER_OFF = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))


async def run_user_git(folder: Path, *args: str) -> str:
    """Run git in the repository of `folder`, and return git's output.

    Raise `UsageError` if git is missing or refuses.
    """
    program = find_program("git", folder, os.environ)
    if program is None:
        raise UsageError("The program `git` was not found.", hint="Install git, or leave out --worktree.")
    env = git_environment(folder, os.environ)
    config_names = await _run(program, folder, env, "config", "--list", "--show-scope", "--name-only", "-z")
    out = await _run(program, folder, {**env, **filter_overrides(config_names)}, *args)
    return out.decode("utf-8", "surrogateescape")


def filter_overrides(listed: bytes) -> dict[str, str]:
    """Return environment variables that disable all filters in the repository's own configuration.

    `listed`: output of `git config --list --show-scope --name-only -z`.
    """
    fields = listed.split(b"\0")
    drivers: dict[str, None] = {}
    for scope, name in zip(fields[::2], fields[1::2], strict=False):
        section, _, rest = name.decode("utf-8", "surrogateescape").partition(".")
        driver, _, key = rest.rpartition(".")
        if scope in _REPOSITORY_SCOPES and section.lower() == "filter" and driver and key:
            drivers[driver] = None
    # Environment variables, because in `-c name=value` a `=` in a driver's name would end the name.
    overrides = [(f"filter.{driver}.{key}", value) for driver in drivers for key, value in _FILTER_OFF]
    variables = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for number, (key, value) in enumerate(overrides):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


async def _run(program: str, folder: Path, env: Mapping[str, str], *args: str) -> bytes:
    process = await anyio.run_process((program, *SAFE_OPTIONS, *args), cwd=folder, env=env, check=False)
    if process.returncode:
        error_lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"git {_subcommand(args)} failed in {folder}: {error_lines[-1] if error_lines else f'exit status {process.returncode}'}.",
            hint="--worktree needs a workspace in a git repository and a new folder.",
        )
    return process.stdout


def _subcommand(args: Sequence[str]) -> str:
    return args[2] if args[0] == "-C" else args[0]
