"""What a person reads of what the window does not hold whole."""

from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.events.context import ContextCut, ContextLearnt, Cut

HELPS: Final = (
    "A model with a larger window (/model) has all of it at once; a file named with @path is read in parts."
)


def too_long(cut: ContextCut) -> str:
    """That something has no room in the window, and what the model is sent of it."""
    window = f" of {cut.window:,} tokens" if cut.window else ""
    sizes = [f"{one.chars:,} of {one.raw_chars:,} characters" for one in cut.cuts]
    if len(cut.cuts) == 1:
        parts, sent = f"{cut.cuts[0].what} has", f", {sizes[0]},"
    else:
        named = [f"{one.what} ({size})" for one, size in zip(cut.cuts, sizes, strict=True)]
        parts, sent = f"{', '.join(named[:-1])} and {named[-1]} have", ""
    return (
        f"{parts[:1].upper()}{parts[1:]} no room as a whole in this model's window{window}: it is sent the beginning and"
        f" the end{sent} and can read the rest ({_ids(cut.cuts)})."
    )


def learnt(made: ContextLearnt) -> tuple[str, str]:
    """What counts as a model's window from now on, and how a person says it better."""
    how = "as its provider says" if made.told else f"its provider refused {made.refused:,}"
    words = f"The model {made.profile} is taken to hold {made.window:,} tokens from now on: {how}."
    return words, "context_window of its profile, in config.toml, says better what it holds."


def not_whole(cuts: Sequence[Cut]) -> str:
    """What must not be lost and stands in a summary in part."""
    parts = ", ".join(one.what for one in cuts)
    return (
        f"Not whole in the summary, for want of room: {parts}. The model can read all of it ({_ids(cuts)})."
    )


def _ids(cuts: Sequence[Cut]) -> str:
    return ", ".join(one.artifact.id for one in cuts)
