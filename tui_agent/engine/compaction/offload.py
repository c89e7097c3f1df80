"""Puts old outputs of an agent's history away, without asking a model.

Invariant: each stands as one line with the id of an artifact that holds all of it.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.context.compaction_limits import chars_of, needed_calls, newest_readings, reducible
from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.large_results import as_blob, line_count
from tui_agent.errors import BlobMissing
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText, LongText, text_preview
from tui_agent.protocol.events.context import ContextReduced
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.messages import ToolMessage
from tui_agent.protocol.parts import ImageContent, TextContent

AT_ONCE: Final = 100
"""Outputs that one event puts away."""


class PuttingAway:
    """One agent's."""

    def __init__(self, parts: EngineParts, agent: AgentId) -> None:
        self._parts = parts
        self._agent = agent

    def away(
        self,
        needed: int,
        window: int,
        per_char: float,
        least: float = 0.0,
        *,
        readings: bool = False,
        all_of_it: bool = False,
    ) -> int:
        """Put the oldest outputs away, many at once so that a provider's cache breaks seldom; the tokens that it freed.
        None where they free less than this share of the window; `readings`: those of the files that were used last
        too, as far as that share needs them."""
        limits = self._parts.shrinking
        newest, possible = self._possible(round(limits.keep * window / per_char))
        enough = least * window
        wanted = needed if all_of_it else max(needed - limits.reduce_to * window, enough)
        chosen, freed = list[ToolMessage](), 0.0
        for message in possible:
            late = message.call_id in newest
            if freed >= (enough if late else wanted) or (late and not readings):
                break
            chosen.append(message)
            freed += max(0, chars_of(message) - 160) * per_char
        if not chosen or freed < enough:
            return 0
        chosen.sort(key=lambda one: one.seq)
        before = needed
        for at in range(0, len(chosen), AT_ONCE):
            part = chosen[at : at + AT_ONCE]
            less = round(sum(max(0, chars_of(one) - 160) for one in part) * per_char)
            self._put_away(part, before, max(0, before - less))
            before = max(0, before - less)
        return needed - before

    def _possible(self, keep: int) -> tuple[set[CallId], list[ToolMessage]]:
        """The newest readings, and all outputs that may be put away, those last."""
        recorder = self._parts.recorder
        history = recorder.messages(self._agent)
        stay = needed_calls(history, recorder.history(self._agent).forgotten.pinned)
        newest = newest_readings(history)
        return newest, sorted(reducible(history, keep, stay), key=lambda one: one.call_id in newest)

    def _put_away(self, messages: Sequence[ToolMessage], before: int, after: int) -> None:
        self._parts.recorder.append(
            ContextReduced(
                call_ids=tuple(one.call_id for one in messages),
                artifacts=tuple(self._artifact(one) for one in messages),
                forgets=tuple(one.seq for one in messages),
                before_tokens=before,
                after_tokens=after,
            ),
            agent=self._agent,
        )

    def _artifact(self, message: ToolMessage) -> Artifact:
        """The output as an artifact: the one that it was shortened to or read of, else a new one of what was told."""
        held = self._parts.recorder.state.artifacts.get(message.artifact_id)
        if held is not None:
            return held
        blobs = self._parts.blobs
        words = [self._text(one.text) for one in message.content if isinstance(one, TextContent)]
        images = sum(isinstance(one, ImageContent) for one in message.content)
        whole = blobs.keep("\n".join([*words, *(["[an image]"] * images)]))
        text = self._text(whole)
        stored = whole if isinstance(whole, BlobText) else as_blob(text, blobs)
        return Artifact.of(message.name, stored, lines=line_count(text), preview_size=0)

    def _text(self, text: LongText) -> str:
        try:
            return self._parts.blobs.text(text)
        except BlobMissing:
            return text_preview(text)
