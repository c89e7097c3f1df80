"""For any history: the request fits the window beside its answer, by the calibrated count, and stays legal."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.legal_history import check_pairs
from tui_agent.context.budgets import Room
from tui_agent.context.compaction.summary_text import STORY
from tui_agent.context.request_assembly import Assembly, PackedRequest, RequestInput
from tui_agent.context.token_counter import Tokens
from tui_agent.folds.context.token_calibration import Calibration
from tui_agent.ports.middleware import Fragment
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.messages import (
    AssistantMessage,
    Message,
    MessageOrigin,
    SummaryMessage,
    ToolMessage,
    UserMessage,
)
from tui_agent.protocol.parts import (
    Content,
    ImageContent,
    ModelPart,
    ReasoningPart,
    TextContent,
    TextPart,
    ToolCallPart,
)
from tui_agent.protocol.settings import ModelInfo

RULES = Fragment(id="agents_md", text="Never push. " * 20, section="instructions", priority=2)
MEMORY = Fragment(id="memory", text="failing: test_one" * 30, section="working_memory", priority=4)
TASK = "Port the parser. Never touch vendor/."
KINDS: tuple[MessageOrigin, ...] = ("mentions", "map", "restored")
IMAGE = ImageContent(blob_sha256="0" * 64, media_type="image/png", size=1)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("beside"), st.sampled_from(KINDS), st.integers(1, 30_000)),
        st.tuples(st.just("said"), st.integers(1, 300)),
        st.tuples(st.just("answer"), st.integers(1, 20_000)),
        st.tuples(
            st.just("work"),
            st.lists(st.integers(1, 40_000), min_size=1, max_size=5),
            st.integers(0, 20_000),
            st.booleans(),
        ),
        st.tuples(st.just("small"), st.integers(1, 150)),
    ),
    max_size=40,
)


def text(size: int) -> str:
    return ("0 7f a word\n" * (size // 12 + 1))[:size]


def said(words: str, seq: int, kind: MessageOrigin = "prompt") -> UserMessage:
    return UserMessage(content=(TextContent(text=words),), seq=seq, origin=kind)


def exchange(seq: int, sizes: Sequence[int], arguments: int, *, image: bool) -> list[Message]:
    parts: list[ModelPart] = [ReasoningPart(text=text(arguments // 4)), TextPart(text="I work.")]
    calls = [
        ToolCallPart(
            call_id=CallId(f"c{seq}_{at}"), name="run", arguments={"text": text(arguments), "n": [1]}
        )
        for at in range(len(sizes))
    ]
    found: list[Message] = [AssistantMessage(parts=(*parts, *calls), seq=seq)]
    for call, size in zip(calls, sizes, strict=True):
        content: tuple[Content, ...] = (TextContent(text=text(size)), *([IMAGE] if image else []))
        found.append(ToolMessage(call_id=call.call_id, name="run", content=content, seq=seq + 1))
    return found


def history(acts: Sequence[tuple[object, ...]]) -> list[Message]:
    made: list[Message] = [SummaryMessage(text=text(9_000), seq=0), said(TASK, 1)]
    for at, act in enumerate(acts):
        seq = 2 + 10 * at
        match act:
            case ("beside", "mentions" | "map" | "restored" as kind, int(size)):
                made.append(said(text(size), seq, kind))
            case ("said", int(size)):
                made.append(said(text(size), seq))
            case ("answer", int(size)):
                made.append(AssistantMessage(parts=(TextPart(text=text(size)),), seq=seq))
            case ("work", list(sizes), int(arguments), bool(image)):
                made += exchange(seq, sizes, arguments, image=image)
            case ("small", int(count)):
                made += [
                    one for n in range(count) for one in exchange(seq * 1_000 + n, [80], 60, image=False)
                ]
            case _:
                raise AssertionError(act)
    return made


def packed(messages: Sequence[Message], window: int, answer: int, ratio: float) -> PackedRequest:
    tokens = Tokens(calibration=Calibration({"characters m": ratio}))
    model = ModelInfo(profile="m", provider="scripted", model="m", window=window)
    return Assembly(tokens).pack(
        RequestInput(RequestId("r"), model, (RULES, MEMORY), messages, (), answer, "memory")
    )


@settings(max_examples=example_count(150), deadline=None)
@given(ACTS, st.integers(9_000, 60_000), st.integers(0, 9_000), st.floats(0.4, 2.5))
def test_any_history_fits_beside_its_answer_and_keeps_the_users_words(
    acts: list[tuple[object, ...]], window: int, answer: int, ratio: float
) -> None:
    messages = history(acts)
    own = [one for one in messages if isinstance(one, UserMessage) and one.origin == "prompt"]
    found = packed(messages, window, answer, ratio)
    room = Room.for_window(window, answer).tokens
    newest = next(
        (at for at in reversed(range(len(messages))) if isinstance(messages[at], AssistantMessage)), 0
    )
    always = packed([*own, *messages[newest:]], window, answer, ratio).manifest.total_tokens
    assert room is not None and found.manifest.input_budget == room
    assert found.manifest.total_tokens <= max(room, always + 300)
    assert not check_pairs(found.messages)
    assert all(one in found.messages for one in own) and "Never push." in found.system
    assert packed(messages, window, answer, ratio) == found
    assert all(one.chars <= one.raw_chars and one.tokens >= 0 for one in found.manifest.sections)


def test_the_task_stays_in_a_summary_though_hardly_anything_fits() -> None:
    told = f"# What came before\n\n## The task, in the user's words\n{TASK}\n\n## {STORY}\n" + text(4_000)
    work = [one for n in range(60) for one in exchange(10 * n, [400], 300, image=False)]
    found = packed([SummaryMessage(text=told, seq=0), said("go on", 1), *work], 6_000, 500, 1.0)
    assert TASK in str(found.messages[0]) and not check_pairs(found.messages)
    assert (
        found.manifest.input_budget is not None and found.manifest.total_tokens <= found.manifest.input_budget
    )
