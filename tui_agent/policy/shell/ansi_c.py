"""L3: what bash makes of the text between `$'` and `'`.

Invariant: a text of which that is not certain has no value.
"""

import re

_ESCAPE = re.compile(
    rb"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.)|$)",
    re.DOTALL,
)
_PLAIN = dict(zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_LAST = 0x10FFFF


def ansi_c(body: str) -> str | None:
    """The text; None where it holds a NUL, which ends it, no letters, or what shells read in different ways."""
    raw = body.encode("utf-8", "surrogatepass")
    if any(found[6] is not None or found[0] == b"\\" for found in _ESCAPE.finditer(raw)):
        return None
    try:
        text = _ESCAPE.sub(_meant, raw).decode("utf-8")
    except (UnicodeError, ValueError):
        return None
    return None if "\0" in text else text


def _meant(found: re.Match[bytes]) -> bytes:
    plain, octal, byte, short, long, _ = found.groups()
    if plain is not None:
        return bytes((_PLAIN[plain[0]],))
    if octal is not None or byte is not None:
        return bytes((int(octal, 8) & 0xFF if octal is not None else int(byte, 16),))
    number = int(short or long, 16)
    if number > _LAST:
        raise ValueError("no letter has that number")
    return chr(number).encode("utf-8")
