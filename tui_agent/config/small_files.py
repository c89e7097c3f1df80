"""Reads small configuration files and writes the user's private files.

Invariant: only regular files are read, and other users can never read a private file.
"""

import os
import stat
from pathlib import Path

from tui_agent.errors import ConfigError, os_errors_as
from tui_agent.units import format_bytes

MAX_BYTES = 1 << 20
"""Maximum bytes of a configuration file."""


def read_small(path: Path) -> str | None:
    """Return the content of a small text file, or None if the file does not exist.

    Raise `ConfigError` if the file cannot be read.
    """
    try:
        content = read_regular(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Make the file readable for you, or remove it."
        ) from error
    if content is None:
        raise ConfigError(f"{path} is not a regular file.", hint="Remove the file.")
    return decode_text(content, path)


def decode_text(content: bytes, path: Path) -> str:
    """Decode the bytes of a configuration file.

    Raise `ConfigError` if the file is too large or not UTF-8.
    """
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {format_bytes(MAX_BYTES)}.", hint="Make the file smaller.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {error.start}).", hint="Save the file as UTF-8."
        ) from error


def read_regular(
    path: Path | str, limit: int, flags: int = 0, *, folder_fd: int | None = None
) -> bytes | None:
    """Read at most `limit` bytes of a regular file, or return None for any other kind of file.

    `folder_fd`: descriptor of the folder in which a relative path starts.

    Opening a file never blocks, even for a pipe. Raise `OSError` if the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=folder_fd)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def replace_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Atomically replace a file of the user. On failure, raise `OSError` and keep the old file."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file like `replace_private`, but raise `ConfigError` on failure."""
    with os_errors_as(
        ConfigError, f"{path} cannot be written", hint="Check the folder's permissions and free space."
    ):
        replace_private(path, text, mode)
