"""A session's own title: a sentence of the user's first message, or of the answer if the message says too little."""

from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tests.engine.test_rewind import go, told, turn
from tui_agent.engine.turns.session_title import first_sentence, informative_sentence, shorten_title
from tui_agent.protocol.commands import Redo, Rename, SubmitPrompt, Undo
from tui_agent.protocol.events.session import SessionTitled

MESSAGE = "please look at the night shift"
SENTENCE = "The report counts night shifts as negative"


def titles(bench: Bench) -> list[tuple[str, str]]:
    return [(one.title, one.titled_by) for one in bench.of(SessionTitled)]


async def test_the_first_sentence_of_the_users_first_message_is_the_title(tmp_path: Path) -> None:
    answers = [
        call(("echo", '{"words": "x"}'), text="The tests are the place to begin. "),
        say(f"{SENTENCE}. The cause is in entry.py."),
        say("The file format did not change. All is well."),
    ]
    async with running(tmp_path, answers) as bench:
        bench.submit(SubmitPrompt(text=f"Hi!\n{MESSAGE}. It is urgent."))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="and the file format?"))
        await bench.until("turn.finished", 2)
    assert titles(bench) == [(MESSAGE, "auto")]
    assert len(bench.model.requests) == 3, "no request is made for a title"


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("fix   the night\nshift report", "fix the night"),
        ("Hi! Please fix the night shift.", "Please fix the night shift"),
        ("Hi, can you fix week 13, e.g. its total?", "Hi, can you fix week 13, e.g. its total?"),
        ("Why is version 2.1 slow? Measure it.", "Why is version 2.1 slow?"),
        ("update dependencies", "update dependencies"),
        ("Fix the overflow in @src/core/page.py, please", "Fix the overflow in page.py, please"),
        ('@"my notes.md" has a wrong total', "my notes.md has a wrong total"),
        ("[image shot.png] why is this red?", "why is this red?"),
        ("/review the new parser", "the new parser"),
        ("/src/app.py has no tests", "/src/app.py has no tests"),
        (f"explain {'very ' * 20}much", f"explain {'very ' * 10}".strip() + "…"),
        ("fix it", ""),
        ("hello there", ""),
        ("good morning", ""),
        ("@src/app.py @tests/test_app.py @docs/app.md", ""),
        ("explain @src/app.py", ""),
        ("[pasted 312 lines]", ""),
        ("[image my shot of it.png]", ""),
        ("/review", ""),
        ("", ""),
    ],
)
def test_a_good_message_has_a_sentence_of_some_words_of_the_users_own(message: str, title: str) -> None:
    sentence = informative_sentence(message)
    assert shorten_title(sentence) == title


@pytest.mark.parametrize(
    "message",
    [
        SubmitPrompt(text="fix it"),
        SubmitPrompt(text="@src/app.py"),
        SubmitPrompt(text="this line was pasted, not typed\n" * 40, typed_mentions=()),
        SubmitPrompt(text="this line was pasted, not typed\n" * 9_000, typed_mentions=()),
    ],
)
async def test_the_first_sentence_of_the_answer_is_the_title_if_the_message_says_too_little(
    tmp_path: Path, message: SubmitPrompt
) -> None:
    async with running(tmp_path, [say(f"{SENTENCE}. The cause is in entry.py."), say("Done.")]) as bench:
        bench.submit(message)
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="and the file format of it?"))
        await bench.until("turn.finished", 2)
        assert len(bench.model.requests) == 2, "no request is made for a title"
    (first, by_message), answered = titles(bench)
    assert first and by_message == "auto" and answered == (SENTENCE, "answer")


async def test_a_long_message_of_a_program_is_not_taken_for_a_paste(tmp_path: Path) -> None:
    async with running(tmp_path, [say(f"{SENTENCE}.")]) as bench:
        bench.submit(SubmitPrompt(text=f"{MESSAGE}.\n" + "one more detail\n" * 9_000))
        await bench.until("turn.finished")
    assert titles(bench) == [(MESSAGE, "auto")]


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
        (["Hello there!", "thanks", "why is week 13 negative?"], "why is week 13 negative?"),
        (["fixtures", "Hi! Please fix the night shift"], "Please fix the night shift"),
        (["hi", "hey"], "hi"),
        (["fix it", "and the night shift"], "and the night shift"),
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
        bench.submit(SubmitPrompt(text="fix it"))
        await bench.until("turn.finished")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        await bench.until_so(lambda: not bench.recorder.state.is_busy)
        assert bench.recorder.state.title == "fix it"
    assert titles(bench) == [("fix it", "auto"), (SENTENCE, "answer"), ("fix it", "auto")]


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
        bench.submit(SubmitPrompt(text="fix   the night shift " + "and more " * 20))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="second"))
        await bench.until("turn.finished", 2)
        title = bench.recorder.state.title
    assert title.startswith("fix the night shift") and len(title) <= 60


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


async def test_an_undone_message_gives_no_title_and_a_redone_one_gives_it_again(tmp_path: Path) -> None:
    async with told(tmp_path, say("Hi."), say("Hi."), say("Hi.")) as bench:
        await turn(bench, "hi")
        await turn(bench, "Buy milk and bread")
        assert bench.recorder.state.title == "Buy milk and bread"
        for command, title in ((Undo(), "hi"), (Redo(), "Buy milk and bread"), (Undo(), "hi")):
            await go(bench, command)
            # Lists of sessions show the newest title in the log.
            assert (bench.recorder.state.title, titles(bench)[-1]) == (title, (title, "auto"))
        await turn(bench, "Call the plumber today")
        assert bench.recorder.state.title == titles(bench)[-1][0] == "Call the plumber today"
