"""The detection of parts of a tool call that a person cannot see, or can easily misread.

Invariant: no judgement of this module allows a call.
"""

from collections.abc import Iterator, Sequence

from tui_agent.policy.decision.judgement import Judgement
from tui_agent.protocol.effects import Effect, NetworkEffect, RunEffect, WriteEffect
from tui_agent.protocol.unicode_text import describe_invisible, describe_lookalike

MAX_CHARACTERS = 100_000
"""Maximum length of the checked text, in characters. The user is always asked about a longer command line."""


def find_concealed(effects: Sequence[Effect]) -> list[Judgement]:
    """Return judgements about invisible and lookalike characters in the effects of a call.

    Effects that only read are not checked.
    """
    texts = [text[:MAX_CHARACTERS] for effect in effects for text in _texts(effect)]
    found: list[Judgement] = []
    hidden = next(filter(None, map(describe_invisible, texts)), "")
    if hidden:
        risk = f"It contains {hidden}: it may do more than you see."
        found.append(Judgement("ask", "unseen", f"it contains {hidden}", risk, default_no=True))
    other = next(filter(None, map(describe_lookalike, texts)), "")
    if other:
        risk = f"One word contains look-alike characters: {other}."
        found.append(
            Judgement("ask", "unseen.alike", "one word contains look-alike characters", risk, default_no=True)
        )
    return found


def _texts(effect: Effect) -> Iterator[str]:
    match effect:
        case RunEffect():
            yield effect.script
            yield from effect.argv
            yield effect.cwd
        case WriteEffect():
            yield effect.path
        case NetworkEffect():
            yield effect.host
        case _:
            return
