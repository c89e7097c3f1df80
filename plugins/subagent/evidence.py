"""What an investigator found, read out of its last answer however it is written.

Invariant: no answer is lost: where nothing can be read out of it, it is the summary, with low confidence.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_agent.plugin_api import JsonMap

Confidence: TypeAlias = Literal["high", "medium", "low"]

MOST = 40
MOST_WORDS = 400
LAST_EMPTY = 1
"""The line behind the last line feed, which editors count."""
_LEVELS: dict[str, Confidence] = {"high": "high", "medium": "medium", "moderate": "medium", "low": "low"}
_PLACE = re.compile(
    r"(?<![\w/.:-])((?:[\w.@+-]+/)*[\w.@+-]*\.?[\w+-]+\.[A-Za-z]\w{0,7}):(\d{1,9})(?:\s*[-–]\s*(\d{1,9}))?"
)
_LINES = re.compile(r"(\d{1,9})\s*(?:[-–:,]|to)?\s*L?(\d{1,9})?")
_CONFIDENCE = re.compile(r"confidence\W{0,6}(high|medium|moderate|low)\b", re.IGNORECASE)
_OPEN = re.compile(r"^\W*open questions?\b\W*$", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One place. `lines` is `10` or `10-24`, empty for the whole file."""

    path: str
    lines: str = ""
    what: str = ""
    not_found: str = ""
    """Why there is nothing at these lines."""

    @property
    def last(self) -> int:
        """The last of its lines; 0 for the whole file."""
        return int(self.lines.rpartition("-")[2] or 0)

    def as_json(self) -> JsonMap:
        """The plain form."""
        missing: JsonMap = {"not_found": self.not_found} if self.not_found else {}
        return {"path": self.path, "lines": self.lines, "what": self.what, **missing}


@dataclass(frozen=True, slots=True)
class Findings:
    """An answer and what it stands on."""

    summary: str
    evidence: tuple[Evidence, ...] = ()
    confidence: Confidence = "low"
    open_questions: tuple[str, ...] = ()
    not_there: tuple[str, ...] = ()

    def without(self, gone: Collection[str]) -> "Findings":
        """The same without the places in files that are not there; these are told apart. With no other place nothing is
        sure."""
        kept = tuple(one for one in self.evidence if one.path not in gone)
        told = tuple(dict.fromkeys(one.path for one in self.evidence if one.path in gone))
        sure = self.confidence if kept or not told else "low"
        return replace(self, evidence=kept, confidence=sure, not_there=told)

    def ending(self, lines: Mapping[str, int]) -> "Findings":
        """The same where the files have so many lines: places behind them are marked, but for an editor's empty last line.
        With no other place nothing is sure."""
        marked = tuple(
            replace(one, not_found=_ends(lines[one.path]))
            if one.last > lines.get(one.path, one.last) + LAST_EMPTY
            else one
            for one in self.evidence
        )
        sure = self.confidence if not marked or any(not one.not_found for one in marked) else "low"
        return replace(self, evidence=marked, confidence=sure)

    def as_json(self) -> JsonMap:
        """The plain form, for the model that asked."""
        evidence: list[JsonMap] = [one.as_json() for one in self.evidence]
        not_there: JsonMap = {"not_there": list(self.not_there)} if self.not_there else {}
        return {
            "summary": self.summary,
            "evidence": list(evidence),
            "paths": list(dict.fromkeys(one.path for one in self.evidence)),
            "confidence": self.confidence,
            "open_questions": list(self.open_questions),
            **not_there,
        }


def _ends(lines: int) -> str:
    return f"not found: the file has {lines:,} line{'' if lines == 1 else 's'}"


def read_findings(text: str, *, trusted: bool = True) -> Findings:
    """Read an answer: a JSON object in it, else places and remarks in its words. Not `trusted`: confidence is low."""
    found = next((one for raw in _objects(text) if (one := _of_object(raw)) is not None), None)
    found = found or _of_words(text)
    return found if trusted else Findings(found.summary, found.evidence, "low", found.open_questions)


def _objects(text: str) -> Iterator[dict[str, object]]:
    """JSON objects in a text: those in fences first, then the one that the text is or holds."""
    first, last = text.find("{"), text.rfind("}")
    pieces = [*reversed(_FENCED.findall(text)), text, text[first : last + 1] if 0 <= first < last else ""]
    for piece in pieces:
        try:
            found = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _of_object(raw: dict[str, object]) -> Findings | None:
    plain = {key.lower().replace(" ", "_").replace("-", "_"): value for key, value in raw.items()}
    summary = _words(plain.get("summary") or plain.get("answer"), 8_000)
    evidence = _list(plain.get("evidence"))
    beside = [*_list(plain.get("paths")), *_list(plain.get("files"))]
    if not summary and not evidence and not beside:
        return None
    places = [place for one in evidence[:MOST] if (place := _place(one)) is not None]
    for one in beside[: MOST - len(places)]:
        place = _place(one)
        if place is not None and (place.lines or all(known.path != place.path for known in places)):
            places.append(place)
    level = _words(plain.get("confidence"), 40).lower().split()
    asked = [_words(one, MOST_WORDS) for one in _list(plain.get("open_questions"))[:MOST]]
    return Findings(
        summary or "No summary.",
        tuple(places),
        _LEVELS.get(level[0], "low") if level else "low",
        tuple(one for one in asked if one),
    )


def _of_words(text: str) -> Findings:
    places: dict[tuple[str, str], Evidence] = {}
    for match in _PLACE.finditer(text):
        lines = f"{match[2]}-{match[3]}" if match[3] else match[2]
        places.setdefault((match[1], lines), Evidence(match[1], lines))
    levels = _CONFIDENCE.findall(text)
    sure = bool(places) and bool(levels)
    return Findings(
        text.strip(),
        tuple(list(places.values())[:MOST]),
        _LEVELS[levels[-1].lower()] if sure else "low",
        _questions(text.splitlines()),
    )


def _questions(lines: Sequence[str]) -> tuple[str, ...]:
    """The list below the words `Open questions`."""
    start = next((at for at, line in enumerate(lines) if _OPEN.match(line)), None)
    if start is None:
        return ()
    found: list[str] = []
    for line in lines[start + 1 :]:
        said = line.strip()
        if said and not re.match(r"[-*+•\d]", said):
            break
        if said:
            found.append(re.sub(r"^(?:[-*+•]|\d+[.)])\s*", "", said)[:MOST_WORDS])
    return tuple(found[:MOST])


def _place(raw: object) -> Evidence | None:
    if isinstance(raw, str):
        path, _, lines = raw.partition(":")
        return Evidence(path.strip()[:MOST_WORDS], _range(lines)) if path.strip() else None
    if not isinstance(raw, dict):
        return None
    path = _words(raw.get("path") or raw.get("file"), MOST_WORDS)
    if not path:
        return None
    lines = _lines(raw)
    name, colon, tail = path.rpartition(":")
    if colon and not lines and tail[:1].isdigit():
        path, lines = name, tail
    what = raw.get("what") or raw.get("why") or raw.get("note") or raw.get("reason") or ""
    return Evidence(path, _range(lines), _words(what, MOST_WORDS))


def _lines(raw: Mapping[str, object]) -> str:
    """Lines as they are named: `10-24`, `[10, 24]`, or `start_line` and `end_line`."""
    said = raw.get("lines") or raw.get("line_range") or raw.get("line")
    if said is None and raw.get("start_line") is not None:
        said = [raw.get("start_line"), raw.get("end_line")]
    if isinstance(said, list):
        return "-".join(str(one) for one in said if one is not None)
    return str(said or "")


def _range(lines: str) -> str:
    """`10`, or `10-24`; empty where there is no number."""
    match = _LINES.search(lines)
    if match is None or not int(match[1]):
        return ""
    first, last = match[1], match[2]
    return f"{first}-{last}" if last and int(last) > int(first) else first


def _list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _words(value: object, most: int) -> str:
    return str(value).strip()[:most] if isinstance(value, str | int | float) else ""
