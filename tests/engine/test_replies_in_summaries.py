"""The user's words in refusals, answers and edited plans stay in every request after compactions."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, allow, ask, call, running, say
from tests.engine.long_histories import LIMITS, ONLY_OUTPUTS, Output, Worker, compact, of, turn, work
from tests.stubs.tool_context import tools_of
from tui_agent.models.provider_faults import fault
from tui_agent.ports.model import ModelChunk
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.commands import AnswerQuestion, DecidePermission, SetPolicy, SubmitPrompt
from tui_agent.protocol.effects import Effect
from tui_agent.protocol.events.context import ContextReduced
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import QuestionAsked

REFUSAL = "never use walrus operators in this repo"
PLAN, EDITED = "# Two ranges\n\n1. Read them.", "# Two ranges\n\n1. Read them.\n2. Test them."


def ask_about_echo(tool: str, effects: Sequence[Effect], facts: PolicyFacts) -> Decision:
    return (ask if tool == "echo" else allow)(tool, effects, facts)


def no_summary(number: int) -> list[ModelChunk]:
    raise fault("server_error", "overloaded")


def dialogue() -> list[object]:
    """A refused call, a question, a plan that is refused and one that is edited, each in its own turn."""
    return [
        call(("echo", '{"words": "x := 1"}')),
        say("I see."),
        call(("ask_user", json.dumps({"question": "Which ranges?"}))),
        say("I see."),
        call(("present_plan", json.dumps({"plan": "# Ten ranges"}))),
        call(("present_plan", json.dumps({"plan": PLAN}))),
        say("I see."),
    ]


@asynccontextmanager
async def after_dialogue(tmp_path: Path, model: Worker) -> AsyncIterator[Bench]:
    tools = [Output(), EchoTool(), *tools_of("ask").values()]
    options = {"policy": ask_about_echo, "policy_name": "plan", "shrinking": LIMITS}
    async with running(tmp_path, [], tools, **options) as bench:
        bench.use(model)
        bench.submit(SubmitPrompt(text="Port the parser."))
        request = await bench.until_payload(PermissionRequested)
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny", message=REFUSAL))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="And the lexer."))
        await answer(bench, 1, "only for two ranges", None)
        await bench.until("turn.finished", 2)
        bench.submit(SubmitPrompt(text="Plan it."))
        await answer(bench, 2, "two are enough", None)
        await answer(bench, 3, EDITED, 1)
        await bench.until("turn.finished", 3)
        yield bench


async def answer(bench: Bench, count: int, words: str, choice: int | None) -> None:
    question = await bench.until_payload(QuestionAsked, count)
    bench.submit(AnswerQuestion(question_id=question.question_id, answer=words, choice=choice))


EXPECTED = """## The user's later messages
> refusing to echo `x := 1`: never use walrus operators in this repo

> And the lexer.

> answering "Which ranges?": only for two ranges

> Plan it.

> refusing the plan "Ten ranges": two are enough
"""


@pytest.mark.parametrize("summary", [None, no_summary], ids=["by the model", "from the log"])
async def test_words_of_refusals_and_answers_stay_over_two_compactions(
    tmp_path: Path, summary: object
) -> None:
    model = Worker([*dialogue(), *work(6), say("ok"), *work(6), say("ok"), say("ok")], summary)  # type: ignore[arg-type]
    async with after_dialogue(tmp_path, model) as bench:
        await turn(bench, "Go.", 4)
        await compact(bench)
        await turn(bench, "Go on.", 5)
        first = of(model.asked[-1])
        await compact(bench, count=2)
        await turn(bench, "More.", 6)
        second = of(model.asked[-1])
    for request in (first, second):
        assert EXPECTED in request and request.count(REFUSAL) == 1
        assert f"## The plan\n{EDITED}\n" in request and "\n# Ten ranges" not in request
    assert "\n\n> Go." in second


async def test_an_older_edited_plan_stays_in_its_place_among_the_words(tmp_path: Path) -> None:
    later = [call(("present_plan", json.dumps({"plan": "# Three ranges"}))), say("ok")]
    model = Worker([*dialogue(), *later, *work(6), say("ok"), say("ok")])
    async with after_dialogue(tmp_path, model) as bench:
        bench.submit(SetPolicy(policy="plan"))
        bench.submit(SubmitPrompt(text="Once more."))
        await answer(bench, 4, "", 1)
        await bench.until("turn.finished", 4)
        await turn(bench, "Go.", 5)
        await compact(bench)
        await turn(bench, "Go on.", 6)
    request = of(model.asked[-1])
    edited = EDITED.replace("\n", "\n> ")
    assert f'> editing the plan "Two ranges": {edited}\n\n> Once more.' in request
    assert "## The plan\n# Three ranges\n" in request


async def test_the_result_with_the_words_of_a_refusal_is_not_reduced(tmp_path: Path) -> None:
    model = Worker([call(("echo", '{"words": "x := 1"}')), *work(9), say("ok")])
    tools = [Output(6_000), EchoTool()]
    async with running(tmp_path, [], tools, policy=ask_about_echo, shrinking=ONLY_OUTPUTS) as bench:
        bench.use(model)
        bench.submit(SubmitPrompt(text="Port the parser."))
        request = await bench.until_payload(PermissionRequested)
        words = "\n".join(f"Rule {number}: {REFUSAL}." for number in range(40))
        bench.submit(DecidePermission(request_id=request.request_id, decision="deny", message=words))
        await bench.until("turn.finished")
        assert bench.of(ContextReduced) and words in of(model.asked[-1])
