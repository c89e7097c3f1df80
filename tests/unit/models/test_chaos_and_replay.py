"""Chaos is seeded and survivable; replay gives what was recorded."""

from tests.stubs.clock import FakeClock, SequentialIds
from tests.stubs.memory_blobs import MemoryBlobs
from tests.stubs.model_contract import READ
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.chaos import ChaosClient
from tui_agent.models.replay_model import RecordedAnswers, ReplayClient, recorded_answers
from tui_agent.models.script_format import parse_script
from tui_agent.models.scripted import ScriptedClient
from tui_agent.ports.model import ModelClient, ModelRequest
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId, SessionId
from tui_agent.protocol.messages import AssistantMessage, Message, UserMessage
from tui_agent.protocol.parts import TextContent, TextPart, ToolCallPart, Usage
from tui_agent.protocol.settings import ModelInfo

INFO = ModelInfo(profile="p", provider="x", model="m")


async def once(client: ModelClient, number: int, *messages: Message) -> Assembler:
    said = messages or (UserMessage(content=(TextContent(text="go"),)),)
    request = ModelRequest(RequestId(f"r{number}"), INFO, "", tuple(said), (READ,), 100)
    assembler = Assembler(("read_file",))
    async with client.stream(request) as chunks:
        async for chunk in chunks:
            assembler.feed(chunk)
    return assembler


def chaos(seed: int) -> ChaosClient:
    script = parse_script(
        "- text: let me look\n  calls: [{read_file: {path: a.py}}, {read_file: {path: b.py}}]\n"
    )
    return ChaosClient(ScriptedClient(script, "s", FakeClock()), seed, FakeClock())


def outcome(assembler: Assembler) -> str:
    fault = assembler.final_fault()
    if fault is not None:
        return fault.kind
    return str(
        [(p.arguments, p.malformed) for p in assembler.parts(SequentialIds()) if isinstance(p, ToolCallPart)]
    )


async def test_one_seed_is_one_sequence_of_faults() -> None:
    for seed in (1, 2):
        first, second = chaos(seed), chaos(seed)
        a = [outcome(await once(first, number)) for number in range(60)]
        assert a == [outcome(await once(second, number)) for number in range(60)]
        assert len(set(a)) > 3


async def test_two_hundred_disturbed_answers_end_whole_or_with_one_fault_and_never_with_a_wrong_call() -> (
    None
):
    client = chaos(7)
    row = longest = 0
    for number in range(200):
        assembler = await once(client, number)
        fault = assembler.final_fault()
        row = row + 1 if fault is not None else 0
        longest = max(longest, row)
        if fault is not None:
            continue
        calls = [part for part in assembler.parts(SequentialIds()) if isinstance(part, ToolCallPart)]
        assert len({call.call_id for call in calls}) == len(calls) == 2
        for call, path in zip(calls, ("a.py", "b.py"), strict=True):
            assert call.malformed is not None or call.arguments == {"path": path}
    assert 1 <= longest <= 2


def responded(text: str, number: int) -> ModelResponded:
    call = ToolCallPart(call_id=CallId(f"c{number}"), name="read_file", arguments={"path": "ä.py"})
    return ModelResponded(
        request_id=RequestId("r"),
        first_part=0,
        parts=(TextPart(text=text), call),
        finish="tool_calls",
        usage=Usage(input_tokens=9, output_tokens=2),
        cost_usd=0.5,
        duration_ms=1,
    )


async def test_a_recording_is_given_again_in_order_with_long_texts_whole() -> None:
    blobs = MemoryBlobs()
    long = "word " * 4_000
    answers = [
        responded("short", 1),
        responded("", 2).model_copy(update={"parts": (TextPart(text=blobs.put_text(long)),)}),
    ]
    records: list[Record] = []
    for agent, answer in (
        (MAIN_AGENT, answers[0]),
        (AgentId("helper-1"), answers[0]),
        (MAIN_AGENT, answers[1]),
    ):
        records.append(
            Envelope(
                v=1,
                seq=len(records),
                time=0,
                session=SessionId("s"),
                agent=agent,
                parent=len(records) - 1 if records else None,
                cause=None,
                payload=answer,
            )
        )
    client = ReplayClient(RecordedAnswers(recorded_answers(records, blobs)), "replay:s")
    first = await once(client, 1)
    assert first.parts(SequentialIds()) == answers[0].parts
    assert (first.usage.input_tokens, first.cost_usd) == (9, 0.5)
    history: list[Message] = [
        UserMessage(content=(TextContent(text="go"),)),
        AssistantMessage(parts=answers[0].parts),
    ]
    assert (await once(client, 2, *history)).text == long
    over = (await once(client, 3, *history, AssistantMessage(parts=()))).final_fault()
    assert over is not None
    assert over.kind == "script"
