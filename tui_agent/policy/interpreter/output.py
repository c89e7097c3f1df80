"""L3: what bounds the output of a call.

Invariant: every line (or word) that it can print fits the bound; where nothing bounds it, it is `UNKNOWN`.
"""

import os.path
from collections.abc import Sequence
from typing import assert_never

from tui_agent.policy.catalog.model import Output, Program
from tui_agent.policy.interpreter.draft import Draft
from tui_agent.policy.interpreter.expansion import known_value, number_value, unknown_value
from tui_agent.policy.interpreter.options import ParsedOption
from tui_agent.policy.interpreter.patterns import ANY_PATH, HASHES, OPTION_SIGNS
from tui_agent.policy.interpreter.report import Certainty, Value
from tui_agent.policy.interpreter.state import folder_text


def bound_output(draft: Draft, program: Program, options: Sequence[ParsedOption], stdin: Value) -> Value:
    """Bound the output of a known program by what the catalog says of it and its options."""
    kinds = [option.option.prints for option in options if option.option is not None and option.option.prints]
    return _bound(draft, kinds[-1] if kinds else program.prints, stdin)


def _bound(draft: Draft, kind: Output, stdin: Value) -> Value:
    unknown = unknown_value(draft.source)
    match kind:
        case "nothing":
            return known_value("")
        case "numbers":
            return number_value(draft.source)
        case "hashes":
            return Value(draft.source, Certainty.BOUNDED, HASHES)
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
    patterns = list(dict.fromkeys(draft.printed))
    if not patterns or "" in patterns:
        return None
    if draft.reach.below:
        patterns = [_below(pattern) for pattern in patterns]
    if len(patterns) > 1:
        if any(pattern.startswith(("/", "~", "..")) or "/../" in pattern for pattern in patterns):
            return None
        patterns = [_below(os.path.commonpath([pattern.removesuffix(ANY_PATH) for pattern in patterns]))]
    pattern = patterns[0]
    literal = not pattern.startswith(("*", "?", "[", *OPTION_SIGNS))
    at_start = draft.folders == ("",)
    return Value(
        draft.source,
        Certainty.BOUNDED,
        pattern,
        may_be_option=not literal,
        names_files=at_start,
    )


def _below(pattern: str) -> str:
    """The pattern of everything below a folder."""
    folder = pattern.rstrip("/").removeprefix("./")
    return ANY_PATH if folder in ("", ".") else f"{folder}/{ANY_PATH}"


def _known_text(draft: Draft) -> Value | None:
    """The output of `echo` and `pwd`, where it is known."""
    if draft.name == "pwd":
        folder = folder_text(draft.folders)
        return None if folder is None else known_value(folder, draft.source)
    texts = [value.known for value in draft.words[1:]]
    if draft.name != "echo" or None in texts:
        return None
    text = " ".join(text for text in texts if text is not None)
    return None if text.startswith("-") or "\\" in text else known_value(text, draft.source)
