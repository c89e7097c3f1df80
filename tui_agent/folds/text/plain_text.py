"""Plain text of files and programs: decoding and encoding, removal of control sequences, numbered lines for the model.

Invariant: `encode_text(decode_text(data), decode_text(data).text)` equals `data`. A known control sequence is
removed completely.
"""

import codecs
import re
from collections.abc import Sequence
from typing import Final

from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.unicode_text import format_count

SNIFF_BYTES: Final = 8192
"""Number of bytes at a file's start that are searched for a NUL, to detect binary files."""
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_a-z]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
MAX_LINE_CHARS: Final = 2_000
"""Maximum length of a line, in characters. The rest of a longer line is cut off."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's decoded text, with the details for encoding the text again."""

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


def strip_control_sequences(text: str) -> str:
    """Remove control sequences. If carriage returns overwrote a line, keep only the line's last text."""
    plain = _CONTROL.sub("", text).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(_visible_piece(line) if "\r" in line else line for line in plain.split("\n"))


def _visible_piece(line: str) -> str:
    return next((piece for piece in reversed(line.split("\r")) if piece), "")


def number_lines(lines: Sequence[str], first: int, max_chars: int) -> tuple[list[str], int]:
    """Return (numbered lines, number of shortened lines), with as many lines as fit into `max_chars` characters.

    `first`: number of the first line. The first line is always returned.
    """
    width = len(str(first + len(lines) - 1))
    numbered, cut_count = list[str](), 0
    for number, line in enumerate(lines, first):
        line = line.removesuffix("\r")
        is_cut = len(line) > MAX_LINE_CHARS
        if is_cut:
            line = f"{line[:MAX_LINE_CHARS]}… (+{len(line) - MAX_LINE_CHARS} characters)"
        max_chars -= len(line) + width + 2
        if max_chars < 0 and numbered:
            break
        numbered.append(f"{number:>{width}}\t{line}")
        cut_count += is_cut
    return numbered, cut_count


def notes_on_text(decoded: DecodedText) -> list[str]:
    """Return notes for the model about a file's encoding and line ends."""
    notes = [f"[{decoded.note}]"] if decoded.note else []
    return [*notes, "[lines end with CRLF]"] if "\r\n" in decoded.text else notes


def notes_on_cut_lines(count: int) -> list[str]:
    """Return a note for the model about shortened lines, or an empty list if there are none."""
    return [f"[{format_count(count, 'long line')} cut at {MAX_LINE_CHARS} characters]"] if count else []
