"""Questions that an MCP server asks the user while one of its tools runs.

Invariant: a question is declined if no call is running or no user can answer.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
import mcp_types as types

from tui_agent.errors import ToolError
from tui_agent.mcp.content.outside_text import clean_line, clean_text
from tui_agent.ports.tool import AskUser

MAX_FIELDS = 20
MAX_MESSAGE_CHARS = 1_000
DECLINE = "Decline"
LEAVE_OUT = "Leave it out"
_FORMATS: Final = {
    "email": ("an e-mail address, such as name@example.com", re.compile(r"[^@\s]++@[^@\s]++")),
    "uri": ("an address, such as https://example.com", re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:\S++")),
    "date": ("a date, such as 2026-01-31", re.compile(r"\d{4}-\d\d-\d\d")),
    "date-time": (
        "a date and time, such as 2026-01-31T09:30:00Z",
        re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d++)?(?:[Zz]|[+-]\d\d:\d\d)"),
    ),
}
"""Maps the format of a text field to (description for the user, pattern of valid texts)."""
_ANY_TEXT = re.compile(r"(?s).*+")
Value = str | int | float | bool | list[str] | None


@dataclass(slots=True)
class _RunningCall:
    ask: AskUser | None
    limit: anyio.CancelScope
    timeout: float
    questions: list[anyio.CancelScope] = field(default_factory=list)


class Elicitation:
    """Asks the user the questions of one server."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._calls: list[_RunningCall] = []

    @contextmanager
    def during_call(self, ask: AskUser | None, timeout: float) -> Iterator[None]:
        """In the `with` block, answer the server's questions with `ask`.

        Raise `TimeoutError` if the server takes longer than `timeout` seconds. The user's time to answer does not
        count.
        """
        with anyio.fail_after(timeout) as limit:
            call = _RunningCall(ask, limit, timeout)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                for question in call.questions:
                    question.cancel()

    async def answer(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Return the user's answer to a question of the server."""
        # The question does not name its call: take the newest one.
        call = self._calls[-1] if self._calls else None
        if call is None or call.ask is None:
            return types.ElicitResult(action="decline")
        result = types.ElicitResult(action="cancel")
        call.limit.deadline = math.inf  # the time until the user answers does not count
        with anyio.CancelScope() as question:
            call.questions.append(question)
            try:
                result = await self._ask(call.ask, params)
            except ToolError:  # the user ended the question
                result = types.ElicitResult(action="cancel")
        call.limit.deadline = anyio.current_time() + call.timeout
        return result

    async def _ask(self, ask: AskUser, params: types.ElicitRequestParams) -> types.ElicitResult:
        message = f"The MCP server {self._server} asks: {clean_text(params.message, MAX_MESSAGE_CHARS)}"
        if isinstance(params, types.ElicitRequestURLParams):
            options = (f"I have opened {clean_line(params.url, 500)}", DECLINE)
            answer = await ask(message, options, "choice")
            return types.ElicitResult(action="accept" if answer.choice == 0 else "decline")
        values: dict[str, Value] = {}
        schema = params.requested_schema
        fields, required = schema.get("properties"), schema.get("required")
        for name, field_schema in list(fields.items() if isinstance(fields, Mapping) else ())[:MAX_FIELDS]:
            is_required = isinstance(required, list) and name in required
            answered = await _ask_field(
                ask,
                message,
                str(name),
                field_schema if isinstance(field_schema, Mapping) else {},
                is_required,
            )
            if answered is None:
                return types.ElicitResult(action="decline")
            values |= answered
        return types.ElicitResult(action="accept", content=values)


async def _ask_field(
    ask: AskUser, message: str, name: str, schema: Mapping[str, object], is_required: bool
) -> dict[str, Value] | None:
    """Ask for one field until its value is valid, and return {name: value}.

    Return {} if the user leaves the field out, and None if the user declines the question.
    """
    about = clean_line(str(schema.get("description") or schema.get("title") or ""))
    question = f"{message}\n{clean_line(name, 80)}{': ' + about if about else ''}"
    choices, fault = _choices(schema), ""
    others = (DECLINE,) if is_required else (LEAVE_OUT, DECLINE)
    while True:
        options = (*map(clean_line, choices), *others)
        answer = await ask(f"{question}\n{fault}".rstrip(), options, "choice" if choices else "text")
        if answer.choice is not None and answer.choice < len(choices):
            return {name: answer.choice == 0 if schema.get("type") == "boolean" else choices[answer.choice]}
        text = answer.text.strip()
        if text.casefold() == LEAVE_OUT.casefold() and not is_required:
            return {}
        if choices or not text or text.casefold() == DECLINE.casefold():
            return None
        value = _parse_value(text, schema.get("type"))
        fault = _describe_fault(value, schema)
        if not fault:
            return {name: value}


def _parse_value(text: str, kind: object) -> Value:
    try:
        return int(text) if kind == "integer" else float(text) if kind == "number" else text
    except ValueError:
        return text


def _describe_fault(value: Value, schema: Mapping[str, object]) -> str:
    """Return what the user must enter instead of an invalid value, or an empty text for a valid one."""
    kind = schema.get("type")
    if isinstance(value, int | float) and math.isfinite(value):
        return _describe_range(value, schema.get("minimum"), schema.get("maximum"), "")
    if kind in ("integer", "number"):
        return "Enter a whole number." if kind == "integer" else "Enter a number."
    if not isinstance(value, str):
        return ""
    expected, pattern = _FORMATS.get(str(schema.get("format")), ("", _ANY_TEXT))
    if not pattern.fullmatch(value):
        return f"Enter {expected}."
    return _describe_range(len(value), schema.get("minLength"), schema.get("maxLength"), " characters")


def _describe_range(number: float, lowest: object, highest: object, unit: str) -> str:
    if isinstance(lowest, int | float) and number < lowest:
        return f"Enter at least {lowest}{unit}."
    if isinstance(highest, int | float) and number > highest:
        return f"Enter at most {highest}{unit}."
    return ""


def _choices(schema: Mapping[str, object]) -> Sequence[str]:
    if schema.get("type") == "boolean":
        return ("Yes", "No")
    options = schema.get("enum")
    return [str(option) for option in options[:20]] if isinstance(options, list) else ()
