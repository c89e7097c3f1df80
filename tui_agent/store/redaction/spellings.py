"""Encodes the value of a secret variable in the ways that programs use.

Invariant: the unencoded value comes first.
"""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_URL_SAFE = str.maketrans("+/", "-_")


def spellings(value: str) -> Iterator[str]:
    """Yield a value in each form that programs write: unchanged, in JSON, URL-encoded, in hexadecimal and in Base64.

    Base64 depends on the bytes before the value, so it has three forms.
    """
    raw = value.encode("utf-8", "surrogateescape")
    yield from (
        value,
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(raw, safe=""),
        quote(raw),
        quote_plus(raw),
        raw.hex(),
    )
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + raw).decode()
        begin = (0, 2, 3)[offset]  # earlier characters also encode the padding
        end = len(coded.rstrip("=")) - (1 if (offset + len(raw)) % 3 else 0)
        yield from (coded[begin:end], coded[begin:end].translate(_URL_SAFE))
