"""Assembly of a request from fragments, history and tools, with a manifest of its sections.

Invariant: equal input gives an equal request byte for byte, because providers cache the beginnings of requests.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from typing import Final

from tui_agent.context.budgets import ALWAYS_SENT, EXCLUDED_FRAGMENTS, EXCLUDED_MESSAGES, Room
from tui_agent.context.compaction.summary_text import CutText
from tui_agent.context.history_tokens import (
    MessageCount,
    SectionShare,
    TokenCounts,
    required_tokens,
    sections_of,
    split_shares,
)
from tui_agent.context.instructions import RULES_LABEL, cut_rules
from tui_agent.context.token_counter import CHARS_PER_TOKEN, Tokens
from tui_agent.context.window_fit import FittedHistory, HistoryFitter
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.context.meter import scale_to_total
from tui_agent.folds.context.window_limits import UNKNOWN_WINDOW, InferredWindow
from tui_agent.ports.middleware import Fragment
from tui_agent.ports.model import ToolSchema
from tui_agent.protocol.events.context import (
    ContextPacked,
    CountedMessage,
    FragmentRecord,
    Section,
    SectionName,
)
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import Message, SummaryMessage, UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import ContextMode, ModelInfo
from tui_agent.units import format_number, format_tokens

SEPARATOR = "\n\n"
TRAILING_SECTION: Final[SectionName] = "working_memory"
"""Name of the section that can change within a turn."""
# These fragments are sent after the history, so that everything before them stays cached.
SHORTEN_FRACTION = 0.25
"""The history is shortened in multiples of this fraction of the available tokens."""
# With smaller portions, nearly every request would start differently, and the provider could cache nothing.
CUT_FRACTION = 0.10
"""Extra cut of user messages, as a fraction of the tokens available for a request.

If user messages must be cut, they are cut by this much more than necessary.
"""
# With this reserve, the next requests start with the same text, without new cuts.
PINNED: Final = "a pinned message"
PINNED_SHORT: Final = "a pinned message was shortened to fit"
NO_ROOM: Final = "too long for the window: only its beginning and end are sent"
SECTION_ORDER: tuple[SectionName, ...] = (
    "system",
    "task_contract",
    "instructions",
    "session_context",
    "working_memory",
    "packed_context",
    "repo_map",
    "mentions",
    "available_tools",
    "recent_observations",
    "messages",
    "tool_results",
)


@dataclass(frozen=True, slots=True)
class RequestInput:
    """The content and the limits of one request.

    `answer`: number of tokens reserved for the answer.
    `session_context`: the start of an earlier session's summary.
    """

    request_id: RequestId
    model: ModelInfo
    fragments: Sequence[Fragment]
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    answer: int = 0
    mode: ContextMode = "pack"
    session_context: str = ""
    learnt: InferredWindow = UNKNOWN_WINDOW
    """Limits of the window, inferred from accepted and refused requests."""
    pinned: Collection[int] = ()
    """Event numbers of the messages that the user pinned."""


@dataclass(frozen=True, slots=True)
class PackedRequest:
    """A packed request: the system prompt, the messages after the system prompt, and the manifest.

    `needed`, `chars`: size of the request before its sections were shortened, in tokens and in characters.
    `short`: the sections that were shortened.
    `cuts`: user messages, instructions and summaries that were cut because the window cannot hold them.
    `last`: maximum tokens of a request that leaves only the minimum room for the answer (see `Room.max_tokens`).
    """

    system: str
    messages: tuple[Message, ...]
    manifest: ContextPacked
    needed: int
    chars: int
    short: frozenset[SectionName]
    cuts: tuple[CutText, ...] = ()
    last: int | None = None


@dataclass(slots=True)
class _Draft:
    """A request that is being packed, with the size of each section so far."""

    request: RequestInput
    room: Room
    fragments: Sequence[Fragment]
    texts: dict[str, str]
    """Maps the id of a fragment to the fragment's text."""
    counted: Sequence[MessageCount]
    sections: Sequence[SectionName]
    """The section of each message in `counted`, in the same order."""
    shares: dict[SectionName, SectionShare]

    @property
    def tokens(self) -> int:
        return sum(share.tokens for share in self.shares.values())

    @property
    def required(self) -> int:
        """The number of tokens in content that is never shortened."""
        return sum(self.shares[name].tokens for name in ALWAYS_SENT) + sum(map(required_tokens, self.counted))


class Assembly:
    """Assembles the requests of one agent. Caches token counts and shortened texts between requests."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self.tokens = tokens or Tokens()
        self._history = TokenCounts(self.tokens)
        self._fitting = HistoryFitter(self._history.count_message)
        self._tool_sizes: dict[str, tuple[ToolSchema, int, int]] = {}
        self._text_sizes: dict[str, int] = {}
        self._counted_by = self.tokens.name

    @property
    def counts_are_current(self) -> bool:
        """True if the current tokenizer made the cached counts.

        Counts made before the tokenizer was loaded are outdated.
        """
        return self._counted_by == self.tokens.name

    def _recount_with_tokenizer(self) -> None:
        if not self.counts_are_current:
            self._counted_by = self.tokens.name
            self._history, self._text_sizes, self._tool_sizes = TokenCounts(self.tokens), {}, {}
            self._fitting = HistoryFitter(self._history.count_message)

    def prepare(self, request: RequestInput) -> None:
        """Count the tokens of a request's content in advance, so that `pack` is faster.

        Can be called in a thread while nothing is being packed.
        """
        self.tokens.load()
        self._recount_with_tokenizer()
        self._history.prepare(request.messages)
        for tool in request.tools:
            self._tool_size(tool)
        for fragment in _selected_fragments(request):
            self._clip(fragment, SectionShare())

    def pack(self, request: RequestInput) -> PackedRequest:
        """Assemble the request, and count the tokens of every section."""
        self._recount_with_tokenizer()
        room = Room.for_window(request.model.window, request.answer, request.learnt)
        shares: dict[SectionName, SectionShare] = {name: SectionShare() for name in SECTION_ORDER}
        fragments = _selected_fragments(request)
        texts = {fragment.id: self._clip(fragment, shares[fragment.section]) for fragment in fragments}
        for tool in request.tools:
            chars, tokens = self._tool_size(tool)
            shares["available_tools"].add(chars, tokens)
        counted, known = self._history.count(_selected_messages(request))
        sections = sections_of([count.message for count in counted], request.session_context)
        for count, section in zip(counted, sections, strict=True):
            for name, share in split_shares(count, section):
                shares[name].merge(share)
        draft = _Draft(request, room, fragments, texts, counted, sections, shares)
        rules = self._cut_rules(draft)
        total_chars = sum(share.chars for share in shares.values())
        fitted = self._fit(draft)
        total_chars -= sum(counted[index].chars - fitted.counted[index].chars for index in fitted.words)
        sent = [(fragment.section, texts[fragment.id]) for fragment in fragments if texts[fragment.id]]
        system = SEPARATOR.join(text for section, text in sent if section != TRAILING_SECTION)
        transient_texts = [text for section, text in sent if section == TRAILING_SECTION]
        messages = (*fitted.messages(), *_transient_messages(transient_texts))
        manifest = self._manifest(draft, system)
        added = tuple(CountedMessage(seq=count.message.seq, tokens=count.tokens) for count in counted[known:])
        return PackedRequest(
            system,
            messages,
            manifest.model_copy(update={"added": added}),
            needed=round(manifest.total_tokens * max(1.0, total_chars / max(1, manifest.total_chars))),
            chars=total_chars,
            short=frozenset(name for name, share in shares.items() if share.short or share.dropped),
            cuts=(*rules, *_message_cuts(fitted)),
            last=room.max_tokens,
        )

    def _cut_rules(self, draft: _Draft) -> list[CutText]:
        """Cut the instructions to their share of the window, if the required content does not fit."""
        request, room, texts = draft.request, draft.room, draft.texts
        share, budget = draft.shares["instructions"], room.budget("instructions")
        if budget is None or room.max_tokens is None:
            return []
        limit = self._to_own_count(budget, request)
        if draft.required <= self._to_own_count(room.max_tokens, request) or share.tokens <= limit:
            return []
        cuts = list[CutText]()
        ids = [
            fragment.id
            for fragment in draft.fragments
            if fragment.section == "instructions" and texts[fragment.id]
        ]
        rule_texts = [texts[name] for name in ids]
        chars, tokens = sum(map(len, rule_texts)), sum(map(self._size, rule_texts))
        for name, (text, cut) in zip(
            ids, cut_rules(ids, rule_texts, chars * limit // max(1, tokens)), strict=True
        ):
            if cut is not None:
                share.chars -= len(cut.full_text) - len(text)
                share.tokens -= self._size(cut.full_text) - self._size(text)
                share.rules.append(
                    f"{name}: {format_number(cut.chars)} of {format_number(len(cut.full_text))} characters, {NO_ROOM}"
                )
                texts[name] = text
                cuts.append(cut)
        return cuts

    def measure(self, request: RequestInput) -> PackedRequest:
        """Assemble the request only to measure it; the next `pack` is not affected."""
        # `TokenCounts` drops the counts of messages that are not in the measured request.
        history, self._history = self._history, TokenCounts(self.tokens)
        try:
            return self.pack(request)
        finally:
            self._history = history

    def _fit(self, draft: _Draft) -> FittedHistory:
        """Shorten or drop content until the request fits."""
        request, room, counted, texts = draft.request, draft.room, draft.counted, draft.texts
        if room.tokens is None:
            return FittedHistory(list(counted))
        limit, last = (
            self._to_own_count(tokens, request) for tokens in (room.tokens, room.max_tokens or room.tokens)
        )
        portion = max(1, round(limit * SHORTEN_FRACTION))
        required = draft.required
        pinned = frozenset(
            index for index, count in enumerate(counted) if count.message.seq in request.pinned
        )
        fitted = FittedHistory(list(counted), pinned=pinned)
        model, learnt = request.model, request.learnt
        self._fitting.cut_as_before(fitted, (model.model, model.window, learnt.refusal_state))
        # Content that is never shortened must fit by itself, so the user's longest texts are cut first.
        over = required - last - _freed_tokens(counted, fitted)
        if over > 0:
            self._fitting.cut_words(fitted, over, over + round(limit * CUT_FRACTION))
        # If content that is never shortened fills the room, shorten the answer instead, to leave room for work.
        limit = max(limit, min(last, required - _freed_tokens(counted, fitted) + portion))
        excess = draft.tokens - limit - _freed_tokens(counted, fitted)
        # The working memory is sent after the history, so without it the cached beginning of the request stays the
        # same.
        for fragment in draft.fragments:
            if fragment.section == TRAILING_SECTION and excess > 0 and texts[fragment.id]:
                size = self._size(texts[fragment.id])
                share = draft.shares[fragment.section]
                share.chars, share.tokens = share.chars - len(texts[fragment.id]), share.tokens - size
                share.dropped += 1
                texts[fragment.id] = ""
                excess -= size
        if excess > 0:
            # Rounded up to whole portions; see `SHORTEN_FRACTION`.
            self._fitting.fit(fitted, draft.sections, room, excess, -(-excess // portion) * portion)
        over = draft.tokens - last - _freed_tokens(counted, fitted)
        if over > 0:
            self._fitting.cut_words(fitted, over, over + round(limit * CUT_FRACTION))
        self._record_changes(fitted, draft)
        return fitted

    @staticmethod
    def _record_changes(fitted: FittedHistory, draft: _Draft) -> None:
        counted, sections, shares = draft.counted, draft.sections, draft.shares
        for section, positions in fitted.short.items():
            for index in positions:
                shares[section].short += 1
                if index in fitted.lost and PINNED_SHORT not in shares[section].rules:
                    shares[section].rules.append(PINNED_SHORT)
                if index not in fitted.words:
                    shares[section].chars -= counted[index].chars - fitted.counted[index].chars
                    shares[section].tokens -= counted[index].tokens - fitted.counted[index].tokens
        for index in fitted.words:
            _subtract_cut(shares, sections[index], counted[index], fitted.counted[index])
        for index in fitted.dropped:
            share = shares[sections[index]]
            share.chars -= fitted.counted[index].chars
            share.tokens -= fitted.counted[index].tokens
            share.dropped += 1

    def _manifest(self, draft: _Draft, system: str) -> ContextPacked:
        request, room, texts, shares = draft.request, draft.room, draft.texts, draft.shares
        model = request.model.model
        sections = tuple(
            Section(
                name=name,
                raw_chars=share.raw_chars,
                chars=share.chars,
                tokens=self.tokens.to_model_tokens(share.tokens, model),
                budget=room.budget(name),
                preserved=share.raw_chars == share.chars,
                reduced=share.raw_chars != share.chars,
                dropped_blocks=share.dropped,
                rule=_describe_shortening(name, share),
            )
            for name, share in shares.items()
            if share.raw_chars or share.dropped
        )
        records = tuple(
            FragmentRecord(
                id=fragment.id,
                digest=_digest(texts[fragment.id]),
                tokens=self.tokens.to_model_tokens(self._size(texts[fragment.id]), model),
                section=fragment.section,
            )
            for fragment in draft.fragments
        )
        return ContextPacked(
            request_id=request.request_id,
            window=request.learnt.effective_window(request.model.window),
            window_inferred=request.learnt.effective_window(request.model.window) != request.model.window,
            total_tokens=sum(section.tokens for section in sections),
            total_chars=sum(section.chars for section in sections),
            raw_chars=sum(section.raw_chars for section in sections),
            input_budget=room.tokens,
            mode=request.mode,
            sections=sections,
            fragments=records,
            counted_tokens=draft.tokens,
            tokenizer=self.tokens.name,
            prefix_digest=_digest(system),
            session_context_injected=bool(shares["session_context"].chars),
        )

    def _to_own_count(self, tokens: int, request: RequestInput) -> int:
        """Convert the model's token count `tokens` to our own token count. A small reserve for rounding is subtracted."""
        return max(1, int((tokens - len(SECTION_ORDER) / 2) / self.tokens.ratio(request.model.model)))

    def _clip(self, fragment: Fragment, share: SectionShare) -> str:
        text = full_text = fragment.text.strip()
        if fragment.missing_reason and not full_text:
            share.dropped += 1
            share.rules.append(fragment.missing_reason)
        if fragment.max_tokens is not None and len(full_text) > fragment.max_tokens * CHARS_PER_TOKEN:
            text = full_text[: round(fragment.max_tokens * CHARS_PER_TOKEN)]
            share.rules.append(f"{fragment.id} is cut to {format_tokens(fragment.max_tokens)} tokens")
        share.raw_chars += len(full_text)
        share.chars += len(text)
        share.tokens += self._size(text)
        return text

    def _size(self, text: str) -> int:
        if text not in self._text_sizes:
            if len(self._text_sizes) > 200:
                self._text_sizes.clear()
            self._text_sizes[text] = self.tokens.count(text)
        return self._text_sizes[text]

    def _tool_size(self, tool: ToolSchema) -> tuple[int, int]:
        known = self._tool_sizes.get(tool.name)
        # A server can change the description of a tool during a session.
        if known is None or known[0] != tool:
            text = f"{tool.name}{tool.description}{json.dumps(tool.parameters)}"
            known = self._tool_sizes[tool.name] = tool, len(text), self.tokens.count(text)
        return known[1], known[2]


def _selected_fragments(request: RequestInput) -> list[Fragment]:
    """Return the fragments that the context mode includes, by priority. Fragments in the history are left out."""
    joined = {
        message.seq
        for message in request.messages
        if isinstance(message, UserMessage) and message.origin == "instructions"
    }
    return [
        fragment
        for fragment in sorted(request.fragments, key=lambda fragment: (fragment.priority, fragment.id))
        if fragment.section not in EXCLUDED_FRAGMENTS[request.mode] and fragment.joined_seq not in joined
    ]


def _selected_messages(request: RequestInput) -> Sequence[Message]:
    excluded = EXCLUDED_MESSAGES[request.mode]
    if not excluded:
        return request.messages
    sections = sections_of(request.messages, request.session_context)
    return [message for message, name in zip(request.messages, sections, strict=True) if name not in excluded]


def _subtract_cut(
    shares: dict[SectionName, SectionShare], section: SectionName, before: MessageCount, after: MessageCount
) -> None:
    """Subtract the cut part of a message from its sections' shares."""
    parts = split_shares(before, section)
    chars = scale_to_total([part.chars for _, part in parts], before.chars - after.chars)
    tokens = scale_to_total([part.tokens for _, part in parts], before.tokens - after.tokens)
    for (name, _), chars_cut, tokens_cut in zip(parts, chars, tokens, strict=True):
        shares[name].chars -= chars_cut
        shares[name].tokens -= tokens_cut
        if chars_cut and NO_ROOM not in shares[name].rules:
            shares[name].rules.append(NO_ROOM)


def _freed_tokens(counted: Sequence[MessageCount], fitted: FittedHistory) -> int:
    remaining = (count.tokens for index, count in enumerate(fitted.counted) if index not in fitted.dropped)
    return sum(count.tokens for count in counted) - sum(remaining)


def _message_cuts(fitted: FittedHistory) -> tuple[CutText, ...]:
    return tuple(
        CutText(_message_label(fitted.counted[index].message), text, fitted.counted[index].chars)
        for index, text in fitted.words.items()
    ) + tuple(
        CutText(PINNED, text, min(len(text), fitted.counted[index].chars))
        for index, text in fitted.lost.items()
        if text
    )


def _message_label(message: Message) -> str:
    if isinstance(message, SummaryMessage):
        return "a summary"
    joined = isinstance(message, UserMessage) and message.origin == "instructions"
    return f"{RULES_LABEL}a folder" if joined else "your message"


def _transient_messages(texts: Sequence[str]) -> list[Message]:
    """Return the message that sends `texts` after the history, in this request only. Without texts, return none."""
    if not texts:
        return []
    return [UserMessage(content=tuple(TextContent(text=text) for text in texts), origin="transient")]


def _describe_shortening(name: SectionName, share: SectionShare) -> str:
    """Return the manifest's note on how a section was shortened."""
    if name in ALWAYS_SENT and not share.rules:
        return "never shortened"
    notes = list(share.rules)
    if share.dropped and share.raw_chars and not share.rules:
        notes.append("left out: no room")
    if share.short:
        notes.append(f"shortened the oldest {share.short} to fit")
    return "; ".join(notes)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
