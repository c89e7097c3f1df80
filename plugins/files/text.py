"""Decoding and encoding of text files, and detection of binary files.

Invariant: `encode(decode(data), decode(data).text)` equals `data`.
"""

import codecs
from dataclasses import dataclass

SNIFF_BYTES = 8192
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The text of a file, with the codec, the codec's error handler and the byte order mark needed to encode it."""

    text: str
    codec: str = "utf-8"
    errors: str = "strict"
    bom: bytes = b""

    @property
    def note(self) -> str:
        """The name of the encoding for a person, such as `UTF-16-LE`; empty for plain UTF-8."""
        if self.errors == "surrogateescape":
            return "UTF-8 with invalid bytes"
        if self.codec == "utf-8":
            return "UTF-8 with byte order mark" if self.bom else ""
        return {"latin-1": "Latin-1"}.get(self.codec, self.codec.upper())

    @property
    def display_text(self) -> str:
        """The text for the screen and the model, in which bytes that cannot be decoded are shown as `?`."""
        return self.text.encode("utf-8", "replace").decode() if self.errors != "strict" else self.text


def decode(data: bytes) -> DecodedText | None:
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


def encode(decoded: DecodedText, text: str) -> bytes | None:
    """Encode `text` with the encoding of `decoded`; return None if the encoding lacks a character."""
    try:
        return decoded.bom + text.encode(decoded.codec, decoded.errors)
    except UnicodeEncodeError:
        return None


def describe_binary(data: bytes) -> str:
    """Return the type of binary content by its first bytes, such as `a zip archive`."""
    for magic, words in (
        (b"\x7fELF", "an ELF program"),
        (b"%PDF", "a PDF"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xca\xfe\xba\xbe", "Java or Mach-O code"),
    ):
        if data.startswith(magic):
            return words
    return "binary data"
