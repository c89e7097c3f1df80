"""Streamed chunks to parts: the shapes that real servers send, and what is never run."""

import json
import re

import pytest

from tests.stubs.clock import SequentialIds
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.provider_faults import fault
from tui_agent.ports.model import FinishChunk, ReasoningChunk, TextChunk, ToolCallChunk
from tui_agent.protocol.parts import ReasoningPart, TextPart, ToolCallPart

TOOLS = ("read_file", "grep", "run_command")


def call(index: int | None, call_id: str | None, name: str | None, arguments: str = "") -> ToolCallChunk:
    return ToolCallChunk(index, call_id, name, arguments)


def calls(
    *chunks: ToolCallChunk, finish: str = "tool_calls", used: tuple[str, ...] = ()
) -> list[tuple[str, str, object]]:
    assembler = Assembler(TOOLS)
    for chunk in chunks:
        assembler.feed(chunk)
    assembler.feed(FinishChunk(finish))  # type: ignore[arg-type]
    assert assembler.final_fault() is None
    return [
        (part.call_id, part.name, part.arguments if part.malformed is None else part.malformed)
        for part in assembler.parts(SequentialIds(), used)
        if isinstance(part, ToolCallPart)
    ]


A, B = '{"path": "a"}', '{"path": "b"}'
AA, BB = {"path": "a"}, {"path": "b"}


def test_a_call_without_an_id_gets_one() -> None:
    assert calls(call(0, None, "read_file"), call(0, None, None, A)) == [("call_00000001", "read_file", AA)]


def test_a_new_id_on_a_used_index_opens_a_new_call() -> None:
    found = calls(
        call(0, "x", "read_file", '{"path": '),
        call(0, None, None, '"a"}'),
        call(0, "y", "read_file", '{"path": '),
        call(0, "y", None, '"b"}'),
    )
    assert found == [("x", "read_file", AA), ("y", "read_file", BB)]


def test_an_id_that_is_repeated_with_every_chunk_stays_one_call() -> None:
    found = calls(*(call(0, "x", "read_file", piece) for piece in ('{"path"', ': "a', '"}')))
    assert found == [("x", "read_file", AA)]


@pytest.mark.parametrize("chars", [1, 2, 3, 5, 100])
def test_a_name_or_a_fresh_id_with_every_chunk_is_read_in_linear_time_however_it_is_cut(chars: int) -> None:
    text = '{"path": "a{\\\\", "x": {"y": "}\\"{"}}' if chars < 100 else '{"path": "' + "a " * 500_000 + '"}'
    pieces = [text[at : at + chars] for at in range(0, len(text), chars)]
    wanted = [("x0", "read_file", json.loads(text))]
    assert (
        calls(
            *(
                call(0, f"x{number}", None if number else "read_file", piece)
                for number, piece in enumerate(pieces)
            )
        )
        == wanted
    )
    assert calls(*(call(0, "x0", "read_file", piece) for piece in pieces)) == wanted
    second = [call(0, f"y{number}", None if number else "grep", piece) for number, piece in enumerate(pieces)]
    both = calls(*(call(0, "x0", "read_file", piece) for piece in pieces), *second)
    assert both == [*wanted, ("y0", "grep", json.loads(text))]


def test_a_fresh_id_with_every_chunk_stays_one_call() -> None:
    found = calls(call(0, "x", "read_file", ""), call(0, "y", None, '{"path": '), call(0, "z", None, '"a"}'))
    assert found == [("x", "read_file", AA)]


@pytest.mark.parametrize("summary_id", ["x", None])
def test_a_summary_of_the_whole_call_is_ignored(summary_id: str | None) -> None:
    chunks = [call(0, "x", "read_file", '{"path": '), call(0, None, None, '"a"}')]
    assert calls(*chunks, *[call(0, summary_id, "read_file", A)] * 2) == [("x", "read_file", AA)]


def test_calls_without_indices_follow_their_names() -> None:
    found = calls(
        call(None, None, "read_file", '{"path": '),
        call(None, None, None, '"a"}'),
        call(None, None, "read_file", B),
    )
    assert [item[1:] for item in found] == [("read_file", AA), ("read_file", BB)]


def test_interleaved_parallel_calls_come_out_in_the_order_they_began() -> None:
    found = calls(
        call(0, "x", "read_file"),
        call(1, "y", "grep"),
        call(1, None, None, '{"pattern": '),
        call(0, None, None, A),
        call(1, None, None, '"p"}'),
    )
    assert found == [("x", "read_file", AA), ("y", "grep", {"pattern": "p"})]


def test_one_id_for_two_calls_is_replaced_for_the_second() -> None:
    found = calls(call(0, "call_0", "read_file", A), call(1, "call_0", "read_file", B))
    assert found == [("call_0", "read_file", AA), ("call_00000001", "read_file", BB)]


def test_an_id_of_an_earlier_answer_is_replaced() -> None:
    assert calls(call(0, "call_0", "read_file", A), used=("call_0",))[0][0] == "call_00000001"


def test_calls_decide_over_the_finish_reason() -> None:
    assert calls(call(0, "x", "read_file", A), finish="stop") == [("x", "read_file", AA)]


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a',
        '{"path": ',
        "{",
        "[1]",
        '"text"',
        '[{"path": "a"}]',
        "nonsense",
        'so {"o": {"path": "a"}, "t": "',
    ],
)
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "length"])
def test_arguments_that_are_no_object_stay_as_they_came(raw: str, finish: str) -> None:
    assert calls(call(0, "x", "read_file", raw), finish=finish) == [("x", "read_file", raw)]


def test_no_arguments_are_an_empty_object_unless_the_answer_was_cut_by_length() -> None:
    assert calls(call(0, "x", "read_file")) == [("x", "read_file", {})]
    assert calls(call(0, "x", "read_file"), finish="length") == [("x", "read_file", "")]


def test_a_call_without_a_name_is_never_run() -> None:
    assert calls(call(0, "x", None, A)) == [("x", "unnamed_tool", A)]


def test_arguments_encoded_twice_are_decoded() -> None:
    assert calls(call(0, "x", "read_file", '"{\\"path\\": \\"a\\"}"')) == [("x", "read_file", AA)]


@pytest.mark.parametrize("raw", [f"```json\n{A}\n```", f"Here it is: {A}", f"{A} and that is all"])
def test_prose_around_arguments_is_tolerated(raw: str) -> None:
    assert calls(call(0, "x", "read_file", raw)) == [("x", "read_file", AA)]


def test_of_two_objects_the_first_counts() -> None:
    assert calls(call(0, "x", "read_file", A + B)) == [("x", "read_file", AA)]


def test_habitual_tool_names_are_understood() -> None:
    found = calls(
        call(0, "x", "functions.read_file", A),
        call(1, "y", "bash", '{"command": "ls"}'),
        call(2, "z", "ReadFile", A),
        call(3, "w", "read_file<|channel|>commentary", A),
    )
    assert [item[1] for item in found] == ["read_file", "run_command", "read_file", "read_file"]


def test_text_reasoning_and_calls_keep_their_order() -> None:
    assembler = Assembler(TOOLS)
    for chunk in (
        ReasoningChunk("think"),
        ReasoningChunk(" more"),
        TextChunk("say"),
        ReasoningChunk("again", "sealed"),
        ReasoningChunk("third"),
        call(0, "x", "read_file", A),
        FinishChunk("tool_calls"),
    ):
        assembler.feed(chunk)
    parts = assembler.parts(SequentialIds())
    assert [type(part) for part in parts] == [
        ReasoningPart,
        TextPart,
        ReasoningPart,
        ReasoningPart,
        ToolCallPart,
    ]
    assert isinstance(parts[0], ReasoningPart)
    assert parts[0].text == "think more"
    assert isinstance(parts[2], ReasoningPart)
    assert parts[2].signature == "sealed"


def test_deltas_count_blocks_and_carry_names() -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(TextChunk("a"))
    first = assembler.feed(call(0, "x", "bash"))
    second = assembler.feed(call(0, None, None, "{"))
    assert first is not None
    assert (first.part, first.block, first.name, first.call_id) == ("tool_call", 1, "run_command", "x")
    assert second is not None
    assert (second.block, second.text) == (1, "{")


def test_a_stream_without_a_finish_signal_is_cut_and_its_calls_void() -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(call(0, "x", "read_file", A))
    settled = assembler.final_fault()
    assert settled is not None
    assert settled.kind == "cut"
    assert "cut off" not in settled.message, "the notice says this above the message"


def test_thinking_alone_is_an_empty_answer() -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(ReasoningChunk("only thoughts"))
    assembler.feed(FinishChunk("length"))
    settled = assembler.final_fault()
    assert settled is not None
    assert settled.kind == "empty"
    assert "reasoning" in settled.message


def test_a_providers_fault_is_the_outcome() -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(TextChunk("a"))
    assembler.feed(fault("overloaded", "busy"))
    settled = assembler.final_fault()
    assert settled is not None
    assert settled.kind == "overloaded"
    assert assembler.text == "a"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a"}}',
        'I look.\n```json\n{"tool": "read_file", "args": {"path": "a"}}\n```\n',
        'Let me see <tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"a\\"}"}',
        '{"name": "read_file", "arguments": {"path": "a"}}\n{"name": "read_file", "arguments": {"path": "b"}}',
        '{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a"}}}',
    ],
)
def test_a_call_written_as_text_is_a_call(text: str) -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(TextChunk(text))
    assembler.feed(FinishChunk("stop"))
    found = [part for part in assembler.parts(SequentialIds()) if isinstance(part, ToolCallPart)]
    assert [(part.name, part.arguments) for part in found] == [("read_file", AA)]


@pytest.mark.parametrize(
    "text",
    [
        'To read call {"name": "read_file", "arguments": {"path": "a"}} and wait.',
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "read_file", "arguments": {"path": "a"}, "comment": "x"}',
        '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```\nThat is the format.',
        '{"name": "read_file", "arguments": {"path": "a"',
        '{"name": "Anna", "age": 3}',
    ],
)
def test_what_is_not_clearly_a_call_stays_text(text: str) -> None:
    assembler = Assembler(TOOLS)
    assembler.feed(TextChunk(text))
    assembler.feed(FinishChunk("stop"))
    assert assembler.parts(SequentialIds()) == (TextPart(text=text),)


def test_a_made_up_name_becomes_one_that_a_provider_takes_back() -> None:
    ((_, name, _),) = calls(call(0, "x", "\x1b]52;c;aGk=\x07[bold] tool" + "x" * 150, A))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
