"""A session's own title: the first sentence of the first answer if that makes a good one, otherwise the first message."""

from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tui_agent.engine.session_title import first_sentence
from tui_agent.protocol.commands import Rename, SubmitPrompt, Undo
from tui_agent.protocol.events.session import SessionTitled

MESSAGE = "please look at the night shift"
SENTENCE = "The report counts night shifts as negative"


def titles(bench: Bench) -> list[tuple[str, str]]:
    return [(one.title, one.titled_by) for one in bench.of(SessionTitled)]


async def test_the_first_sentence_of_the_first_answer_replaces_the_first_message(tmp_path: Path) -> None:
    answers = [
        call(("echo", '{"words": "x"}'), text="The tests are the place to begin. "),
        say(f"{SENTENCE}. The cause is in entry.py."),
        say("The file format did not change. All is well."),
    ]
    async with running(tmp_path, answers) as bench:
        bench.submit(SubmitPrompt(text=MESSAGE))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="and the file format?"))
        await bench.until("turn.finished", 2)
    assert titles(bench) == [(MESSAGE, "auto"), (SENTENCE, "answer")]
    assert len(bench.model.requests) == 3, "no request is made for a title"
    assert bench.recorder.state.title == SENTENCE


async def test_a_message_with_a_long_paste_gives_its_own_words_as_title(tmp_path: Path) -> None:
    message = SubmitPrompt(text=f"{'pasted line' * 9_000} {MESSAGE}", own_words=MESSAGE)
    async with running(tmp_path, [say("Done.")]) as bench:
        bench.submit(message)
        await bench.until("turn.finished")
    assert titles(bench) == [(MESSAGE, "auto")]


async def test_an_answer_without_a_good_sentence_leaves_the_message_as_title(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Done."), say(f"{SENTENCE}.")]) as bench:
        bench.submit(SubmitPrompt(text=MESSAGE))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="what was it?"))
        await bench.until("turn.finished", 2)
    assert titles(bench) == [(MESSAGE, "auto")]


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        (["hi", "Fix the night shift. It is negative."], "Fix the night shift"),
        (["Hello there!", "thanks", "why is week 13 negative?"], "why is week 13 negative"),
        (["fixtures", "Hi! Please fix the night shift"], "Hi! Please fix the night shift"),
        (["hi", "hey"], "hi"),
        (["fix it", "and the night shift"], "fix it"),
    ],
)
async def test_the_next_message_replaces_a_greeting_as_title(
    tmp_path: Path, messages: list[str], title: str
) -> None:
    async with running(tmp_path, [say("Hi.") for _ in messages]) as bench:
        for number, message in enumerate(messages, 1):
            bench.submit(SubmitPrompt(text=message))
            await bench.until("turn.finished", number)
        assert len(bench.model.requests) == len(messages), "no request is made for a title"
    assert titles(bench)[-1] == (title, "auto")


@pytest.mark.parametrize("name", ["hi", "my own"])
async def test_the_next_message_never_replaces_a_name_that_the_user_gave(tmp_path: Path, name: str) -> None:
    async with running(tmp_path, [say("Hi."), say("Hi.")]) as bench:
        bench.submit(SubmitPrompt(text="hello"))
        await bench.until("turn.finished")
        bench.submit(Rename(title=name))
        bench.submit(SubmitPrompt(text="fix the night shift"))
        await bench.until("turn.finished", 2)
    assert titles(bench)[-1] == (name, "user")


async def test_a_name_that_the_user_gave_wins(tmp_path: Path) -> None:
    async def rename() -> None:
        bench.submit(Rename(title="my own"))
        await bench.until_so(lambda: bench.recorder.state.title == "my own")

    async with running(tmp_path, [[rename, *say(f"{SENTENCE}.")]]) as bench:
        bench.submit(SubmitPrompt(text=MESSAGE))
        await bench.until("turn.finished")
    assert titles(bench) == [(MESSAGE, "auto"), ("my own", "user")]


async def test_undo_takes_the_title_of_the_answer_back(tmp_path: Path) -> None:
    async with running(tmp_path, [say(f"{SENTENCE}.")]) as bench:
        bench.submit(SubmitPrompt(text=MESSAGE))
        await bench.until("turn.finished")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        await bench.until_so(lambda: not bench.recorder.state.is_busy)
        assert bench.recorder.state.title == MESSAGE
    assert titles(bench) == [(MESSAGE, "auto"), (SENTENCE, "answer")]


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("## The shift ends on the next day\n\nSo `end` is later.", "The shift ends on the next day"),
        ("Night shifts end tomorrow! More follows.", "Night shifts end tomorrow"),
        ("Version 2.1 keeps the old format. More.", "Version 2.1 keeps the old format"),
        ("Fixed. A shift ends on the next day.", ""),
        ("Two words.", ""),
        ("The shift `entry.py` computes is negative.", ""),
        ("**The shift is negative**", ""),
        ("Which of the shifts do you mean?", ""),
        ("The following files were changed:\n- a.py", ""),
        ("I'll look at the tests first.", ""),
        ("Let me look at the tests first.", ""),
        ("You asked about the night shift.", ""),
        ("The report counts a shift that ends after midnight as a negative one.", ""),
        ("", ""),
    ],
)
def test_a_good_sentence_is_short_and_neither_code_nor_a_question_nor_talk(answer: str, title: str) -> None:
    assert first_sentence(answer) == title


async def test_the_session_is_named_after_its_first_prompt(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Hi."), say("Hi.")]) as bench:
        bench.submit(SubmitPrompt(text="fix   the\nnight shift " + "and more " * 20))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="second"))
        await bench.until("turn.finished", 2)
        title = bench.recorder.state.title
    assert title.startswith("fix the night shift") and len(title) <= 48


async def test_the_next_message_replaces_the_title_from_an_undone_message(tmp_path: Path) -> None:
    async with running(tmp_path, [say("Hi."), say("Hi."), say("Hi.")]) as bench:
        bench.submit(SubmitPrompt(text="alpha wrong question"))
        await bench.until("turn.finished")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        await bench.until("agent.state_changed", 5)  # idle again
        for number, text in enumerate(("beta right question", "and more of it"), 2):
            bench.submit(SubmitPrompt(text=text))
            await bench.until("turn.finished", number)
    assert titles(bench) == [("alpha wrong question", "auto"), ("beta right question", "auto")]
