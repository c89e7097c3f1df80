"""Which hunks of a file's net change contain changes by the user."""

from tui_agent.folds.comparison.hunk_authors import find_shared_hunks
from tui_agent.folds.session.changed_files import ChangedFile, ContentChange
from tui_agent.folds.text.line_diff import diff_lines

LINES = [f"{number}\n" for number in range(40)]


def edit(lines: list[str], index: int, *new: str, removed: int = 1) -> list[str]:
    return [*lines[:index], *new, *lines[index + removed :]]


def shared(*versions: list[str], lost: int | None = None) -> set[int]:
    """The shared hunks of a file that the session and the user change in turn. `lost`: a version that is not stored."""
    texts = {str(number): "".join(version) for number, version in enumerate(versions)}
    last = len(versions) - 1
    user_changes = tuple(ContentChange(str(number), str(number + 1)) for number in range(1, last, 2))
    file = ChangedFile("a.txt", "0", str(last), user_changes=user_changes)
    diff = diff_lines(texts["0"], texts[str(last)]).text
    stored = {digest: text.encode() for digest, text in texts.items() if digest != str(lost)}
    return set(find_shared_hunks(file, diff, stored.get))


AGENT = edit(LINES, 2, "agent\n")


def test_lines_that_the_user_added_or_removed_are_found() -> None:
    assert shared(LINES, AGENT) == set()
    assert shared(LINES, AGENT, edit(AGENT, 20, "mine\n")) == {1}
    assert shared(LINES, AGENT, edit(AGENT, 20), edit(edit(AGENT, 20), 35, "more\n")) == {1}
    assert shared(LINES, AGENT, edit(AGENT, 3, "mine\n")) == {0}


def test_a_line_of_the_user_that_the_session_changed_later_is_still_shared() -> None:
    mine = edit(AGENT, 20, "mine\n")
    assert shared(LINES, AGENT, mine, edit(mine, 20, "mine, improved\n")) == {1}


def test_a_line_of_the_session_that_the_user_restored_is_in_no_hunk() -> None:
    both = edit(AGENT, 20, "agent too\n")
    assert shared(LINES, both, AGENT) == set()


def test_all_hunks_are_shared_if_a_version_is_not_stored() -> None:
    mine = edit(AGENT, 20, "mine\n")
    assert shared(LINES, AGENT, mine, edit(mine, 35, "more\n"), lost=1) == {0, 1, 2}
