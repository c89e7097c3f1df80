"""Conversion of a provider's errors to typed faults.

Invariant: the messages that tui-agent itself writes never contain a key.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from tui_agent.json_text import parse_json
from tui_agent.models.retry_waits import MAX_WAIT_S, retry_after
from tui_agent.ports.model import ModelFault
from tui_agent.protocol.events.model import FaultKind
from tui_agent.units import format_elapsed

TRANSIENT: frozenset[FaultKind] = frozenset(
    ("rate_limit", "overloaded", "server_error", "transport", "timeout", "cut", "empty")
)
ORIGINAL_LIMIT = 4_000
_WINDOW_MESSAGE = re.compile(
    "|".join(
        (
            r"maximum (?:context|prompt|input|sequence) length (?:is|of|:) *(\d+)",  # OpenAI, vLLM, xAI, OpenRouter
            r"> *(\d+)(?: maximum)?",  # Anthropic
            r"maximum number of tokens allowed \((\d+)\)",  # Gemini
            r"too large for model with (\d+) maximum",  # Mistral
            r"available context size \((\d+) tokens",  # llama.cpp
            r"must be <=? ?(\d+)",  # Text Generation Inference, Together
            r"token limit: (\d+)",  # Moonshot
            r"length should be \[1, (\d+)\]",  # DashScope
        )
    ),
    re.IGNORECASE,
)
"""Matches a provider's message that states the size of the context window."""
_OVERLOADED = re.compile(
    r"overloaded|at capacity|server is busy|temporarily unavailable|try again later", re.I
)
_REFUSAL = re.compile(
    r"content[_ ](?:policy|filter|management)|responsible ?ai|safety (?:system|setting)|flagged|prohibited",
    re.I,
)
_AUTH = re.compile(
    r"invalid[_ ]?(?:x-)?api[_ -]?key|incorrect api key|authentication|unauthori[sz]ed|no auth credentials",
    re.I,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|billing|credit balance|payment required", re.I
)
_LIMIT = re.compile(r"rate[_ -]?limit|too many requests|tokens per min|requests per min", re.I)
_UNKNOWN_MODEL = re.compile(
    r"\bmodel\b.{0,120}(?:not (?:found|exist|available|support)|unknown|invalid|does ?n[o']t exist)"
    r"|(?:unknown|invalid|no such|not find|not a valid) .{0,20}\bmodel",
    re.I,
)
_HINTS: Mapping[FaultKind, str] = {
    "auth": "Check the key and the variable that holds it (tui-agent doctor).",
    "rate_limit": "You reached the provider's rate limit: try again later, or choose another model.",
    "overflow": "Use /compact, or a model with a larger window.",
    "server_error": "The fault is on the provider's side: try again later, or choose another model.",
    "transport": "Check the base URL and the network.",
    "invalid_request": "Check the model's name and its options (tui-agent models check).",
    "refusal": "Rephrase the request, or choose another model.",
    "empty": "A second try brought no answer either: rephrase your message, or choose another model.",
}
_QUOTA_HINT = "Check the account's credit with the provider."


@cache
def _overflow_pattern() -> re.Pattern[str]:
    """Return a pattern that matches a provider's message about a request that does not fit the context window."""
    return re.compile(
        "|".join(
            (
                r"context[_ ]length[_ ]exceeded",  # OpenAI and Azure's code
                r"maximum context length",  # OpenAI, DeepSeek, vLLM, OpenRouter
                r"exceeds? the (?:model'?s? )?(?:maximum )?context",  # Azure, xAI, LM Studio
                r"context window (?:of|is|has been|exceed|limit|size)",  # OpenAI Responses, Moonshot
                r"(?:exceeds?|exceeded|larger than|beyond|over) (?:the |your |its )?(?:available |model'?s? )?context (?:window|size|length)",
                r"prompt is too long",  # Anthropic
                r"input (?:length )?(?:and|\+) `?max_tokens`? exceeds? (?:the )?context",  # Anthropic
                r"input token count .{0,40}exceeds the maximum",  # Gemini, Vertex
                r"input is too long for requested model",  # Bedrock
                r"too many input tokens|too many tokens: ",  # Bedrock, Cohere
                r"prompt contains .{0,40}tokens.{0,60}too large for model",  # Mistral
                r"reduce the length of (?:the|your) (?:messages|prompt|input)",  # Groq, OpenAI
                r"request (?:size )?too large for model .{0,80}context",
                r"maximum prompt length is",  # xAI
                r"(?:inputs?|prompt)`? tokens? .{0,60}must be <=? ?\d",  # Text Generation Inference, Together
                r"tokens? .{0,20}(?:\+|plus) .{0,40}max_new_tokens",  # Together, TGI
                r"prompt length \(?\d+\)? exceeds",
                r"exceeds? the available context size",  # llama.cpp
                r"input length .{0,30}exceeds (?:the )?(?:maximum|context)",  # Fireworks, SGLang
                r"requested input length .{0,40}exceeds",
                r"model'?s max(?:imum)? (?:prompt|input|sequence) length",  # Fireworks, Cerebras, Databricks
                r"range of input length should be",  # DashScope (Qwen)
                r"total message(?:s)? (?:token )?length exceed|exceeded model token limit",  # Moonshot
                r"prompt exceeds max(?:imum)? length|prompt_too_long",  # Z.ai, Novita
                r"too large for the model'?s context",
                r"string_above_max_length|context_window_exceeded|model_max_prompt_tokens_exceeded",
            )
        ),
        re.IGNORECASE,
    )


def fault(
    kind: FaultKind, message: str, *, original: str = "", retry_after: float | None = None
) -> ModelFault:
    """Create a fault without an HTTP status, with the hint for its kind."""
    return ModelFault(
        kind=kind,
        message=message,
        retry_after=retry_after,
        original=original[:ORIGINAL_LIMIT],
        hint=_HINTS.get(kind, ""),
        window_tokens=parse_window(kind, original or message),
    )


def from_status(status: int, body: str, headers: Mapping[str, str], *, now: float) -> ModelFault:
    """Create the fault of an HTTP error.

    - `headers`: names are in lower case.
    - `now`: seconds since the epoch, for dates in `headers`.
    """
    message = error_message(body)
    kind = classify_fault(status, f"{message} {body[:ORIGINAL_LIMIT]}")
    short = message if len(message) <= 500 else message[:500] + "…"
    wait_s = retry_after(headers, now)
    if wait_s is not None and wait_s > MAX_WAIT_S:
        short += f" (it asks for a wait of {format_elapsed(wait_s)}, which is too long)"
    return ModelFault(
        kind=kind,
        message=f"The provider answered {status or 'with an error'}{': ' + short.rstrip('.') if short else ''}.",
        retry_after=wait_s,
        status=status or None,
        original=body[:ORIGINAL_LIMIT],
        window_tokens=parse_window(kind, body),
        hint=_QUOTA_HINT if _QUOTA.search(body) else _HINTS.get(kind, ""),
    )


def from_error(error: object) -> ModelFault:
    """Create the fault of an error object sent inside a stream."""
    body = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    status = _inner_status(error)
    message = error_message(body)
    kind = classify_fault(status or 0, f"{message} {body}")
    stopped = fault(kind, f"The provider stopped with an error: {message[:500]}", original=body)
    return replace(stopped, status=status)


def parse_window(kind: FaultKind, text: str) -> int:
    """Read the context window from an overflow error, in tokens. Return 0 if the error states none."""
    match = _WINDOW_MESSAGE.search(text[:ORIGINAL_LIMIT]) if kind == "overflow" else None
    return int(next(filter(None, match.groups()), 0)) if match is not None else 0


def classify_fault(status: int, text: str) -> FaultKind:
    """Return the kind of a failure.

    `status`: HTTP status; 0 if there was none.
    `text`: text of the error.
    """
    # A rate limit in tokens per minute can use the same words as an overflow.
    if _overflow_pattern().search(text) and not (status == 429 and _LIMIT.search(text)):
        return "overflow"
    if status in (401, 403) or (status in (0, 400) and _AUTH.search(text)):
        return "refusal" if status == 403 and _REFUSAL.search(text) else "auth"
    if status == 402 or (status in (0, 400, 429) and _QUOTA.search(text)):
        return "auth"
    if status in (503, 529) or (status in (0, 500, 502) and _OVERLOADED.search(text)):
        return "overloaded"
    if status == 429 or (status == 0 and _LIMIT.search(text)):
        return "rate_limit"
    if status in (408, 504):
        return "timeout"
    if status == 413:
        return "overflow"
    if 400 <= status < 500:
        return "refusal" if _REFUSAL.search(text) else "invalid_request"
    if status == 0 and _REFUSAL.search(text):
        return "refusal"
    return "server_error"


def is_unknown_model(fault: ModelFault) -> bool:
    """Return True if the provider says that it does not have the requested model."""
    is_refused = fault.kind == "invalid_request" and fault.status in (400, 404, 422)
    return is_refused and bool(_UNKNOWN_MODEL.search(fault.message))


def error_message(body: str) -> str:
    """Return the message of an error body: `error.message`, `message`, `detail`, or the text itself."""
    try:
        value = parse_json(body)
    except ValueError:
        return re.sub(r"<[^>]*>|\s+", " ", body[:2_000]).strip()
    # Gateways put the provider's error into their own.
    while value and isinstance(value, list | dict):
        if isinstance(value, list):
            value = value[0]
            continue
        name = next((name for name in ("error", "message", "detail", "msg") if value.get(name)), None)
        if name is None:
            break
        value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _inner_status(error: object) -> int | None:
    if not isinstance(error, dict):
        return None
    for name in ("status", "code", "http_status"):
        value = error.get(name)
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 529 if error.get("type") == "overloaded_error" else None
