"""What makes the results of the newest test run stale."""

from collections.abc import Sequence

import pytest

from tests.stubs.story import Story, called, file_changed, finished, ran_tests, started
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.stale_test_results import LaterChanges
from tui_agent.protocol.frozen_model import Payload

RUN = [called("c1", "test", "npm test"), started("c1")]
FAILED_RUN = [
    *RUN,
    ran_tests(92, 1, "a > b", call="c1").model_copy(update={"command": "npm test"}),
    finished("c1"),
]


def edit(call: str) -> list[Payload]:
    return [called(call, "edit", "a.py"), started(call), file_changed("a.py", call=call), finished(call)]


STOPPED_RUN = [called("c9", "run", "npm test"), started("c9"), finished("c9", "interrupted")]
TWO_FILES = [file_changed("a.py", call="c2"), file_changed("b.py", call="c2")]


@pytest.mark.parametrize(
    ("payloads", "description"),
    [
        ([], ""),
        (edit("c2"), ""),
        (FAILED_RUN, ""),
        ([*FAILED_RUN, *edit("c2"), *edit("c3"), *STOPPED_RUN], "before 2 edits; a later run was stopped"),
        ([*FAILED_RUN, *STOPPED_RUN], "a later run was stopped"),
        ([*FAILED_RUN, called("c9", "run", "npm test"), finished("c9", "interrupted")], ""),
        ([*FAILED_RUN, called("c9", "run", "sleep 9"), started("c9"), finished("c9", "interrupted")], ""),
        ([*FAILED_RUN, *TWO_FILES], "before 1 edit"),
        ([*FAILED_RUN, *edit("c2"), *STOPPED_RUN, *FAILED_RUN], ""),
        ([*RUN, file_changed("coverage", author="command", call="c1"), *FAILED_RUN[2:]], ""),
    ],
)
def test_edits_and_stopped_runs_make_the_newest_results_stale(
    payloads: Sequence[Payload], description: str
) -> None:
    state, story = SessionState(), Story()
    for payload in payloads:
        state.apply(story(payload))
    assert state.view().later_changes.description == description


def test_a_few_words_say_that_results_are_stale() -> None:
    assert LaterChanges().short_description == ""
    assert LaterChanges("pytest", edits=1, run_was_stopped=True).short_description == "before 1 edit"
    assert LaterChanges("pytest", run_was_stopped=True).short_description == "in an earlier run"
