"""Hooks in Claude Code's settings files, and the JSON that the hooks' commands read and print.

Invariant: unusable entries are reported and left out, and a project's settings need trust.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import from_json

from tui_agent.config.paths import Paths
from tui_agent.config.project.other_agents_files import CLAUDE_TOOLS, PROJECT_SETTINGS, USER_SETTINGS
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.settings.settings import HookSettings
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.ports.hook import MATCHER_EVENTS, HookAnswer
from tui_agent.protocol.events.hook import HookEvent, HookSource
from tui_agent.protocol.stored_text import JsonMap

EVENTS: Final[Mapping[str, HookEvent]] = {
    "PreToolUse": "before_tool",
    "PostToolUse": "after_tool",
    "UserPromptSubmit": "before_prompt",
    "Stop": "after_turn",
    "PreCompact": "before_compaction",
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
}
"""Maps each supported Claude Code event to tui-agent's hook event."""
BLOCK_EXIT_CODE: Final = 2
_EVENT_NAMES: Final = {ours: theirs for theirs, ours in EVENTS.items()}
_TOOL_NAMES: Final = {ours: theirs for theirs, ours in reversed(tuple(CLAUDE_TOOLS.items()))} | {
    "run_tests": "Bash",
    "spawn_subtask": "Task",
    "delegate_readonly": "Task",
    "browse_url": "WebFetch",
}
_ARGUMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "delegate_readonly": {"task": "prompt"},
}
"""For each tool: maps argument names to Claude Code's names, where these differ."""
_VALUES: Final = {"new": "startup", "user": "manual", "limit": "auto", "overflow": "auto"}
"""Maps values of a hook's input to Claude Code's values, such as the trigger `user` to `manual`.

The values are from the fields `source` and `trigger`.
"""
_MODES: Final = {"plan": "plan", "accept-edits": "acceptEdits", "bypass": "bypassPermissions"}
_DECISIONS: Final = {"allow": "allow", "approve": "allow", "deny": "deny", "block": "deny", "ask": "ask"}
_CONTEXT_EVENTS: Final = ("UserPromptSubmit", "SessionStart")
"""Claude Code events for which a hook's printed text is added to the model's context."""


@dataclass(frozen=True)
class ClaudeHooks:
    """The usable hooks with their sources, in order of execution, and a message for each unusable entry."""

    hooks: tuple[tuple[HookSettings, HookSource], ...] = ()
    faults: tuple[str, ...] = ()


def load_claude_hooks(paths: Paths, project: ProjectFiles | None) -> ClaudeHooks:
    """Read the hooks in the user's settings of Claude Code, then the hooks in a trusted project's settings."""
    hooks: list[tuple[HookSettings, HookSource]] = []
    faults: list[str] = []
    for path, text, source in _read_settings(paths, project, faults):
        try:
            entries = list(_list_entries(from_json(text)))
        except (ValueError, TypeError, AttributeError, RecursionError):
            faults.append(f"{path}: its hooks are left out, because they are not in Claude Code's format.")
            continue
        for name, matcher, command in entries:
            try:
                hooks.append((_parse_hook(name, matcher, command), source))
            except (ValueError, TypeError, AttributeError) as error:
                reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                faults.append(f"{path}: a hook for {name} is left out: {reason}.")
    return ClaudeHooks(tuple(hooks), tuple(faults))


def _read_settings(
    paths: Paths, project: ProjectFiles | None, faults: list[str]
) -> Iterator[tuple[Path, str, HookSource]]:
    """Yield path, text and source of each settings file once; add a sentence to `faults` for an unreadable file."""
    user = paths.home / USER_SETTINGS
    sources: list[tuple[Path, HookSource, Callable[[], str | None]]] = [
        (user, "user", partial(read_small, user))
    ]
    if project is not None:
        sources += [
            (project.folder / name, "project", partial(project.read_text, name))
            for name in PROJECT_SETTINGS
            if project.folder / name != user
        ]
    for path, source, read in sources:
        try:
            text = read()
        except ConfigError as error:
            faults.append(f"{error.message} Its hooks are left out.")
            continue
        if text is not None:
            yield path, text, source


def _list_entries(settings: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (event, matcher, command) for each hook command. Events that are not in `EVENTS` are left out."""
    for name, groups in settings.get("hooks", {}).items():
        if name in EVENTS:
            for group in groups:
                for command in group.get("hooks", ()):
                    yield name, group.get("matcher") or "", command


def _parse_hook(name: str, matcher: str, command: Mapping[str, Any]) -> HookSettings:
    """Convert one entry of Claude Code's settings to a hook. Raise `ValueError` if the entry is invalid."""
    if command.get("type", "command") != "command":
        raise ValueError(f"its type is {command['type']!r}, but only the type 'command' is supported")
    event = EVENTS[name]
    fields = {"event": event, "command": command.get("command", "")}
    if event in MATCHER_EVENTS:
        fields["matcher"] = matcher
    if "timeout" in command:
        fields["timeout"] = command["timeout"]
    return HookSettings.model_validate(fields)


def matcher_subject(subject: str) -> str:
    """Return Claude Code's name for the subject of a hook. For example, `run_command` becomes `Bash`.

    The subject is a tool, the `source` of a session's start, or the `trigger` of a compaction.
    """
    if subject.startswith("mcp_"):
        # Claude Code writes `mcp__SERVER__TOOL` for our `mcp_SERVER_TOOL`.
        return "__".join(subject.split("_", 2))
    return _TOOL_NAMES.get(subject) or _VALUES.get(subject, subject)


def describe_event(facts: JsonMap) -> JsonMap:
    """Convert an event's facts to the JSON input of a Claude Code hook."""
    event = _EVENT_NAMES[facts["hook_event"]]  # type: ignore[index]
    described: JsonMap = {
        "session_id": facts["session_id"],
        "transcript_path": facts["transcript_path"],
        "cwd": facts["cwd"],
        "hook_event_name": event,
        "permission_mode": _MODES.get(str(facts["policy"]), "default"),
    }
    tool = facts.get("tool_name")
    if isinstance(tool, str):
        described["tool_name"] = matcher_subject(tool)
        described["tool_use_id"] = facts["call_id"]
        described["tool_input"] = _rename_arguments(tool, facts["tool_input"], str(facts["cwd"]))
    for name in ("tool_response", "prompt", "reason"):
        if name in facts:
            described[name] = facts[name]
    for name in ("source", "trigger"):
        if name in facts:
            described[name] = matcher_subject(str(facts[name]))
    if "focus" in facts:
        described["custom_instructions"] = facts["focus"]
    if event == "Stop":
        described["stop_hook_active"] = False
    return described


def _rename_arguments(tool: str, arguments: Any, folder: str) -> JsonMap:
    """Return a call's arguments with Claude Code's names and absolute paths."""
    names = _ARGUMENTS.get(tool, {})
    renamed: JsonMap = {names.get(name, name): value for name, value in arguments.items()}
    path = renamed.get("file_path")
    if isinstance(path, str):
        renamed["file_path"] = str(Path(folder, path))
    return renamed


def read_answer(facts: JsonMap, exit_code: int, printed: bytes, error_text: str) -> HookAnswer | str:
    """Return the answer of a hook's command, or an error text if the printed JSON is invalid."""
    event = _EVENT_NAMES[facts["hook_event"]]  # type: ignore[index]
    if exit_code == BLOCK_EXIT_CODE:
        return _fit_event(event, "deny", error_text, "", None)
    text = printed.decode("utf-8", "replace").strip()
    if not text.startswith("{"):
        return HookAnswer(additional_context=text if event in _CONTEXT_EVENTS else "")
    try:
        return _read_output(event, from_json(text, allow_inf_nan=False), facts)
    except ValueError:
        return "it is not JSON"
    except (TypeError, AttributeError, KeyError):
        return "a field has an invalid value"


def _read_output(event: str, output: Any, facts: JsonMap) -> HookAnswer:
    """Return the answer in a JSON object; raise `KeyError` for an unknown decision."""
    details = output.get("hookSpecificOutput") or {}
    named = details.get("permissionDecision", output.get("decision"))
    decision = "" if named is None else _DECISIONS[named]
    reason = details.get("permissionDecisionReason") or output.get("reason") or ""
    if output.get("continue") is False:
        decision, reason = "deny", output.get("stopReason") or reason
    arguments = details.get("updatedInput")
    if arguments is not None:
        tool = str(facts["tool_name"])
        ours = {theirs: name for name, theirs in _ARGUMENTS.get(tool, {}).items()}
        arguments = {ours.get(name, name): value for name, value in arguments.items()}
        tool_input: Any = facts["tool_input"]
        # The hook got an absolute path. If it returned the same path, the call keeps the path that the model wrote.
        if arguments.get("path") == str(Path(str(facts["cwd"]), tool_input.get("path", ""))):
            arguments["path"] = tool_input["path"]
    return _fit_event(event, decision, str(reason), str(details.get("additionalContext") or ""), arguments)


def _fit_event(
    event: str, decision: Any, reason: str, context: str, arguments: dict[str, Any] | None
) -> HookAnswer:
    """Convert the parts of a hook's answer to a `HookAnswer` that suits the event.

    When the agent stops, or a session starts or ends, an answer can only add text.
    """
    if event in ("Stop", "SessionStart", "SessionEnd"):
        lines = [context, reason if decision == "deny" else ""]
        return HookAnswer(additional_context="\n".join(line for line in lines if line))
    return HookAnswer(decision, reason, arguments, context)
