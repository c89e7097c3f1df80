"""Notices on texts that do not fit in the window."""

from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.events.context import ContextCut, ContextLearnt, Cut

HELPS: Final = (
    "Use a model with a larger window (/model), or mention a file with @path, which is read in parts."
)


def too_long(cut: ContextCut) -> str:
    """Return the notice that texts do not fit in the window, and what the model is sent of them."""
    window = f" of {cut.window:,} tokens" if cut.window else ""
    sizes = [f"{text.chars:,} of {text.raw_chars:,} characters" for text in cut.cuts]
    if len(cut.cuts) == 1:
        subject, sent = f"{cut.cuts[0].what} does", f" ({sizes[0]})"
    else:
        labels = [f"{text.what} ({size})" for text, size in zip(cut.cuts, sizes, strict=True)]
        subject, sent = f"{', '.join(labels[:-1])} and {labels[-1]} do", ""
    return (
        f"{subject[:1].upper()}{subject[1:]} not fit in this model's window{window}: it is sent the beginning and"
        f" the end{sent} and can read the rest ({_artifact_ids(cut.cuts)})."
    )


def learnt(made: ContextLearnt) -> tuple[str, str]:
    """Return the notice on the inferred window of a model, and how to set a better value."""
    reason = "stated by its provider" if made.told else f"its provider refused {made.refused:,}"
    line = f"The window of model {made.profile} now counts as {made.window:,} tokens: {reason}."
    return line, "If you know its size, set context_window in its profile in config.toml."


def not_whole(cuts: Sequence[Cut]) -> str:
    """Return the notice that a summary holds some texts only in part."""
    labels = ", ".join(cut.what for cut in cuts)
    return f"Shortened in the summary: {labels}. The model can read all of it ({_artifact_ids(cuts)})."


def _artifact_ids(cuts: Sequence[Cut]) -> str:
    return ", ".join(cut.artifact.id for cut in cuts)
