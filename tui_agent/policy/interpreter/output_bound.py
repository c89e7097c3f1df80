"""The bound on a call's output: a pattern that matches every line (or word) of the output.

Invariant: every line that the call can print matches the bound, or the output is `UNKNOWN`.
"""

import os.path
import posixpath
import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from tui_agent.policy.catalog.catalog_schema import CertainOutput
from tui_agent.policy.interpreter.call_options import ParsedCall
from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.expansion import known_value, number_value, unknown_value
from tui_agent.policy.interpreter.patterns import ANY_PATH, OPTION_SIGNS, cut_at_newlines
from tui_agent.policy.interpreter.report_draft import Draft
from tui_agent.policy.interpreter.shell_state import folder_text

_SIGN: Final = re.compile(r"(?<!\\)[*?\[]")
_BOUNDS: Final[Mapping[str, Value]] = {
    "nothing": known_value(""),
    "number": number_value(""),
    "numbers": replace(number_value(""), one_word=False),
    "hashes": Value("", Certainty.BOUNDED, "*", content="hash"),
    "revisions": Value("", Certainty.BOUNDED, ANY_PATH, may_be_option=True, content="revision"),
    "names": Value("", Certainty.BOUNDED, "*", may_be_option=True),
}
"""Maps a kind of output to a value that covers it."""


def bound_output(draft: Draft, call: ParsedCall, stdin: Value) -> Value:
    """Return a value that matches everything a known program can print. This includes lines copied from `stdin`."""
    program = call.entry.program
    kinds = [program.prints, *(parsed.option.prints for parsed in call.options if parsed.option.prints)]
    kinds += [output.prints for output in program.certain_outputs if _holds_for(output, call)]
    kind = kinds[-1]
    bound = _BOUNDS.get(kind)
    if kind == "lines" and not draft.printed and stdin.certainty is Certainty.BOUNDED:
        return cut_at_newlines(stdin)
    if kind == "paths":
        bound = _bound_paths(draft)
    if kind == "text":
        bound = _known_text(draft)
    if bound is None:
        return unknown_value(draft.source)
    return replace(bound, source=draft.source, may_be_empty=bound.known is None)


def _holds_for(output: CertainOutput, call: ParsedCall) -> bool:
    option_spellings = [
        {option.spelling, f"{option.spelling}={option.word.known}" if option.word else ""}
        for option in call.options
    ]
    others = [spellings for spellings in option_spellings if spellings.isdisjoint(output.options)]
    texts = [value.known or "" for value in call.operands]
    return (
        (len(others) < len(option_spellings) or not output.options)
        and all(not spellings.isdisjoint(output.others) for spellings in others)
        and all(any(fnmatchcase(text, pattern) for pattern in output.operands or ["*"]) for text in texts)
    )


def _bound_paths(draft: Draft) -> Value | None:
    patterns = list(dict.fromkeys(draft.printed)) or [ANY_PATH]
    pattern = patterns[0]
    if "" in patterns:
        return None
    if draft.reach.below or len(patterns) > 1 or pattern.endswith("/"):
        folders = [_plain_folder(pattern) for pattern in patterns]
        if len({folder[:1] in ("/", "~") or ".." in folder.split("/") for folder in folders}) > 1:
            return None
        folder = os.path.commonpath(folders)
        pattern = ANY_PATH if folder in ("", ".") else f"{folder.rstrip('/')}/{ANY_PATH}"
    may_be_option = pattern.startswith(("*", "?", "[", *OPTION_SIGNS))
    return Value(
        "", Certainty.BOUNDED, pattern, may_be_option=may_be_option, names_files=True, found_in=draft.folders
    )


def _plain_folder(pattern: str) -> str:
    """Return the folder before a pattern's first wildcard, or the whole path if it has none."""
    begin = _SIGN.split(pattern, maxsplit=1)[0]
    folder = pattern if begin == pattern else begin.rpartition("/")[0]
    return posixpath.normpath(folder) if folder else "."


def _known_text(draft: Draft) -> Value | None:
    """Return the exact output of a simple command such as `echo x`, or None."""
    texts = ["" if value.known is None else value.known for value in draft.words[1:]]
    certain = all(value.known is not None for value in draft.words) and not "".join(texts[:1]).startswith("-")
    match draft.name, texts:
        case "git rev-parse", [*_, "--show-toplevel"]:
            return replace(unknown_value(""), suffix=".")  # usually this folder, so guards apply to it
        case "pwd", _:
            folder = folder_text(draft.folders)
            return None if folder is None else known_value(folder)
        case "echo", [_, *_] if certain and not any("\\" in text for text in texts):
            return known_value(" ".join(texts))
        case "dirname", [path] if certain and "/" in path.strip("/"):
            return known_value(posixpath.dirname(path.rstrip("/")))
    return None
