"""Commands that run a task's tests with bubblewrap, at the same paths as in the task's container."""

import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from tui_agent.errors import ConfigError

OWN_PLACES = ("/dev", "/proc", "/tmp", "/tests", "/logs")


def container_command(workspace: Path, tests: Path, logs: Path, work_dir: str) -> str:
    """Return the shell command that runs `bash /tests/test.sh` in `work_dir`.

    The command sees `workspace`, `tests` and `logs` as `work_dir`, `/tests` and `/logs`. All other files are read-only.

    Raise `ConfigError` if bubblewrap is not installed.
    """
    require_own_folder(work_dir)
    if shutil.which("bwrap") is None:
        raise ConfigError(
            "Running Harbor tests on this machine needs bubblewrap.",
            hint="Install it, e.g. apt-get install bubblewrap.",
        )
    words = ["bwrap", "--die-with-parent", "--unshare-pid"]
    words += _mounts(entry for entry in Path("/").iterdir() if not _is_covered(entry, work_dir))
    words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    words += [
        "--bind",
        str(workspace),
        work_dir,
        "--bind",
        str(tests),
        "/tests",
        "--bind",
        str(logs),
        "/logs",
    ]
    words += ["--chdir", work_dir, "--setenv", "VERIFIER_LOGS_DIR", "/logs/verifier"]
    return shlex.join([*words, "bash", "/tests/test.sh"])


def require_own_folder(work_dir: str) -> None:
    """Raise `ConfigError` if the working directory of a task is a folder of the system."""
    if work_dir == "/" or any(Path(work_dir).is_relative_to(place) for place in OWN_PLACES):
        raise ConfigError(
            f"The sandbox cannot use {work_dir} as the working directory of a task.",
            hint="Use --environment docker, which builds the task's image.",
        )


def _is_covered(entry: Path, work_dir: str) -> bool:
    return str(entry) in OWN_PLACES or Path(work_dir).parts[1:2] == entry.parts[1:2]


def _mounts(entries: Iterable[Path]) -> list[str]:
    words: list[str] = []
    for entry in sorted(entries):
        if entry.is_symlink():
            words += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry.exists():
            words += ["--ro-bind", str(entry), str(entry)]
    return words
