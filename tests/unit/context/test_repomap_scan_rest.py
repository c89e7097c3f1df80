"""A map without an index: what it names where few files, or none, have a word of the question."""

from pathlib import Path

import pytest

from tui_agent.context.repomap.file_list import stat_files
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.map_query import Ask, ClosedFlag, rank_by_scan
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.redacted_text import Cleaner


def test_files_without_a_word_of_the_question_come_as_in_a_map_without_one(tmp_path: Path) -> None:
    names = ["login.py", "mail.py", "main.py"]
    for name in names:
        (tmp_path / name).write_text(f"def {name[:-3]}_it(): ...\n")
    listing = stat_files(tmp_path, names, bool, (0, 0))

    def order(words: str) -> list[str]:
        ask = Ask(Query(words), 1200, None, (), frozenset(), frozenset())
        return [
            one.path
            for one in rank_by_scan(listing, str(tmp_path), ask, Languages(()), Cleaner(), ClosedFlag()).order
        ]

    assert order("Fasse in einem Satz zusammen.") == order("") and len(order("")) == 3
    assert order("where is mail_it")[0] == "mail.py" and sorted(order("where is mail_it")) == names


@pytest.mark.parametrize("question", ["", "Fasse in einem Satz zusammen.", "where is mail_it", "main.py"])
def test_a_map_without_an_index_names_no_file_that_is_no_text_and_says_why_each_is_there(
    tmp_path: Path, question: str
) -> None:
    texts = {
        "login.py": b"def login_it(): ...\n",
        "mail.py": b"def mail_it(): ...\n",
        "main.py": b"import mail\n",
        "lib.js": b"x=1;" * 3_000,
        "made.py": b"# @generated mail_it\n",
        "noise.bin2": b"\0\1" * 90,
        "tests/test_mail.py": b"mail_it()\n",
    }
    for name, data in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    listing = stat_files(tmp_path, sorted(texts), bool, (0, 0))
    ask = Ask(Query(question), 1200, None, (), frozenset(), frozenset())
    basis = rank_by_scan(listing, str(tmp_path), ask, Languages(()), Cleaner(), ClosedFlag())
    named = {one.path for one in basis.order} | set(basis.rest)
    assert named == {"login.py", "mail.py", "main.py", "tests/test_mail.py"}
    assert basis.skipped == {"minified": 1, "generated": 1, "binary": 1}
    assert all(one.reasons for one in basis.order)
