"""Offloading: replaces old outputs in an agent's history, without asking a model.

`context/compaction/offloadable_results.py` selects the outputs that may be replaced.

Invariant: each output is replaced by one line with the id of the artifact with the full output.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.context.compaction.offloadable_results import (
    needed_calls,
    newest_readings,
    offloadable_results,
)
from tui_agent.context.compaction.summarised_messages import chars_of
from tui_agent.engine.components import EngineParts
from tui_agent.engine.tools.large_results import as_blob, line_count
from tui_agent.errors import BlobNotFound
from tui_agent.ports.log import BlobReader
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.events.context import ContextReduced
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.messages import ToolMessage
from tui_agent.protocol.parts import ImageContent, TextContent
from tui_agent.protocol.stored_text import BlobText, LongText, text_preview

MAX_OUTPUTS_PER_EVENT: Final = 100
"""Maximum number of offloaded outputs that one event can list."""
LINE_CHARS: Final = 160
"""Approximate number of characters in the line that replaces an output."""


class OutputOffloader:
    """Replaces results of an agent's calls by one line each. The line has the id of the artifact with the result."""

    def __init__(self, parts: EngineParts, agent: AgentId) -> None:
        self._parts = parts
        self._agent = agent

    def offload(
        self,
        needed: int,
        window: int,
        per_char: float,
        least: float = 0.0,
        *,
        include_newest_reads: bool = False,
        unlimited: bool = False,
    ) -> int:
        """Offload the oldest outputs of a context that needs `needed` tokens. Return the number of freed tokens.

        - `window`: the model's window in tokens.
        - `least`: minimum to free, as a fraction of `window`. If less can be freed, nothing is offloaded.
        - `include_newest_reads`: also offload the newest file contents if `least` cannot be reached otherwise.
        - `unlimited`: offload all outputs that can be offloaded.
        - `per_char`: tokens per character.
        """
        # Many outputs are offloaded together, because each change invalidates the provider's cache.
        limits = self._parts.compaction_limits
        newest_reads, candidates = self._candidates(round(limits.keep * window / per_char))
        minimum = least * window
        target = needed if unlimited else max(needed - limits.reduce_to * window, minimum)
        chosen, freed = list[ToolMessage](), 0.0
        for message in candidates:
            is_newest_read = message.call_id in newest_reads
            if freed >= (minimum if is_newest_read else target) or (
                is_newest_read and not include_newest_reads
            ):
                break
            chosen.append(message)
            freed += _saved_chars(message) * per_char
        if not chosen or freed < minimum:
            return 0
        chosen.sort(key=lambda message: message.seq)
        before = needed
        for start in range(0, len(chosen), MAX_OUTPUTS_PER_EVENT):
            batch = chosen[start : start + MAX_OUTPUTS_PER_EVENT]
            after = max(0, before - round(sum(map(_saved_chars, batch)) * per_char))
            self._record(batch, before, after)
            before = after
        return needed - before

    def _candidates(self, keep: int) -> tuple[set[CallId], list[ToolMessage]]:
        """Return (call ids of the newest file reads, outputs that can be offloaded).

        The outputs in the newest `keep` characters of the history cannot be offloaded. The newest file reads come last.
        """
        recorder = self._parts.recorder
        history = recorder.messages(self._agent)
        removed = recorder.model_messages(self._agent).removed
        refused = {reply.refused_call for reply in removed.replies}
        required = needed_calls(history, removed.pinned) | refused
        newest_reads = newest_readings(history)
        outputs = offloadable_results(history, keep, required)
        return newest_reads, sorted(outputs, key=lambda message: message.call_id in newest_reads)

    def _record(self, messages: Sequence[ToolMessage], before: int, after: int) -> None:
        self._parts.recorder.append(
            ContextReduced(
                call_ids=tuple(message.call_id for message in messages),
                artifacts=tuple(self._artifact(message) for message in messages),
                removed_seqs=tuple(message.seq for message in messages),
                before_tokens=before,
                after_tokens=after,
            ),
            agent=self._agent,
        )

    def _artifact(self, message: ToolMessage) -> Artifact:
        existing = self._parts.recorder.state.artifacts.get(message.artifact_id)
        if existing is not None:
            return existing
        blobs = self._parts.blobs
        texts = [
            available_text(blobs, part.text) for part in message.content if isinstance(part, TextContent)
        ]
        images = sum(isinstance(part, ImageContent) for part in message.content)
        content = blobs.put_text("\n".join([*texts, *(["[an image]"] * images)]))
        text = available_text(blobs, content)
        stored = content if isinstance(content, BlobText) else as_blob(text, blobs)
        return Artifact.from_blob(message.name, stored, lines=line_count(text), preview_size=0)


def available_text(blobs: BlobReader, text: LongText) -> str:
    """Return the full text, or its preview if the blob is missing."""
    try:
        return blobs.read_text(text)
    except BlobNotFound:
        return text_preview(text)


def _saved_chars(message: ToolMessage) -> int:
    return max(0, chars_of(message) - LINE_CHARS)
