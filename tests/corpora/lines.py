"""Reader of the corpora of command lines in `tests/corpora/policy`.

One command line a line, sections by `# class: NAME`, comments with `#`. Characters that an editor hides or a file of lines
cannot hold are written as signs: ␤ newline, ␍ carriage return, ␉ tab, ␋ vertical tab, ␌ form feed, and ⟨U+200B⟩ for any
character by its number.

*Invariant: every line of a file is a comment, empty or one command line of a named class.*
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "policy"
SIGNS = str.maketrans({"␤": "\n", "␍": "\r", "␉": "\t", "␋": "\v", "␌": "\f"})
BY_NUMBER = re.compile("⟨U\\+([0-9A-F]{4,6})⟩")
CLASS = "# class: "


@dataclass(frozen=True, slots=True)
class CorpusLine:
    """One command line: its line number in the file (from 1), its class, and its text with the signs resolved."""

    number: int
    class_name: str
    text: str


def corpus_names() -> list[str]:
    """Return the names of all corpora, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def read_corpus(name: str) -> list[CorpusLine]:
    """Return the command lines of the corpus `name`, in the order of its file.

    Raises FileNotFoundError for an unknown name and ValueError for a line before the first class.
    """
    lines: list[CorpusLine] = []
    class_name = ""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    for number, row in enumerate(text.split("\n"), start=1):
        if row.startswith(CLASS):
            class_name = row.removeprefix(CLASS)
        elif row and not row.startswith("#"):
            if not class_name:
                raise ValueError(f"{name}.txt, line {number}: no class before it")
            lines.append(CorpusLine(number, class_name, resolve_signs(row)))
    return lines


def resolve_signs(row: str) -> str:
    """Return a row of a corpus as the command line that it stands for."""
    return BY_NUMBER.sub(lambda found: chr(int(found[1], 16)), row.translate(SIGNS))
