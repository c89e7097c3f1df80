from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import ToolError
from tui_agent.ports.tool import Answer
from tui_agent.protocol.effects import InternalEffect


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("ask"))


@pytest.mark.parametrize(
    ("options", "answer", "said", "form"),
    [
        (["red", "blue"], Answer(1, ""), "blue", "choice"),
        (["red", "blue"], Answer(1, "blue"), "blue", "choice"),
        (["red", "blue"], Answer(0, "but dark"), "red\nbut dark", "choice"),
        (["red", "blue"], Answer(None, "neither"), "neither", "choice"),
        ([], Answer(None, " words "), "words", "text"),
        ([], Answer(None, ""), "The user gave no answer.", "text"),
        (["red"], Answer(7, ""), "The user gave no answer.", "choice"),
    ],
)
async def test_the_answer_goes_to_the_model(bench, options, answer, said, form):
    bench.answers = [answer]
    result = await bench.run("ask_user", question=" Which? ", options=options)
    assert text(result) == said
    assert bench.asked == [("Which?", tuple(options), form)]


async def test_where_no_one_is_there_the_model_is_told(bench):
    with pytest.raises(ToolError, match="No user can"):
        await bench.run("ask_user", question="Which?")
    with pytest.raises(ToolError, match="No user can"):
        await bench.run("present_plan", plan="# Plan")


@pytest.mark.parametrize(("question", "options"), [("", []), ("q", [str(n) for n in range(10)])])
async def test_a_question_that_cannot_be_shown_is_refused(bench, question, options):
    bench.answers = [Answer(None, "x")]
    with pytest.raises(ToolError):
        await bench.run("ask_user", question=question, options=options)
    assert bench.asked == []


@pytest.mark.parametrize(
    ("answer", "summary", "said"),
    [
        (Answer(0, ""), "approved", "The user approved the plan. Carry it out."),
        (Answer(1, "# Plan"), "approved", "The user approved the plan. Carry it out."),
        (Answer(0, "# Other"), "edited", "The user edited the plan and approved this:\n\n# Other"),
        (
            Answer(2, "too big"),
            "refused",
            "The user refused the plan: too big\nChange nothing; revise the plan.",
        ),
        (
            Answer(None, ""),
            "refused",
            "The user refused the plan.\nChange nothing; revise the plan.",
        ),
    ],
)
async def test_a_plan_is_approved_edited_or_refused(bench, answer, summary, said):
    bench.answers = [answer]
    result = await bench.run("present_plan", plan="# Plan\n")
    assert (result.ok, result.summary, text(result)) == (True, summary, said)
    assert bench.asked[0][2] == "plan"


def test_questions_wait_without_a_limit_and_touch_only_the_session(bench):
    for name, arguments in (("ask_user", {"question": "q"}), ("present_plan", {"plan": "p"})):
        tool = bench.tools[name]
        assert tool.spec.timeout is None and tool.spec.needs == {"ask"}
        assert isinstance(bench.effects(name, **arguments)[0], InternalEffect)
