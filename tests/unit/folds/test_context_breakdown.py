"""What fills the context: by message, tool and file, and how one request differs from another."""

from collections.abc import Mapping

from tests.stubs.story import Story, finished, responded, tool_call
from tui_agent.folds.context.context_breakdown import MAX_REQUESTS, Ledger, LedgerView
from tui_agent.folds.context.meter import SECTION_LABELS, ContextMeterView, MeterSection
from tui_agent.protocol.events.context import (
    ContextCompacted,
    ContextPacked,
    ContextReduced,
    ContextRestored,
    CountedMessage,
    RepomapUsed,
    Section,
    SectionName,
)
from tui_agent.protocol.events.instructions import InstructionFile, InstructionsLoaded
from tui_agent.protocol.events.model import ModelFailed, ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SessionContextLoaded
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId, SessionId
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import ModelInfo


def packed(
    request: str,
    added: dict[int, int],
    ratio: float = 1.0,
    prefix: str = "a",
    chars: Mapping[str, int] | None = None,
    **sections: int,
) -> ContextPacked:
    """A manifest; a section's characters are its tokens where `chars` says nothing else."""
    whole = sum(sections.values())
    names: dict[SectionName, int] = sections  # type: ignore[assignment]
    return ContextPacked(
        request_id=RequestId(request),
        window=1_000,
        total_tokens=round(whole * ratio),
        counted_tokens=whole,
        total_chars=0,
        prefix_digest=prefix,
        added=tuple(CountedMessage(seq=seq, tokens=tokens) for seq, tokens in added.items()),
        sections=tuple(
            Section(name=name, raw_chars=1, chars=(chars or {}).get(name, tokens), tokens=tokens)
            for name, tokens in names.items()
        ),
    )


def read(call: str, path: str) -> ToolCalled:
    return ToolCalled(
        call_id=CallId(call),
        name="read_file",
        arguments={"path": path},
        iteration=1,
        verb="read",
        target=path,
    )


def told(*payloads: Payload) -> LedgerView:
    fold, story = Ledger(), Story()
    for payload in payloads:
        fold.apply(story(payload))
    return fold.view()


ASKED = UserMessageReceived(text="Do it", source="prompt")


def test_each_message_has_its_tool_and_its_file() -> None:
    view = told(
        ASKED,
        packed("r1", {0: 10}, messages=10),
        responded("r1", tool_call("c1"), tokens=12),
        read("c1", "src/a.py"),
        finished("c1"),
        packed("r2", {2: 5, 4: 400}, ratio=2.0, messages=415),
    )
    assert [(one.sender, one.subject, one.tokens) for one in view.messages] == [
        ("read_file", "src/a.py", 800),
        ("you", "Do it", 20),
        ("answer", "run_command", 10),
    ]
    assert [(one.name, one.count, one.tokens) for one in view.files] == [("src/a.py", 1, 800)]
    assert [one.name for one in view.tools] == ["read_file", "you", "answer"]


def test_attached_files_of_mentions_are_counted_by_file() -> None:
    mentions = (
        Mention(reference="@db.py", kind="file", path="db.py", text="x" * 600),
        Mention(reference="@src", kind="directory", path="src", text="x" * 90),
        Mention(reference="@db.py:Row", kind="symbol", path="db.py", text="x" * 200),
        Mention(reference="@a.py", kind="file", path="a.py", text="x" * 100),
        Mention(reference="@.env", kind="refused", note="a secret"),
    )
    asked = UserMessageReceived(text="Review it!", source="prompt", mentions=mentions)
    request = packed("r1", {0: 10}, task_contract=10, mentions=490)
    request = request.model_copy(update={"added": (*request.added, CountedMessage(seq=0, tokens=490))})
    view = told(
        asked,
        request,
        responded("r1", tool_call("c1"), tokens=12),
        read("c1", "db.py"),
        finished("c1"),
        packed("r2", {4: 50}, messages=550),
    )
    assert [(total.name, total.tokens) for total in view.tools] == [
        ("you", 500), ("read_file", 50), ("answer", 10),
    ]  # fmt: skip
    assert [(total.name, total.count, total.tokens) for total in view.files] == [
        ("db.py", 2, 450), ("a.py", 1, 50),
    ]  # fmt: skip
    assert [(total.name, total.tokens) for total in view.scale_to(metered(messages=1_120)).files] == [
        ("db.py", 900), ("a.py", 100),
    ]  # fmt: skip


def test_the_newest_answer_is_a_message_before_the_next_request() -> None:
    view = told(ASKED, packed("r1", {0: 10}, ratio=2.0, messages=10), responded("r1", "Done"))
    assert [(one.sender, one.tokens) for one in view.messages] == [("you", 20), ("answer", 10)]


def test_an_answer_that_was_stopped_is_a_message() -> None:
    stopped = ModelFailed(
        request_id=RequestId("r1"), fault="cancelled", message="", partial="Once upon a time " * 10
    )
    view = told(ASKED, packed("r1", {0: 10}, messages=10), stopped)
    assert [(one.sender, one.tokens) for one in view.messages] == [("answer", 42), ("you", 10)]
    assert view.messages[0].subject.startswith("Once upon a time Once")
    refused = stopped.model_copy(update={"fault": "server"})
    assert len(told(ASKED, packed("r1", {0: 10}, messages=10), refused).messages) == 1


def metered(**sections: int) -> ContextMeterView:
    names: dict[SectionName, int] = sections  # type: ignore[assignment]
    return ContextMeterView(
        sections=tuple(MeterSection(SECTION_LABELS[name], tokens) for name, tokens in names.items())
    )


def test_the_messages_add_up_to_the_meters_conversation_when_the_provider_counts_otherwise() -> None:
    view = told(
        SessionContextLoaded(from_session=SessionId("s1"), turns=2, summary="Earlier: done."),
        ASKED,
        RepomapUsed(query="", tokens=50, files=(), injected=True),
        packed("r1", {0: 40, 1: 30, 2: 50}, session_context=40, messages=30, repo_map=50),
        responded("r1", "Done"),
    )
    scaled = view.scale_to(metered(session_context=20, repo_map=25, task_contract=60, messages=10))
    assert [(total.name, total.tokens) for total in scaled.tools] == [
        ("you", 60), ("repo map", 25), ("earlier session", 20), ("answer", 10),
    ]  # fmt: skip
    scaled = view.scale_to(metered(packed_context=80, task_contract=60, repo_map=25, messages=10))
    assert [(total.name, total.tokens) for total in scaled.tools] == [
        ("earlier session", 80), ("you", 60), ("repo map", 25), ("answer", 10),
    ]  # fmt: skip


def test_messages_with_instructions_are_scaled_like_all_instructions() -> None:
    loaded = InstructionsLoaded(
        trigger="nested",
        files=(
            InstructionFile(
                path="src/AGENTS.md", scope="nested", sha256="d", size=9, tokens=3, text="Use tabs."
            ),
        ),
    )
    view = told(ASKED, loaded, packed("r1", {0: 30, 1: 50}, messages=30, instructions=200))
    scaled = view.scale_to(metered(task_contract=30, instructions=100))
    assert [(total.name, total.tokens) for total in scaled.tools] == [("you", 30), ("instructions", 25)]


def test_two_requests_differ_by_their_sections_and_what_the_provider_counted_is_told() -> None:
    view = told(
        ASKED,
        packed("r1", {0: 10}, system=50, messages=10),
        responded("r1", "hello", tokens=66),
        packed("r2", {}, prefix="b", system=70, messages=10, tool_results=30),
    )
    first, second = view.requests
    assert (first.input_tokens, first.cache_miss_reason, second.input_tokens) == (66, "", None)
    assert second.cache_miss_reason == "instructions changed"
    assert view.difference(0, 1) == {"system": 20, "tool_results": 30}
    assert view.difference(1, 0) == {"system": -20, "tool_results": -30}


def test_what_was_only_counted_anew_is_no_difference_of_two_requests() -> None:
    same = {"repo_map": 3_000, "mentions": 4_000}
    view = told(
        ASKED,
        packed("r1", {0: 10}, chars={**same, "messages": 40}, repo_map=1_200, mentions=1_100, messages=10),
        packed("r2", {}, chars={**same, "messages": 80}, repo_map=700, mentions=560, messages=16),
        packed("r3", {}, chars=same, repo_map=700, mentions=560),
    )
    # Of 80 characters in 16 tokens the 40 new ones are 8; of what is gone nobody counts anew.
    assert view.difference(0, 1) == {"messages": 8}
    assert view.difference(1, 2) == {"messages": -16}


def asked(request: str, model: str = "m") -> ModelRequested:
    info = ModelInfo(profile=model, provider="p", model=model)
    return ModelRequested(
        request_id=RequestId(request),
        iteration=1,
        local_iteration=1,
        model=info,
        tools=(),
        messages=1,
        max_tokens=9,
    )


def answered(request: str, cached: int) -> ModelResponded:
    usage = Usage(input_tokens=100, output_tokens=1, cached_tokens=cached)
    return responded(request, "ok", tokens=100).model_copy(update={"usage": usage})


REDUCED = ContextReduced(call_ids=(), artifacts=(), removed_seqs=(), before_tokens=9, after_tokens=3)
COMPACTED = ContextCompacted(
    through_seq=0, summary="s", removed_seqs=(0,), turns=1, before_tokens=9, after_tokens=3, trigger="user"
)


def test_after_a_summary_it_stands_with_what_is_left_and_taken_back_all_is_there_again() -> None:
    before = packed("r1", {0: 100, 1: 20, 2: 30}, messages=150)
    part = Section(name="packed_context", raw_chars=1, chars=1, tokens=40)
    summed = COMPACTED.model_copy(update={"through_seq": 1, "sections": (part,)})
    plain = told(before)
    view = told(before, summed)
    assert [(one.seq, one.sender, one.tokens) for one in view.messages] == [
        (1, "summary", 40),
        (2, "other", 30),
    ]
    assert told(before, summed, ContextRestored(compaction=1)).messages == plain.messages


def test_a_request_says_why_the_cache_could_not_serve_all_of_the_one_before() -> None:
    view = told(
        *(packed("r1", {}, available_tools=5), asked("r1"), answered("r1", 0)),
        *(packed("r2", {}, available_tools=5), asked("r2"), answered("r2", 90)),
        *(REDUCED, packed("r3", {}, available_tools=5), asked("r3"), answered("r3", 40)),
        *(REDUCED, COMPACTED, packed("r4", {}, available_tools=5), asked("r4"), answered("r4", 40)),
        *(packed("r5", {}, available_tools=7), asked("r5"), answered("r5", 0)),
        *(ContextRestored(seqs=(1,)), packed("r6", {}, available_tools=7), asked("r6"), answered("r6", 9)),
        *(packed("r7", {}, available_tools=7), asked("r7"), answered("r7", 0)),
        *(packed("r8", {}, available_tools=7), asked("r8", "other"), answered("r8", 0)),
        *(packed("r9", {}, available_tools=7), asked("r9", "other"), answered("r9", 0)),
    )
    assert [one.cache_miss_reason for one in view.requests] == [
        "",
        "",
        "outputs shortened",
        "outputs shortened, turns summarised",
        "tools changed",
        "messages restored",
        "not in the provider's cache",
        "another model",
        "",
    ]


def test_what_was_shortened_to_fit_is_a_reason_once() -> None:
    def fits(request: str, rule: str) -> ContextPacked:
        section = Section(name="tool_results", raw_chars=9, chars=3, tokens=1, reduced=bool(rule), rule=rule)
        return packed(request, {}).model_copy(update={"sections": (section,)})

    view = told(fits("r1", ""), fits("r2", "shortened the oldest 2"), fits("r3", "shortened the oldest 2"))
    assert [one.cache_miss_reason for one in view.requests] == ["", "texts shortened to fit", ""]


def test_what_was_compacted_away_is_gone_and_what_stayed_keeps_its_name() -> None:
    view = told(
        ASKED,
        read("c1", "b.py"),
        finished("c1"),
        packed("r1", {0: 10, 2: 20}, messages=30),
        COMPACTED,
        packed("r2", {4: 3, 2: 20}, messages=23),
    )
    assert [(one.sender, one.subject) for one in view.messages] == [("read_file", "b.py"), ("summary", "")]


def test_a_long_session_holds_only_its_newest_requests() -> None:
    view = told(*(packed(f"r{number}", {number: 1}, messages=1) for number in range(MAX_REQUESTS * 3)))
    assert len(view.requests) == MAX_REQUESTS and view.requests[-1].request_id == f"r{MAX_REQUESTS * 3 - 1}"


def test_the_map_of_the_repository_is_named_and_nothing_of_an_earlier_session() -> None:
    used = RepomapUsed(query="q", tokens=9, files=("a.py",), injected=True, text="a.py")
    assert [(one.sender, one.tokens) for one in told(used, packed("r1", {0: 9})).messages] == [
        ("repo map", 9)
    ]


def test_a_request_of_which_the_cache_served_only_a_part_says_so() -> None:
    payloads: list[Payload] = []
    for at, (size, cached) in enumerate(((9_000, 0), (10_000, 8_900), (11_000, 3_600), (12_000, 0))):
        usage = Usage(input_tokens=size, output_tokens=1, cached_tokens=cached)
        answer = answered(f"r{at}", cached).model_copy(update={"usage": usage})
        payloads += [packed(f"r{at}", {}), asked(f"r{at}"), answer]
    reasons = [one.cache_miss_reason for one in told(*payloads).requests]
    assert reasons == ["", "", "only partly in the provider's cache", "not in the provider's cache"]
