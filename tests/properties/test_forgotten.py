"""For any history, any cuts and whatever is brought back: the history stays legal and nothing is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tests.stubs.legal_history import check_pairs
from tests.stubs.story import Story, called, finished, requested, responded, started, tool_call
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import copy_state
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.context import ContextCompacted, ContextReduced, ContextRestored
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import ToolMessage, UserMessage
from tui_agent.protocol.parts import TextPart
from tui_agent.protocol.stored_text import BlobText

WHOLE = BlobText(blob_sha256="b" * 64, size=9_000, preview="begin")
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 3)),
        st.tuples(st.just("work"), st.integers(1, 3)),
        st.tuples(st.just("steer"), st.integers(1, 2)),
        st.tuples(st.just("compact"), st.floats(0, 1)),
        st.tuples(st.just("reduce"), st.floats(0, 1)),
        st.tuples(st.just("restore"), st.floats(0, 1)),
        st.tuples(st.just("undo"), st.floats(0, 1)),
    ),
    max_size=25,
)


class Tale:
    def __init__(self) -> None:
        self.fold, self.story = ModelMessages(), Story()
        self.requests = self.calls = 0
        self.said: list[int] = []
        self.compactions: list[int] = []

    def tell(self, payload: Payload) -> int:
        self.fold.apply(self.story(payload))
        return self.story.seq

    def answer(self, calls: int, *, steer: bool = False) -> None:
        self.requests += 1
        name = f"r{self.requests}"
        self.tell(requested(name))
        names = [f"c{self.calls + at}" for at in range(calls)]
        self.calls += calls
        self.tell(responded(name, TextPart(text="so"), *map(tool_call, names)))
        for call in names:
            self.tell(called(call))
            self.tell(started(call))
            if steer:
                self.said.append(self.tell(UserSteered(text="mind this")))
            self.tell(finished(call, "ok", f"came of {call}"))

    def act(self, what: str, how: float) -> None:
        held = self.fold.view()
        match what:
            case "say":
                self.said.append(self.tell(UserMessageReceived(text=f"words {how}")))
                self.answer(0)
            case "work":
                self.answer(int(how))
            case "steer":
                self.answer(int(how), steer=True)
            case "compact" if held:
                through = held[int(how * (len(held) - 1))].seq
                self.compactions.append(
                    self.tell(
                        ContextCompacted(
                            through_seq=through,
                            summary="short",
                            removed_seqs=(),
                            turns=1,
                            before_tokens=9,
                            after_tokens=3,
                            trigger="user",
                        )
                    )
                )
            case "reduce":
                results = [one.call_id for one in held if isinstance(one, ToolMessage)]
                some = tuple(CallId(one) for one in results[: int(how * len(results))])
                made = tuple(Artifact.from_blob("x", WHOLE, lines=1, preview_size=0) for _ in some)
                self.tell(
                    ContextReduced(
                        call_ids=some, artifacts=made, removed_seqs=(), before_tokens=9, after_tokens=3
                    )
                )
            case "restore":
                every = [one.seq for one in self.fold.originals()]
                self.tell(ContextRestored(seqs=tuple(every[: int(how * len(every))])))
            case "undo" if self.compactions:
                self.tell(ContextRestored(compaction=self.compactions.pop()))


@settings(max_examples=example_count(150))
@given(ACTS)
def test_every_history_is_legal_and_the_originals_keep_what_was_said(acts: list[tuple[str, float]]) -> None:
    tale = Tale()
    for what, how in acts:
        tale.act(what, how)
        view = tale.fold.view()
        assert not check_pairs(view), (what, check_pairs(view))
        originals = tale.fold.originals()
        own = [one.seq for one in originals if isinstance(one, UserMessage) and one.seq in tale.said]
        assert sorted(own) == sorted(tale.said)
        again = copy_state(tale.fold)
        assert again.view() == view and again.originals() == originals
