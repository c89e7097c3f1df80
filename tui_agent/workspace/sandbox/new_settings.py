"""Renaming of a confined command's new settings, for example `.claude` and `.vscode`.

Other programs would use such settings without asking. The files are renamed when the command has ended.

Invariant: nothing is deleted, and nothing that existed before the command is touched.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count

SUFFIX = ".sandboxed"


@contextmanager
def rename_new(root: str, names: Iterable[str], more: Callable[[], Iterable[str]]) -> Iterator[list[str]]:
    """Rename new files at the top of the workspace that have one of the `names`, at the end of the `with` block.

    A file is new if it appeared during the block. Yield a list that gets a note on each renamed file.

    `more`: function that returns further names at the end of the block, such as `HEAD`.
    """
    before = set(os.listdir(root))  # noqa: PTH208 - only names are needed
    notes: list[str] = []
    try:
        yield notes
    finally:
        for name in (*names, *more()):
            path = f"{root.rstrip('/')}/{name}"
            if name not in before and os.path.lexists(path):
                notes.append(f"{name} appeared while the command ran. {_rename(path)}")


def _rename(path: str) -> str:
    free = next(free for number in count() if not os.path.lexists(free := f"{path}{SUFFIX}{number or ''}"))
    try:
        os.rename(path, free)  # noqa: PTH104 - a link is renamed, not followed
    except OSError as error:
        return f"It could not be renamed ({error.strerror}), although other programs use it without asking."
    new_name = free.rpartition("/")[2]
    return f"It was renamed to {new_name}, because other programs use it without asking. Only the user may rename it back."
