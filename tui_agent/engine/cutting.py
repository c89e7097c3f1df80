"""L4: where a text that still grows may be cut, so that no secret stands in two pieces, each of which looks harmless.

Invariant: a piece ends behind a whole word; never between a name such as `password =` and its value, nor inside a
private key. What is held back for that is bounded by `MOST_HELD`.
"""

import re
from typing import Final

MOST_HELD: Final = 8_000
"""Characters that are held back at most; a longer run without a place to cut is cut anywhere."""
_NEAR: Final = 300
_TO_LAST_WORD: Final = re.compile(r"[\s\S]*[\s\x80-\U0010ffff]")
_PEM_BEGIN: Final = "-----BEGIN"
_PEM_END: Final = re.compile(r"-----END[ A-Z0-9]{0,50}-----")
_NAME_WITHOUT_VALUE: Final = re.compile(
    r"(?i)(?:key|secret|token|passw(?:or)?d|credentials?|passphrase|authorization|bearer|basic|digest)\w{0,20}"
    r"\\?[\"']{0,2}\s{0,4}(?::=|=>|[:=])?\s{0,4}\\?[\"']?\Z"
)


def safe_end(text: str) -> int:
    """How much of a growing text may go out now; 0 where nothing may."""
    if len(text) >= MOST_HELD:
        return len(text)
    end = _word_end(text, len(text))
    begun = text.rfind(_PEM_BEGIN, 0, end)
    if begun >= 0 and _PEM_END.search(text, begun, end) is None:
        end = begun
    while end:
        start = max(0, end - _NEAR)
        name = _NAME_WITHOUT_VALUE.search(text[start:end])
        if name is None:
            return end
        end = _word_end(text, start + name.start())
    return end


def _word_end(text: str, end: int) -> int:
    """Where the last word before `end` begins; characters beyond ASCII are words of their own."""
    found = _TO_LAST_WORD.match(text, 0, end)
    return found.end() if found else 0
