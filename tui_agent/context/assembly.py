"""Puts a request's context together from fragments, history and tools, and writes its manifest.

Invariant: the same input gives the same request, byte for byte (providers cache prefixes); what the user said and the
rules are in it whole, whatever gives way, wherever the window holds them.
"""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui_agent.context.budgets import KEPT, LEFT_OUT, NOT_SENT, Room
from tui_agent.context.rules import RULES, cut_rules
from tui_agent.context.summary import CutText
from tui_agent.context.token_counts import Counted, History, sections_of
from tui_agent.context.tokens import CHARS_PER_TOKEN, Tokens
from tui_agent.context.window_fit import Fitted, Fitting
from tui_agent.folds.context.window_limits import NOTHING, LearntWindow
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

SEPARATOR = "\n\n---\n\n"
BEHIND: Final[SectionName] = "working_memory"
"""Fragments of this section change within a turn: they stand behind the history, so that what is before stays cached. They
are the first to go where there is no room."""
PORTION = 0.25
"""A history that does not fit is shortened by so much of the room at once: else every request would begin otherwise than
the one before, and nothing of it would be cached."""
WORDS_PORTION = 0.10
"""The same of a person's words, which are cut for what has to have room, and little more."""
PINNED: Final = "a pinned message"
PINNED_SHORT: Final = "a pinned message is shortened: no room"
NO_ROOM: Final = "longer than the window: its beginning and end, the whole is an artifact"
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
class Wanted:
    """What a request is to be made of. `answer` are tokens kept free for the answer; `session_context` is what the state
    says was taken over of an earlier session."""

    request_id: RequestId
    model: ModelInfo
    fragments: Sequence[Fragment]
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    answer: int = 0
    mode: ContextMode = "pack"
    session_context: str = ""
    learnt: LearntWindow = NOTHING
    """What its provider took and refused."""
    pinned: Collection[int] = ()
    """The events of messages that a person pinned."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A system prompt, the messages behind it, and the manifest of the whole request.

    `needed` are the tokens, and `chars` the characters, that it would take had nothing been shortened to fit but `cuts`:
    the words of a person, and summaries, that the window does not hold. `short` are the sections of which something was.
    `last` are the tokens that it may take where a person's words need them; None: nobody knows.
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
class _Share:
    """What a section is so far: characters and tokens (not corrected) before and after."""

    raw_chars: int = 0
    chars: int = 0
    raw: int = 0
    tokens: int = 0
    short: int = 0
    lost: int = 0
    """Characters that a summary has no room for."""
    dropped: int = 0
    rules: list[str] = field(default_factory=list)


class Assembly:
    """Assembles one agent's requests. Keeps only what can be computed again: counts of messages, texts and tools."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        self.tokens = tokens or Tokens()
        self._history = History(self.tokens)
        self._fitting = Fitting(self._history.one)
        self._tool_sizes: dict[str, tuple[ToolSchema, int, int]] = {}
        self._text_sizes: dict[str, int] = {}

    def begin_counting(self) -> None:
        """Find the vocabulary, and count by it from here on. Blocks for a tenth of a second."""
        self.tokens.load()
        self._history, self._text_sizes, self._tool_sizes = History(self.tokens), {}, {}
        self._fitting = Fitting(self._history.one)

    def prepare(self, wanted: Wanted) -> None:
        """Count what a request would hold before it is made: then only what is new is counted. May be called in a thread,
        while nothing is packed."""
        if not self.tokens.ready:
            self.begin_counting()
        self._history.prepare(wanted.messages)
        for tool in wanted.tools:
            self._tool_size(tool)
        for each in _used(wanted):
            self._clip(each, _Share())

    def pack(self, wanted: Wanted) -> Packed:
        """Compose the request and count every section."""
        room = Room.of(wanted.model.window, wanted.answer, wanted.learnt)
        shares: dict[SectionName, _Share] = {name: _Share() for name in SECTION_ORDER}
        used = _used(wanted)
        texts = {each.id: self._clip(each, shares[each.section]) for each in used}
        for tool in wanted.tools:
            chars, tokens = self._tool_size(tool)
            _add(shares["available_tools"], chars, tokens)
        counted, known = self._history.count(_sent(wanted))
        sections = sections_of([one.message for one in counted], wanted.session_context)
        for one, section in zip(counted, sections, strict=True):
            for name, share in _split(one, section):
                _join(shares[name], share)
        rules = self._cut_rules(wanted, room, counted, used, texts, shares)
        whole = sum(share.chars for share in shares.values())
        fitted = self._fit(wanted, room, counted, sections, used, texts, shares)
        whole -= sum(counted[at].chars - fitted.counted[at].chars for at in fitted.words)
        system = SEPARATOR.join(texts[each.id] for each in used if each.section != BEHIND and texts[each.id])
        behind = [texts[each.id] for each in used if each.section == BEHIND and texts[each.id]]
        messages = (*fitted.messages(), *_passing(behind))
        manifest = self._manifest(wanted, room, shares, used, texts, system)
        added = tuple(CountedMessage(seq=one.message.seq, tokens=one.tokens) for one in counted[known:])
        return Packed(
            system,
            messages,
            manifest.model_copy(update={"added": added}),
            needed=round(manifest.total_tokens * max(1.0, whole / max(1, manifest.total_chars))),
            chars=whole,
            short=frozenset(name for name, share in shares.items() if share.short or share.dropped),
            cuts=(*rules, *_cuts(fitted)),
            last=room.last,
        )

    def _cut_rules(
        self,
        wanted: Wanted,
        room: Room,
        counted: Sequence[Counted],
        used: Sequence[Fragment],
        texts: dict[str, str],
        shares: dict[SectionName, _Share],
    ) -> list[CutText]:
        """Where the window does not hold what must not be lost, the instructions have their share of it."""
        share, budget = shares["instructions"], room.budget("instructions")
        if budget is None or room.last is None:
            return []
        lasting = sum(shares[name].tokens for name in KEPT) + sum(map(_lasting, counted))
        most = self._raw(budget, wanted)
        if lasting <= self._raw(room.last, wanted) or share.tokens <= most:
            return []
        made = list[CutText]()
        ids = [each.id for each in used if each.section == "instructions" and texts[each.id]]
        held = [texts[name] for name in ids]
        chars, tokens = sum(map(len, held)), sum(map(self._size, held))
        for name, (text, cut) in zip(ids, cut_rules(ids, held, chars * most // max(1, tokens)), strict=True):
            if cut is not None:
                share.chars -= len(cut.whole) - len(text)
                share.tokens -= self._size(cut.whole) - self._size(text)
                share.rules.append(f"{name}: {cut.chars:,} of {len(cut.whole):,} characters, {NO_ROOM}")
                texts[name] = text
                made.append(cut)
        return made

    def measure(self, wanted: Wanted) -> Packed:
        """What a request would hold; the next one that is packed is counted as if nobody had asked."""
        held, self._history = self._history, History(self.tokens)
        try:
            return self.pack(wanted)
        finally:
            self._history = held

    def _fit(
        self,
        wanted: Wanted,
        room: Room,
        counted: Sequence[Counted],
        sections: Sequence[SectionName],
        used: Sequence[Fragment],
        texts: dict[str, str],
        shares: dict[SectionName, _Share],
    ) -> Fitted:
        """Take away what does not fit, lowest section first."""
        if room.tokens is None:
            return Fitted(list(counted))
        most, last = (self._raw(tokens, wanted) for tokens in (room.tokens, room.last or room.tokens))
        portion = max(1, round(most * PORTION))
        lasting = sum(shares[name].tokens for name in KEPT) + sum(map(_lasting, counted))
        pinned = frozenset(at for at, one in enumerate(counted) if one.message.seq in wanted.pinned)
        fitted = Fitted(list(counted), pinned=pinned)
        model, learnt = wanted.model, wanted.learnt
        self._fitting.cut_as_before(fitted, (model.model, model.window, learnt.limit))
        over = lasting - last - _freed(counted, fitted)
        if over > 0:
            self._fitting.cut_words(fitted, over, over + round(most * WORDS_PORTION))
        # Beside what is not shortened for the answer's sake there is room for work: the answer is shorter then.
        most = max(most, min(last, lasting - _freed(counted, fitted) + portion))
        excess = sum(share.tokens for share in shares.values()) - most - _freed(counted, fitted)
        for each in [one for one in used if one.section == BEHIND]:
            if excess > 0 and texts[each.id]:
                size = self._size(texts[each.id])
                share = shares[each.section]
                share.chars, share.tokens = share.chars - len(texts[each.id]), share.tokens - size
                share.dropped += 1
                texts[each.id] = ""
                excess -= size
        if excess > 0:
            self._fitting.fit(fitted, sections, room, excess, -(-excess // portion) * portion)
        over = sum(share.tokens for share in shares.values()) - last - _freed(counted, fitted)
        if over > 0:
            self._fitting.cut_words(fitted, over, over + round(most * WORDS_PORTION))
        self._note(fitted, counted, sections, shares)
        return fitted

    @staticmethod
    def _note(
        fitted: Fitted,
        counted: Sequence[Counted],
        sections: Sequence[SectionName],
        shares: dict[SectionName, _Share],
    ) -> None:
        """What was shortened, cut and dropped, in the sections."""
        for section, positions in fitted.short.items():
            for at in positions:
                shares[section].short += 1
                if at in fitted.lost and PINNED_SHORT not in shares[section].rules:
                    shares[section].rules.append(PINNED_SHORT)
                if at not in fitted.words:
                    shares[section].chars -= counted[at].chars - fitted.counted[at].chars
                    shares[section].tokens -= counted[at].tokens - fitted.counted[at].tokens
        for at in fitted.words:
            _lessen(shares, sections[at], counted[at], fitted.counted[at])
        for at in fitted.dropped:
            share = shares[sections[at]]
            share.chars -= fitted.counted[at].chars
            share.tokens -= fitted.counted[at].tokens
            share.dropped += 1

    def _manifest(
        self,
        wanted: Wanted,
        room: Room,
        shares: dict[SectionName, _Share],
        used: Sequence[Fragment],
        texts: dict[str, str],
        system: str,
    ) -> ContextPacked:
        model = wanted.model.model
        sections = tuple(
            Section(
                name=name,
                raw_chars=share.raw_chars,
                chars=share.chars,
                tokens=self.tokens.scaled(share.tokens, model),
                budget=room.budget(name),
                preserved=share.raw_chars == share.chars,
                reduced=share.raw_chars != share.chars,
                dropped_blocks=share.dropped,
                rule=_rule(name, share),
            )
            for name, share in shares.items()
            if share.raw_chars or share.dropped
        )
        records = tuple(
            FragmentRecord(
                id=each.id,
                digest=_digest(texts[each.id]),
                tokens=self.tokens.scaled(self._size(texts[each.id]), model),
                section=each.section,
            )
            for each in used
        )
        return ContextPacked(
            request_id=wanted.request_id,
            window=wanted.learnt.least(wanted.model.window),
            learnt=wanted.learnt.least(wanted.model.window) != wanted.model.window,
            total_tokens=sum(section.tokens for section in sections),
            total_chars=sum(section.chars for section in sections),
            raw_chars=sum(section.raw_chars for section in sections),
            room=room.tokens,
            mode=wanted.mode,
            sections=sections,
            fragments=records,
            counted_tokens=sum(share.tokens for share in shares.values()),
            tokenizer=self.tokens.name,
            prefix_digest=_digest(system),
            session_context_injected=bool(shares["session_context"].chars),
        )

    def _raw(self, tokens: int, wanted: Wanted) -> int:
        """So many tokens before any correction; each section is rounded by itself when it is told."""
        return max(1, int((tokens - len(SECTION_ORDER) / 2) / self.tokens.ratio(wanted.model.model)))

    def _clip(self, fragment: Fragment, share: _Share) -> str:
        """The fragment's text, cut to its own limit."""
        text = whole = fragment.text.strip()
        if fragment.missing and not whole:
            share.dropped += 1
            share.rules.append(fragment.missing)
        if fragment.max_tokens is not None and len(whole) > fragment.max_tokens * CHARS_PER_TOKEN:
            text = whole[: round(fragment.max_tokens * CHARS_PER_TOKEN)]
            share.rules.append(f"{fragment.id} is cut to {fragment.max_tokens} tokens")
        share.raw_chars += len(whole)
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
        if known is None or known[0] != tool:
            text = f"{tool.name}{tool.description}{json.dumps(tool.parameters)}"
            known = self._tool_sizes[tool.name] = tool, len(text), self.tokens.count(text)
        return known[1], known[2]


def _used(wanted: Wanted) -> list[Fragment]:
    """The fragments that the mode lets through and no message of the history says, in their order."""
    said = {one.seq for one in wanted.messages if isinstance(one, UserMessage) and one.kind == "instructions"}
    return [
        each
        for each in sorted(wanted.fragments, key=lambda each: (each.priority, each.id))
        if each.section not in LEFT_OUT[wanted.mode] and each.joined not in said
    ]


def _sent(wanted: Wanted) -> Sequence[Message]:
    """The messages that the mode lets through."""
    out = NOT_SENT[wanted.mode]
    if not out:
        return wanted.messages
    sections = sections_of(wanted.messages, wanted.session_context)
    return [one for one, name in zip(wanted.messages, sections, strict=True) if name not in out]


def _add(share: _Share, chars: int, tokens: int) -> None:
    share.raw_chars += chars
    share.chars += chars
    share.tokens += tokens


def _split(one: Counted, section: SectionName) -> list[tuple[SectionName, _Share]]:
    """What a message adds to the sections: a summary's own share and a person's words in it."""
    message = one.message
    held = message.shares if isinstance(message, SummaryMessage) else ()
    if not held:
        return [(section, _Share(raw_chars=one.chars, chars=one.chars, tokens=one.tokens))]
    whole, left = max(1, sum(share.chars for share in held)), one.tokens
    made = list[tuple[SectionName, _Share]]()
    for share in held:
        tokens = left if share is held[-1] else round(one.tokens * share.chars / whole)
        lost = share.raw_chars - share.chars
        rules = ["what a summary has no room for is an artifact"] if lost or share.dropped_blocks else []
        made.append(
            (
                share.section,
                _Share(share.raw_chars, share.chars, 0, tokens, 0, lost, share.dropped_blocks, rules),
            )
        )
        left -= tokens
    return made


def _lasting(one: Counted) -> int:
    """Tokens of what a summary must not lose beside a person's words."""
    return sum(share.tokens for name, share in _split(one, "messages") if name == "packed_context")


def _join(share: _Share, more: _Share) -> None:
    _add(share, more.chars, more.tokens)
    share.raw_chars += more.lost
    share.lost += more.lost
    share.dropped += more.dropped
    share.rules += [rule for rule in more.rules if rule not in share.rules]


def _lessen(shares: dict[SectionName, _Share], section: SectionName, before: Counted, after: Counted) -> None:
    """Take what was cut of a person's words, or of a summary that has some, off its sections, each by its share of it."""
    parts = _split(before, section)
    tokens, chars = before.tokens - after.tokens, before.chars - after.chars
    for name, part in parts:
        last = part is parts[-1][1]
        less = chars if last else round((before.chars - after.chars) * part.chars / max(1, before.chars))
        fewer = (
            tokens if last else round((before.tokens - after.tokens) * part.tokens / max(1, before.tokens))
        )
        shares[name].chars -= less
        shares[name].tokens -= fewer
        chars, tokens = chars - less, tokens - fewer
        if less and NO_ROOM not in shares[name].rules:
            shares[name].rules.append(NO_ROOM)


def _freed(counted: Sequence[Counted], fitted: Fitted) -> int:
    """Tokens that making it fit has freed."""
    stay = (one.tokens for at, one in enumerate(fitted.counted) if at not in fitted.dropped)
    return sum(one.tokens for one in counted) - sum(stay)


def _cuts(fitted: Fitted) -> tuple[CutText, ...]:
    return tuple(
        CutText(_called(fitted.counted[at].message), words, fitted.counted[at].chars)
        for at, words in fitted.words.items()
    ) + tuple(
        CutText(PINNED, text, min(len(text), fitted.counted[at].chars))
        for at, text in fitted.lost.items()
        if text
    )


def _called(message: Message) -> str:
    """What a person reads that a message is."""
    if isinstance(message, SummaryMessage):
        return "a summary"
    joined = isinstance(message, UserMessage) and message.kind == "instructions"
    return f"{RULES}a folder" if joined else "your message"


def _passing(texts: Sequence[str]) -> list[Message]:
    """What stands behind the history in this one request."""
    if not texts:
        return []
    return [UserMessage(content=tuple(TextContent(text=text) for text in texts), kind="passing")]


def _rule(name: SectionName, share: _Share) -> str:
    """Why a section is as it is, in words; empty where it is whole and may give way."""
    if name in KEPT and not share.rules:
        return "always whole"
    said = list(share.rules)
    if share.dropped and share.raw_chars and not share.rules:
        said.append("left out: no room")
    if share.short:
        said.append(f"the oldest {share.short} shortened: no room")
    return "; ".join(said)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
