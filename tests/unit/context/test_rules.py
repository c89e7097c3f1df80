"""Instructions that the window does not hold: which stay, what is cut of which, and what a person is told."""

from tui_agent.context.budgets import divide_evenly
from tui_agent.context.instructions import RULES_LABEL, cut_rules
from tui_agent.context.request_assembly import Assembly, RequestInput
from tui_agent.folds.text.labels import truncation_notice
from tui_agent.ports.middleware import Fragment
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.context import ContextTruncated, Truncation
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.stored_text import BlobText

OWN = "/home/me/.config/tui-agent/AGENTS.md"
IDS = ("skills", "instructions", OWN, "../../AGENTS.md", "../AGENTS.md", "AGENTS.md")


def _sizes(room: int, *sizes: int) -> list[int]:
    """What stays of each, in thousands."""
    lines = ["a rule of some words\n" * (size * 1_000 // 21) for size in sizes]
    return [round(len(text) / 1_000) for text, _ in cut_rules(IDS[-len(sizes) :], lines, room * 1_000)]


def test_the_farthest_give_way_first_and_the_nearest_and_the_users_own_last() -> None:
    assert _sizes(60, 10, 0, 10, 10, 10, 10) == [10, 0, 10, 10, 10, 10]
    assert _sizes(45, 10, 0, 10, 10, 10, 10)[1:] == [0, 10, 10, 10, 10]
    assert _sizes(25, 10, 0, 10, 10, 10, 10)[2:] == [10, 0, 5, 10]
    assert _sizes(20, 10, 0, 10, 10, 10, 10)[2:] == [10, 0, 0, 10]
    assert _sizes(8, 10, 0, 3, 10, 10, 10)[2:] == [3, 0, 0, 5], "a short one beside a long one stays whole"


def test_what_is_cut_says_of_which_file_and_how_much() -> None:
    [(far, cut), (near, whole)] = cut_rules(IDS[-2:], ("x\n" * 5_000, "y\n" * 1_000), 6_000)
    assert near == "y\n" * 1_000 and whole is None
    assert cut is not None and cut.label == "the instructions of ../AGENTS.md"
    assert (len(cut.full_text), cut.chars) == (10_000, len(far)) and 3_500 < cut.chars < 4_300
    assert "artifact:" in far


def test_the_notice_names_every_file_that_was_cut_with_its_figures() -> None:
    art = Artifact.from_blob(
        "rules", BlobText(preview="", blob_sha256="a" * 64, size=9), lines=1, preview_size=1
    )
    names = ("../AGENTS.md", "AGENTS.md")
    cuts = tuple(
        Truncation(label=f"{RULES_LABEL}{name}", raw_chars=20_000, chars=900, artifact=art) for name in names
    )
    assert truncation_notice(ContextTruncated(window=8_000, truncations=cuts)).startswith(
        "The instructions of ../AGENTS.md (900 of 20,000 characters) and the instructions of AGENTS.md (900 of 20,000"
        " characters) do not fit in this model's window of 8.0k tokens: the model gets the beginning and the end and can"
    )
    assert (
        "AGENTS.md does not fit in this model's window: the model gets the beginning and the end (900 of 20,000"
        in (truncation_notice(ContextTruncated(window=0, truncations=cuts[1:])))
    )


def test_short_ones_have_all_and_long_ones_share_what_is_left() -> None:
    assert divide_evenly([100, 5, 50], 200) == [100, 5, 50]
    assert divide_evenly([100, 5, 50], 65) == [30, 5, 30]
    assert divide_evenly([100, 5, 50], 9) == [3, 3, 3]
    assert divide_evenly([], 10) == [] and divide_evenly([5], -1) == [0]


def test_instructions_that_joined_are_cut_where_another_model_has_no_room_for_them() -> None:
    joined = UserMessage(content=(TextContent(text="A rule.\n" * 4_000),), seq=3, origin="instructions")
    said = UserMessage(content=(TextContent(text="Go on."),), seq=4)
    model = ModelInfo(profile="m", provider="scripted", model="m", window=4_000)
    wanted = RequestInput(
        RequestId("r"), model, (Fragment("identity", "You are careful."),), (joined, said), (), 500
    )
    packed = Assembly().pack(wanted)
    assert packed.manifest.total_tokens <= 4_000 and packed.messages[-1] == said
    assert [one.label for one in packed.cuts] == ["the instructions of a folder"]
    [section] = [one for one in packed.manifest.sections if one.name == "instructions"]
    assert section.reduced and section.raw_chars == 32_000
