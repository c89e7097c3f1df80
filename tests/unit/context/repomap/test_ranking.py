"""Which files come first for a question, and what makes them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui_agent.context.repomap import graph, indexing
from tui_agent.context.repomap.answering import Ask, from_index
from tui_agent.context.repomap.facade import show_all
from tui_agent.context.repomap.kept import Kept, opened
from tui_agent.context.repomap.listing import list_files
from tui_agent.context.repomap.ranking import values_of
from tui_agent.context.repomap.snapshot import Snapshot
from tui_agent.context.repomap.texts import Texts
from tui_agent.context.repomap.words import Query

Files = dict[str, str]


class Repository:
    """Files on disk with an index of them, and questions to it."""

    def __init__(self, root: Path, kept: Kept, files: Files) -> None:
        self.root, self.kept = root, kept
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.listing = list_files(root, show_all)
        indexing.update(kept, str(root), self.listing.entries)
        graph.write(kept)
        self.index = Snapshot(kept, kept.files())

    def order(self, question: str) -> list[str]:
        """The files, best first."""
        ask = Ask(Query(question), 1_000, None, (), frozenset(), frozenset())
        basis = from_index(self.index, self.listing, Texts(str(self.root)), ask)
        return [one.path for one in basis.order]


Make = Callable[[Files], Repository]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    opens: list[Kept] = []

    def made(files: Files) -> Repository:
        opens.append(opened(tmp_path / f"index{len(opens)}.sqlite3", "key"))
        return Repository(tmp_path / f"repo{len(opens)}", opens[-1], files)

    yield made
    for kept in opens:
        kept.close()


def test_a_word_of_most_files_is_worth_something_but_less_than_a_rare_one(make: Make) -> None:
    files = {f"part{n}.py": "shared = 1\n" for n in range(5)} | {"odd.py": "rare = 1\n", "none.py": "x = 1\n"}
    index = make(files).index
    query = Query("shared rare")
    values = values_of(query, index.counts(list(query.weights)), len(files))
    found = index.matches(values, 100)
    assert 0.1 < found["part0.py"] < found["odd.py"] / 2


def test_the_worth_of_a_word_does_not_jump_where_half_of_the_files_have_it(make: Make) -> None:
    worth = []
    for having in (4, 5, 6):
        files = {f"has{n}.py": "shared = 1\n" for n in range(having)}
        files |= {f"lacks{n}.py": "other = 1\n" for n in range(10 - having)}
        index = make(files).index
        values = values_of(Query("shared"), index.counts(["shar"]), len(files))
        worth.append(index.matches(values, 100)["has0.py"])
    assert worth[0] > worth[1] > worth[2] > worth[0] / 3
