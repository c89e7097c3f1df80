"""The notes' folder: what a note is called, and how it is written."""

import re
from pathlib import Path

MAX_TITLE = 100


def path_of(folder: Path, title: str) -> Path:
    """The file of a note with this title."""
    slug = re.sub(r"[^\w]+", "-", title.lower(), flags=re.ASCII).strip("-")[:60]
    if not slug:
        slug = f"note-{abs(hash_of(title)):x}"
    return folder / f"{slug}.md"


def hash_of(text: str) -> int:
    """A number for a title without a letter that a file's name may have; the same in every run."""
    number = 0
    for char in text:
        number = (number * 131 + ord(char)) % (1 << 32)
    return number


def body_of(title: str, text: str) -> str:
    """The note as it is written."""
    return f"# {' '.join(title.split())}\n\n{text.strip()}\n"
