"""A map without an index: what it names where few files, or none, have a word of the question."""

from pathlib import Path

from tui_agent.context.repomap.answering import Ask, from_scan
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.listing import examine
from tui_agent.context.repomap.words import Query


def test_files_without_a_word_of_the_question_come_as_in_a_map_without_one(tmp_path: Path) -> None:
    names = ["login.py", "mail.py", "main.py"]
    for name in names:
        (tmp_path / name).write_text(f"def {name[:-3]}_it(): ...\n")
    listing = examine(tmp_path, names, bool, (0, 0))

    def order(words: str) -> list[str]:
        ask = Ask(Query(words), 1200, None, (), frozenset(), frozenset())
        return [one.path for one in from_scan(listing, str(tmp_path), ask, Languages(())).order]

    assert order("Fasse in einem Satz zusammen.") == order("") and len(order("")) == 3
    assert order("where is mail_it")[0] == "mail.py" and sorted(order("where is mail_it")) == names
