"""Parses an investigator's last answer, which should be JSON but can be any text.

Invariant: an answer that cannot be parsed becomes the summary, with low confidence.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_agent.plugin_api import JsonMap, format_count, parse_json

Confidence: TypeAlias = Literal["high", "medium", "low"]

MAX_ENTRIES = 40
MAX_TEXT_CHARS = 400
TRAILING_LINES = 1
"""Evidence is still valid if it ends at most this many lines after the end of its file."""
# Editors number the empty last line.
_LEVELS: dict[str, Confidence] = {"high": "high", "medium": "medium", "moderate": "medium", "low": "low"}
_PLACE = re.compile(r"(?<![\w./:@+-])([\w.@+-][\w./@+-]*+):(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?")
_FILE_NAME = re.compile(r"[\w.@+-]*[\w+-]\.[A-Za-z]\w{0,7}")
_LINES = re.compile(r"(\d{1,9})\s*(?:[-–:,]|to)?\s*L?(\d{1,9})?")
_CONFIDENCE = re.compile(r"confidence\W{0,6}(high|medium|moderate|low)\b", re.IGNORECASE)
_OPEN = re.compile(r"^\W*open questions?\b\W*$", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*[^\S\n]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A location in a file that supports an investigator's answer.

    - `lines`: `10` or `10-24`, or empty for the whole file
    - `description`: description of these lines
    """

    path: str
    lines: str = ""
    description: str = ""
    not_found: str = ""
    """The reason why the lines do not exist; empty if they exist."""

    @property
    def last_line(self) -> int:
        """The number of the last line; 0 for the whole file."""
        return int(self.lines.rpartition("-")[2] or 0)

    def as_json(self) -> JsonMap:
        missing: JsonMap = {"not_found": self.not_found} if self.not_found else {}
        return {"path": self.path, "lines": self.lines, "what": self.description, **missing}


@dataclass(frozen=True, slots=True)
class Findings:
    """An investigator's answer: summary, evidence and open questions; `not_there` lists paths that do not exist."""

    summary: str
    evidence: tuple[Evidence, ...] = ()
    confidence: Confidence = "low"
    open_questions: tuple[str, ...] = ()
    not_there: tuple[str, ...] = ()

    def check(self, lengths: Mapping[str, int]) -> "Findings":
        """Compare each piece of evidence with the number of lines in its file, and return a corrected copy.

        Missing files move to `not_there`. Evidence past the end of its file gets a text in `not_found`. If no evidence
        is valid, confidence becomes low. Findings without evidence keep their confidence.

        `lengths`: maps each existing file to its number of lines.
        """
        present = tuple(
            replace(place, not_found=f"not found: the file has {format_count(lengths[place.path], 'line')}")
            if place.last_line > lengths[place.path] + TRAILING_LINES
            else place
            for place in self.evidence
            if place.path in lengths
        )
        missing = tuple(dict.fromkeys(place.path for place in self.evidence if place.path not in lengths))
        is_valid = not self.evidence or any(not place.not_found for place in present)
        confidence = self.confidence if is_valid else "low"
        return replace(self, evidence=present, confidence=confidence, not_there=missing)

    def as_json(self) -> JsonMap:
        """Return the findings as JSON for the model."""
        evidence: list[JsonMap] = [place.as_json() for place in self.evidence]
        missing: JsonMap = {"not_there": list(self.not_there)} if self.not_there else {}
        return {
            "summary": self.summary,
            "evidence": list(evidence),
            "paths": list(dict.fromkeys(place.path for place in self.evidence)),
            "confidence": self.confidence,
            "open_questions": list(self.open_questions),
            **missing,
        }


def read_findings(text: str, *, trusted: bool = True) -> Findings:
    """Read the findings from an investigator's answer.

    If the answer has no JSON object with findings, its text becomes the summary. File locations in the text become the
    evidence.

    `trusted`: False if the investigator failed. Confidence is then low.
    """
    candidates = (_parse_object(raw) for raw in _find_objects(text))
    findings = next((parsed for parsed in candidates if parsed is not None), None) or _parse_text(text)
    return findings if trusted else replace(findings, confidence="low")


def _find_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects found in a text.

    The search covers the code fences (the last fence first), then the whole text, then the part from the first to the
    last brace.
    """
    first, last = text.find("{"), text.rfind("}")
    pieces = [*reversed(_FENCED.findall(text)), text, text[first : last + 1] if 0 <= first < last else ""]
    for piece in pieces:
        try:
            value = parse_json(piece)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _parse_object(raw: dict[str, object]) -> Findings | None:
    plain = {key.lower().replace(" ", "_").replace("-", "_"): value for key, value in raw.items()}
    summary = _clean_text(plain.get("summary") or plain.get("answer"), 8_000)
    evidence = _as_list(plain.get("evidence"))
    paths = [*_as_list(plain.get("paths")), *_as_list(plain.get("files"))]
    if not summary and not evidence and not paths:
        return None
    places = [place for entry in evidence[:MAX_ENTRIES] if (place := _parse_place(entry)) is not None]
    for entry in paths[: MAX_ENTRIES - len(places)]:
        place = _parse_place(entry)
        if place is not None and (place.lines or all(known.path != place.path for known in places)):
            places.append(place)
    level = _clean_text(plain.get("confidence"), 40).lower().split()
    questions = [
        _clean_text(entry, MAX_TEXT_CHARS) for entry in _as_list(plain.get("open_questions"))[:MAX_ENTRIES]
    ]
    return Findings(
        summary or "No summary.",
        tuple(places),
        _LEVELS.get(level[0], "low") if level else "low",
        tuple(question for question in questions if question),
    )


def _parse_text(text: str) -> Findings:
    places: dict[tuple[str, str], Evidence] = {}
    for match in _PLACE.finditer(text):
        if "//" in match[1] or not _FILE_NAME.fullmatch(match[1].rpartition("/")[2]):
            continue
        lines = f"{match[2]}-{match[3]}" if match[3] else match[2]
        places.setdefault((match[1], lines), Evidence(match[1], lines))
    levels = _CONFIDENCE.findall(text)
    # A text that names no location proves nothing.
    has_confidence = bool(places) and bool(levels)
    return Findings(
        text.strip(),
        tuple(list(places.values())[:MAX_ENTRIES]),
        _LEVELS[levels[-1].lower()] if has_confidence else "low",
        _parse_questions(text.splitlines()),
    )


def _parse_questions(lines: Sequence[str]) -> tuple[str, ...]:
    start = next((index for index, line in enumerate(lines) if _OPEN.match(line)), None)
    if start is None:
        return ()
    questions: list[str] = []
    for line in lines[start + 1 :]:
        text = line.strip()
        if text and not re.match(r"[-*+•\d]", text):
            break
        if text:
            questions.append(re.sub(r"^(?:[-*+•]|\d+[.)])\s*", "", text)[:MAX_TEXT_CHARS])
    return tuple(questions[:MAX_ENTRIES])


def _parse_place(raw: object) -> Evidence | None:
    if isinstance(raw, str):
        path, _, lines = raw.partition(":")
        return Evidence(path.strip()[:MAX_TEXT_CHARS], _normalise_range(lines)) if path.strip() else None
    if not isinstance(raw, dict):
        return None
    path = _clean_text(raw.get("path") or raw.get("file"), MAX_TEXT_CHARS)
    if not path:
        return None
    lines = _lines_text(raw)
    name, colon, tail = path.rpartition(":")
    if colon and not lines and tail[:1].isdigit():
        path, lines = name, tail
    # Models often use other keys than those that the prompt asks for.
    description = raw.get("what") or raw.get("why") or raw.get("note") or raw.get("reason") or ""
    return Evidence(path, _normalise_range(lines), _clean_text(description, MAX_TEXT_CHARS))


def _lines_text(raw: Mapping[str, object]) -> str:
    """Return line numbers as a text such as `10-24`, from a text, a list or two fields in `raw`."""
    lines = raw.get("lines") or raw.get("line_range") or raw.get("line")
    if lines is None and raw.get("start_line") is not None:
        lines = [raw.get("start_line"), raw.get("end_line")]
    if isinstance(lines, list):
        return "-".join(str(number) for number in lines if number is not None)
    return str(lines or "")


def _normalise_range(lines: str) -> str:
    match = _LINES.search(lines)
    if match is None or not int(match[1]):
        return ""
    first, last = match[1], match[2]
    return f"{first}-{last}" if last and int(last) > int(first) else first


def _as_list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _clean_text(value: object, max_chars: int) -> str:
    return str(value).strip()[:max_chars] if isinstance(value, str | int | float) else ""
