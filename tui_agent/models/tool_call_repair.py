"""Correction of tool names and malformed tool calls if the model's intention is certain.

Invariant: nothing is invented: half a JSON object stays malformed.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

from pydantic import JsonValue

from tui_agent.json_text import parse_json
from tui_agent.protocol.stored_text import JsonMap

_DECODER = json.JSONDecoder()

ALIASES = {
    alias: tool
    for tool, aliases in {
        "run_command": (
            "bash shell sh terminal exec execute execute_command execute_shell exec_command shell_command "
            "run_shell run_shell_command"
        ),
        "read_file": "read view cat open_file view_file",
        "write_file": "write create_file",
        "edit_file": "edit replace str_replace replace_in_file str_replace_editor",
        "list_directory": "ls list list_dir list_files",
        "grep": "search search_code search_files search_text ripgrep",
        "glob": "find_files find",
        "run_tests": "test",
        "write_todos": "todo_write update_todos todowrite",
        "ask_user": "ask ask_question",
    }.items()
    for alias in aliases.split()
}
"""Maps a wrong tool name that models often use to the right name."""

_PREFIXES = ("functions.", "functions:", "default_api.", "default_api:", "tools.", "tool.")
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "action_input")
_BRACE = re.compile(r"[{}]")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
MAX_BRACES = 200
"""Maximum number of opening braces in a text from which a JSON object is parsed. Each attempt can read all the rest of the text."""

_TAGGED = re.compile(r"<(tool_call|function_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_FENCE = "```"
_OPENING_FENCE = re.compile(r"```(?:json|tool_call|tool_code)?[^\S\n]*\n")


def tool_name(name: str, offered: Collection[str]) -> str:
    """Return the offered tool that the name means, or the cleaned name if there is none."""
    clean = _strip_decoration(name)
    if clean in offered:
        return clean
    if not offered:
        return legal_name(clean)
    folded = {_fold(known): known for known in offered}
    if _fold(clean) in folded:
        return folded[_fold(clean)]
    alias = ALIASES.get(_snake(clean), "")
    return alias if alias in offered else legal_name(clean)


def canonical_name(name: str) -> str:
    """If `name` is another program's alias for a tool, return our name. Otherwise, return the cleaned `name`."""
    clean = _strip_decoration(name)
    return ALIASES.get(_snake(clean), clean)


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three names in `known` that are similar to `name`."""
    names = sorted(known)
    alias = ALIASES.get(_snake(name))
    similar = get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if alias in names and alias not in similar:
        similar.insert(0, alias)
    return similar[:3]


def _strip_decoration(name: str) -> str:
    clean = name.split("<|", 1)[0].strip()
    for prefix in _PREFIXES:
        clean = clean.removeprefix(prefix)
    return clean


def legal_name(name: str) -> str:
    """Convert a name so that all providers accept it: letters, digits, `_` and `-`, at most 64 characters."""
    return _ILLEGAL.sub("_", name)[:64]


def arguments(raw: str) -> JsonMap | None:
    """Parse a call's arguments. Return None if they are malformed.

    Accepts a JSON object, also as a JSON string or inside other text. Empty text means no arguments.
    """
    text = raw.strip()
    if not text or text == "null":
        return {}
    for _ in range(4):  # some models encode the object as a JSON string, even more than once
        if not text.startswith('"'):
            return None if text.startswith("[") else first_object(text)
        try:
            text = parse_json(text)
        except ValueError:
            return None
        text = text.strip()
    return None


def first_object(text: str) -> JsonMap | None:
    """Return the first complete JSON object in a text, or None."""
    return next((value for value, _, _ in _objects(text)), None)


def text_call(text: str, offered: Collection[str]) -> tuple[str, JsonMap] | None:
    """Return (name, arguments) of a tool call that the model wrote as text, or None.

    The call is a JSON object with exactly the name and arguments of an offered tool.
    """
    tagged = _TAGGED.search(text)
    candidate = (tagged[2] if tagged else _fenced_text(text.rstrip())).strip()
    if not candidate.startswith("{"):
        return None
    match = next(_objects(candidate), None)
    if match is None or match[1] != 0:
        return None
    rest = candidate[match[2] :].strip()
    # Text after the object shows that it is an example and not a call.
    if rest and not rest.startswith("{"):
        return None
    return _as_call(match[0], offered)


def _fenced_text(text: str) -> str:
    """Return the content of the code fence at the end of the text. Without such a fence, return the whole text."""
    opening = _OPENING_FENCE.search(text) if text.endswith(_FENCE) else None
    end = len(text) - len(_FENCE)
    return text[opening.end() : end] if opening and opening.end() <= end else text


def _as_call(value: JsonMap, offered: Collection[str]) -> tuple[str, JsonMap] | None:
    inner = value.get("function")
    if isinstance(inner, dict) and set(value) <= {"function", "type", "id"}:
        value = inner
    names = [key for key in _NAME_KEYS if isinstance(value.get(key), str)]
    keys = [key for key in _ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(keys) != 1 or set(value) - {names[0], keys[0], "id", "type"}:
        return None
    name = tool_name(str(value[names[0]]), offered)
    call_arguments: JsonValue = value[keys[0]]
    if isinstance(call_arguments, str):
        call_arguments = arguments(call_arguments)
    return (name, call_arguments) if name in offered and isinstance(call_arguments, dict) else None


def _objects(text: str) -> Iterator[tuple[JsonMap, int, int]]:
    """Yield each outermost complete JSON object in the text, with its start and end index."""
    start = text.find("{")
    for _ in range(MAX_BRACES):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = _closing_end(text, start)
            if end < 0:
                return
        else:
            yield value, start, end
        start = text.find("{", end)


def _closing_end(text: str, start: int) -> int:
    """Return the index after the `}` that closes the `{` at `start`, or -1."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return -1


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
