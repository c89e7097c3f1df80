"""L3: what bounds the output of a call.

Invariant: every line (or word) that it can print fits the bound; where nothing bounds it, it is `UNKNOWN`.
"""

import os.path
import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import assert_never

from tui_agent.policy.catalog.model import CertainOutput, Output, Program
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import known_value, number_value, unknown_value
from tui_agent.policy.interpreter.options import ParsedOption
from tui_agent.policy.interpreter.patterns import ANY_PATH, HASHES, OPTION_SIGNS
from tui_agent.policy.interpreter.report import Certainty, Value
from tui_agent.policy.interpreter.state import START, folder_text

_SIGN = re.compile(r"(?<!\\)[*?\[]")


def bound_output(
    draft: Draft, program: Program, options: Sequence[ParsedOption], operands: Sequence[Value], stdin: Value
) -> Value:
    """Bound the output of a known program by what the catalog says of it and its options."""
    for output in program.certain_outputs:
        if _holds_for(output, options, operands):
            return _bound(draft, output.prints, stdin)
    kinds = [option.option.prints for option in options if option.option is not None and option.option.prints]
    return _bound(draft, kinds[-1] if kinds else program.prints, stdin)


def _holds_for(output: CertainOutput, options: Sequence[ParsedOption], operands: Sequence[Value]) -> bool:
    given = [
        {option.spelling, f"{option.spelling}={option.word.known}" if option.word else ""}
        for option in options
    ]
    needed = [spellings for spellings in given if not spellings.isdisjoint(output.options)]
    others = [spellings for spellings in given if spellings not in needed]
    return (
        bool(needed or not output.options)
        and all(not spellings.isdisjoint(output.others) for spellings in others)
        and (not output.operands or all(_fits_one(value, output.operands) for value in operands))
    )


def _fits_one(value: Value, patterns: Sequence[str]) -> bool:
    return value.known is not None and any(fnmatchcase(value.known, pattern) for pattern in patterns)


def _bound(draft: Draft, kind: Output, stdin: Value) -> Value:
    unknown = unknown_value(draft.source)
    if draft.name == "git rev-parse" and any(value.known == "--show-toplevel" for value in draft.words):
        return replace(unknown, suffix=".")  # usually this folder: guards are heard for it
    match kind:
        case "nothing":
            return known_value("")
        case "numbers":
            return number_value(draft.source)
        case "hashes":
            return Value(draft.source, Certainty.BOUNDED, HASHES, content="hash")
        case "revisions":
            return Value(draft.source, Certainty.BOUNDED, ANY_PATH, may_be_option=True, content="revision")
        case "names":
            return Value(draft.source, Certainty.BOUNDED, "*", may_be_option=True)
        case "lines":
            own_input = not draft.printed and stdin.certainty is Certainty.BOUNDED
            return stdin if own_input else unknown
        case "paths":
            return _bound_paths(draft) or unknown
        case "text":
            return _known_text(draft) or unknown
        case _:
            assert_never(kind)


def _bound_paths(draft: Draft) -> Value | None:
    patterns = list(dict.fromkeys(draft.printed)) or [ANY_PATH]
    if "" in patterns:
        return None
    pattern = patterns[0]
    if draft.reach.below or len(patterns) > 1:
        folders = [_plain_folder(pattern) for pattern in patterns]
        if len({folder[:1] in ("/", "~") or ".." in folder.split("/") for folder in folders}) > 1:
            return None
        pattern = _everything_below(os.path.commonpath(folders))
    literal = not pattern.startswith(("*", "?", "[", *OPTION_SIGNS))
    return Value(
        draft.source,
        Certainty.BOUNDED,
        pattern,
        may_be_option=not literal,
        names_files=True,
    )


def _plain_folder(pattern: str) -> str:
    """The file or folder that a pattern names, or for one with signs the folder in front of the first."""
    begin = _SIGN.split(pattern, maxsplit=1)[0]
    folder = pattern if begin == pattern else begin.rpartition("/")[0]
    return posixpath.normpath(folder) if folder else "."


def _everything_below(folder: str) -> str:
    return ANY_PATH if folder in ("", ".") else f"{folder.rstrip('/')}/{ANY_PATH}"


def _known_text(draft: Draft) -> Value | None:
    """The output of small programs, where it is known."""
    if draft.name == "pwd":
        folder = folder_text(draft.folders)
        return None if folder is None else known_value(folder, draft.source)
    texts = [value.known or "" for value in draft.words[1:]]
    if any(value.known is None for value in draft.words) or texts[:1] == [] or texts[0].startswith("-"):
        return None
    match draft.name, texts:
        case "echo", _ if not any("\\" in text for text in texts):
            return known_value(" ".join(texts), draft.source)
        case "dirname" | "basename", [path] if path.startswith(("~", START)) and "/" not in path.rstrip("/"):
            return None  # the name of the home, or of this folder
        case "dirname", [path] if path.strip("/"):
            return known_value(posixpath.dirname(path.rstrip("/")) or ".", draft.source)
        case "basename", [path] if path.strip("/"):
            return known_value(posixpath.basename(path.rstrip("/")), draft.source)
        case _:
            return None
