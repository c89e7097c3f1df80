"""Decoding and encoding of text files, and detection of binary files.

Invariant: `encode_text(decode_text(data), decode_text(data).text)` equals `data`.
"""

import codecs
from typing import Final

from tui_agent.fast_dataclass import dataclass

SNIFF_BYTES: Final = 8192
"""Number of bytes at a file's start that are searched for a NUL, to detect binary files."""
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's decoded text, with the details for encoding it again."""

    text: str
    codec: str = "utf-8"
    errors: str = "strict"
    bom: bytes = b""

    @property
    def note(self) -> str:
        """The encoding's name, such as `UTF-16-LE`. Empty for plain UTF-8."""
        if self.errors == "surrogateescape":
            return "UTF-8 with invalid bytes"
        if self.codec == "utf-8":
            return "UTF-8 with byte order mark" if self.bom else ""
        return {"latin-1": "Latin-1"}.get(self.codec, self.codec.upper())

    @property
    def display_text(self) -> str:
        """The text for the screen and the model. Bytes that cannot be decoded are shown as `�`."""
        if self.errors == "strict":
            return self.text
        return self.text.encode(self.codec, self.errors).decode(self.codec, "replace")


def decode_text(data: bytes) -> DecodedText | None:
    """Decode a file's content; return None if the content is binary."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            try:
                return DecodedText(data[len(bom) :].decode(codec), codec, bom=bom)
            except UnicodeDecodeError:
                break
    if b"\0" in data[:SNIFF_BYTES]:
        return None
    try:
        return DecodedText(data.decode())
    except UnicodeDecodeError:
        escaped = data.decode("utf-8", "surrogateescape")
    invalid = sum("\udc80" <= char <= "\udcff" for char in escaped)
    valid = sum(char > "\x7f" for char in escaped) - invalid
    if invalid > valid:
        return DecodedText(data.decode("latin-1"), "latin-1")
    return DecodedText(escaped, errors="surrogateescape")


def encode_text(decoded: DecodedText, text: str) -> bytes | None:
    """Encode `text` with the encoding of `decoded`; return None if the encoding lacks a character."""
    try:
        return decoded.bom + text.encode(decoded.codec, decoded.errors)
    except UnicodeEncodeError:
        return None


def show_text(data: bytes) -> str:
    """Return a file's content as text. Bytes that cannot be decoded are replaced."""
    decoded = decode_text(data)
    return data.decode("utf-8", "replace") if decoded is None else decoded.display_text
