"""Scripted models: the right entry for each conversation, clear mismatches, faults, pace."""

from collections.abc import Sequence

import pytest

from tests.stubs.clock import FakeClock, SequentialIds
from tests.stubs.model_contract import READ
from tui_agent.errors import ConfigError
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.script_format import parse_script
from tui_agent.models.scripted import ScriptedClient
from tui_agent.ports.model import ModelFault, ModelRequest
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart
from tui_agent.protocol.settings import ModelInfo

INFO = ModelInfo(profile="p", provider="scripted", model="s")


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),))


def said(text: str) -> AssistantMessage:
    return AssistantMessage(parts=(TextPart(text=text),))


def result(text: str, name: str = "read_file", *, ok: bool = True) -> ToolMessage:
    return ToolMessage(call_id=CallId("c"), name=name, content=(TextContent(text=text),), ok=ok)


def beside(text: str, kind: MessageOrigin) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), origin=kind)


class Talk:
    """A scripted client and requests with fresh ids."""

    def __init__(self, text: str) -> None:
        self.clock = FakeClock()
        self.client = ScriptedClient(parse_script(text), "test.yaml", self.clock)
        self.count = 0

    async def ask(
        self,
        *messages: Message,
        system: str = "",
        again: bool = False,
        tools: bool = True,
        answers: int | None = None,
        opening: str = "",
    ) -> Assembler:
        self.count += not again
        offered = (READ,) if tools else ()
        request = ModelRequest(
            RequestId(f"r{self.count}"),
            INFO,
            system,
            messages,
            offered,
            100,
            answer_count=answers,
            opening_text=opening,
        )
        assembler = Assembler(("read_file",))
        async with self.client.stream(request) as chunks:
            async for chunk in chunks:
                assembler.feed(chunk)
        return assembler

    async def text(
        self,
        *messages: Message,
        system: str = "",
        again: bool = False,
        answers: int | None = None,
        opening: str = "",
    ) -> str:
        assembler = await self.ask(*messages, system=system, again=again, answers=answers, opening=opening)
        assert assembler.final_fault() is None
        return assembler.text

    async def fault(self, *messages: Message, again: bool = False) -> ModelFault:
        fault = (await self.ask(*messages, again=again)).final_fault()
        assert fault is not None
        return fault


THREE = "- text: one\n- text: two\n- text: three\n"


async def test_the_entry_follows_from_the_history_alone() -> None:
    history: Sequence[Message] = (user("a"), said("one"), user("b"), said("two"), user("c"))
    assert await Talk(THREE).text(*history[:1]) == "one"
    assert await Talk(THREE).text(*history) == "three"
    assert await Talk(THREE).text(*history[:3]) == "two"


async def test_going_back_in_the_history_goes_back_in_the_script() -> None:
    talk = Talk(THREE)
    assert await talk.text(user("a")) == "one"
    assert await talk.text(user("a"), said("one"), user("b")) == "two"
    assert await talk.text(user("other")) == "one"


async def test_after_a_compaction_the_record_tells_the_entry_in_a_new_process_too() -> None:
    assert await Talk(THREE).text(SummaryMessage(text="earlier"), user("c"), answers=2) == "three"
    left = SummaryMessage(text="earlier"), said("two"), user("c")
    assert await Talk(THREE).text(*left, answers=2) == "three"


async def test_a_delegate_whose_task_a_summary_stands_for_has_its_own_answers_still() -> None:
    talk = Talk(
        "answers: [{text: main}]\nconversations:\n  - match: {first_user: look}\n"
        "    answers: [{text: one}, {text: two}]\n"
    )
    assert await talk.text(user("look around")) == "one"
    left = SummaryMessage(text="earlier"), user("Mind the tests.")
    assert await talk.text(*left, answers=1, opening="look around") == "two"


async def test_the_request_for_a_summary_leaves_the_script_where_it_was() -> None:
    talk = Talk(THREE)
    await talk.text(user("a"))
    await talk.text(user("a"), said("one"), user("b"))
    await talk.ask(user("summarise this"), system="You summarise.", tools=False)
    assert await talk.text(SummaryMessage(text="earlier"), user("c"), answers=2) == "three"


async def test_the_end_of_the_script_is_a_fault_that_says_so() -> None:
    fault = await Talk("- text: one\n").fault(user("a"), said("one"), user("more please"))
    assert fault.kind == "script"
    assert "1 answers" in fault.message
    assert "more please" in fault.message


async def test_a_call_is_short_or_long_or_raw() -> None:
    talk = Talk(
        "- calls:\n"
        "  - read_file: {path: a.py}\n"
        "  - {name: read_file, arguments: {path: b.py}, id: mine}\n"
        "  - {name: read_file, raw: '{\"path\": '}\n"
    )
    parts = (await talk.ask(user("a"))).parts(SequentialIds())
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [call.arguments for call in calls] == [{"path": "a.py"}, {"path": "b.py"}, {}]
    assert [call.call_id for call in calls] == ["call_s1_1", "mine", "call_s1_3"]
    assert calls[2].malformed == '{"path": '


EXPECTING = """
- expect: {last_user: [fix, test], tools: [read_file], system: brief}
  text: one
- expect: {tool_result: {name: read_file, contains: needle, ok: true}, tool_results: 1}
  text: two
"""


async def test_what_was_expected_passes() -> None:
    talk = Talk(EXPECTING)
    assert await talk.text(user("Fix the TEST"), system="be brief") == "one"
    assert await talk.text(user("x"), said("one"), result("hay needle hay")) == "two"


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ((user("fix it"),), ["answer 1 of 2", "'fix' and 'test'", "fix it"]),
        (
            (user("a"), said("one"), result("only hay")),
            ["answer 2 of 2", "of read_file", "'needle'", "only hay"],
        ),
        ((user("a"), said("one"), result("needle", ok=False)), ["that succeeded", "failed"]),
        ((user("a"), said("one"), result("needle", "grep")), ["of read_file", "grep"]),
        ((user("a"), said("one"), result("needle"), result("needle")), ["1 tool results"]),
    ],
)
async def test_a_mismatch_names_the_entry_what_it_expected_and_what_came(
    history: tuple[Message, ...], words: list[str]
) -> None:
    fault = await Talk(EXPECTING).fault(*history)
    assert fault.kind == "script"
    assert not [word for word in ["test.yaml", *words] if word not in fault.message]


async def test_faults_come_one_an_attempt_and_then_the_answer() -> None:
    talk = Talk(
        "- text: at last\n"
        "  faults: [{kind: rate_limit, retry_after: 3, status: 429}, {kind: cut, after: 12}, {kind: overflow}]\n"
    )
    first = await talk.fault(user("a"))
    assert (first.kind, first.retry_after, first.status) == ("rate_limit", 3, 429)
    assert (await talk.fault(user("a"), again=True)).kind == "cut"
    assert (await talk.fault(user("a"), again=True)).kind == "overflow"
    assert await talk.text(user("a"), again=True) == "at last"


async def test_pace_is_characters_a_second() -> None:
    talk = Talk(f"pace: 100\nanswers:\n- text: {'x' * 500}\n- {{text: {'y' * 500}, pace: 0, delay: 2}}\n")
    await talk.text(user("a"))
    assert 4.9 <= sum(talk.clock.slept) <= 5.01
    assert max(talk.clock.slept) < 0.1
    talk.clock.slept.clear()
    await talk.text(user("a"), said("x"), user("b"))
    assert talk.clock.slept == [2]


async def test_usage_is_the_scripts_or_marked_as_an_estimate() -> None:
    talk = Talk("- {text: a, usage: {input: 100, output: 5, cached: 40}}\n- text: b\n")
    usage = (await talk.ask(user("a"))).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.estimated) == (
        100,
        5,
        40,
        False,
    )
    assert (await talk.ask(user("a"), said("a"), user("b"))).usage.estimated


async def test_other_conversations_have_their_own_answers() -> None:
    talk = Talk(
        "answers: [{text: main}, {text: main again}]\n"
        "conversations:\n- match: {system: summarise}\n  answers: [{text: a summary}]\n"
    )
    assert await talk.text(user("a")) == "main"
    assert await talk.text(user("long story"), system="Please summarise.") == "a summary"
    assert await talk.text(user("a"), said("main"), user("b")) == "main again"


async def test_an_entry_can_be_repeated() -> None:
    talk = Talk("- {text: again, repeat: 2}\n- text: end\n")
    assert await talk.text(user("a"), said("again"), user("b")) == "again"
    assert await talk.text(user("a"), said("again"), user("b"), said("again"), user("c")) == "end"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- txt: one\n", "answers.0.txt"),
        ("answers: [{text: a, faults: [{kind: bad}]}]\n", "answers.0.faults.0.kind"),
        ("answers: [{text: a\n", "not valid YAML"),
        ("just words\n", "test.yaml"),
        ("", "test.yaml"),
    ],
)
def test_a_script_that_does_not_fit_the_format_names_the_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_script(text, "test.yaml")
    assert words in caught.value.message


@pytest.mark.parametrize("kind", ["mentions", "map", "transient", "hook"])
async def test_what_stands_beside_the_users_words_is_not_taken_for_them(kind: MessageOrigin) -> None:
    talk = Talk("answers:\n  - expect: {last_user: [fix it]}\n    text: Fixed.\n")
    assert await talk.text(user("fix it"), beside('<file path="a.py">', kind)) == "Fixed."
