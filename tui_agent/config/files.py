"""Reading small text files of configuration, and writing the user's private ones.

Invariant: only regular files are read, with a size limit; a private file is never readable by others, not even
for a moment, and is replaced whole.
"""

import os
import secrets
import stat
from pathlib import Path

from tui_agent.errors import ConfigError

MAX_BYTES = 1 << 20


def read_small(path: Path) -> str | None:
    """A small text file's content; None where there is none. Raises `ConfigError` where it cannot be read."""
    try:
        content = read_regular(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Make it readable for you, or remove it."
        ) from error
    if content is None:
        raise ConfigError(f"{path} is no regular file.", hint="Remove it.")
    return text_of(content, path)


def text_of(content: bytes, path: Path) -> str:
    """The text of a file of configuration that was read already. Raises `ConfigError`."""
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES >> 20} MiB.", hint="Make it smaller.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {error.start}).", hint="Save it as UTF-8."
        ) from error


def read_regular(path: Path | str, limit: int, flags: int = 0, *, within: int | None = None) -> bytes | None:
    """At most `limit` bytes of a regular file; None where it is none. Never waits for a pipe. Raises `OSError`.

    `within` is the descriptor of the folder that a relative path begins in.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=within)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def replace_private(path: Path, text: str) -> None:
    """Replace a file of the user's at once, with mode 0600, its folder 0700. Raises `OSError`; what was there is there
    then."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_private(path: Path, text: str) -> None:
    """`replace_private` for a file of configuration. Raises `ConfigError`."""
    try:
        replace_private(path, text)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", hint="Check the folder's permissions and space."
        ) from error
