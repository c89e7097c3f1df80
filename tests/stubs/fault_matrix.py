"""The faults that a provider can have, and what each must come to, whatever the provider's form.

`kind` is the fault that must come out; None means a whole answer, whose calls are then `calls` sound ones and the
rest malformed.
"""

from dataclasses import dataclass
from email.utils import formatdate

from tests.stubs.model_contract import Outcome
from tests.stubs.sse_server import Fault, Reply
from tui_agent.protocol.events.model import FaultKind

READ = ("call_a", "read_file", '{"path": "a.py"}')
HALF = ("call_b", "read_file", '{"path": "a')
SAID = {"error": {"message": "no luck", "type": "some_error"}}
LATER = formatdate(1_700_000_030, usegmt=True)
"""Thirty seconds after the fake clock's start."""


@dataclass(frozen=True)
class Case:
    """One fault. `shapes` are the forms that can show it."""

    name: str
    reply: Reply
    kind: FaultKind | None
    retry_after: float | None = None
    sound: int = 0
    shapes: tuple[str, ...] = ("chat", "responses", "anthropic")

    def check(self, outcome: Outcome) -> None:
        """The fault that must come out came out, or the answer is whole and only sound calls are runnable."""
        kind = outcome.fault.kind if outcome.fault is not None else None
        assert kind == self.kind, outcome.fault
        if outcome.fault is not None:
            assert outcome.fault.retry_after == self.retry_after
            assert outcome.fault.message
            assert outcome.assembler.text == (self.reply.text if self.reply.status == 200 else "")
            return
        assert sum(call.malformed is None for call in outcome.calls) == self.sound
        assert len(outcome.calls) == len(self.reply.calls)


def _status(status: int, kind: FaultKind, body: object = SAID, **headers: str) -> Case:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Case(f"status {status} {' '.join(headers)}", Reply(status=status, body=body, headers=named), kind)


def _limit(value: str, seconds: float) -> Case:
    reply = Reply(status=429, body=SAID, headers={"Retry-After": value})
    return Case(f"429 with Retry-After {seconds:g}", reply, "rate_limit", retry_after=seconds)


def _stream(name: str, kind: FaultKind, fault: Fault, *shapes: str, **more: object) -> Case:
    known = {"shapes": shapes} if shapes else {}
    return Case(name, Reply(fault=fault, **more), kind, **known)  # type: ignore[arg-type]


CASES: tuple[Case, ...] = (
    _status(400, "invalid_request"),
    Case(
        "overflow",
        Reply(
            status=400, body={"error": {"message": "prompt is too long: 9 tokens > 8 maximum", "type": "x"}}
        ),
        "overflow",
    ),
    Case("no credit", Reply(status=402, body={"error": {"message": "Insufficient Balance"}}), "auth"),
    _status(401, "auth"),
    _status(403, "auth"),
    _status(404, "invalid_request"),
    _status(408, "timeout"),
    _status(413, "overflow"),
    _status(422, "invalid_request"),
    _status(429, "rate_limit"),
    _limit("2", 2),
    _limit(LATER, 30),
    _limit("3600", 3600),
    _status(500, "server_error"),
    _status(502, "server_error", "<html><h1>Bad Gateway</h1></html>"),
    _status(503, "overloaded"),
    _status(504, "timeout"),
    _status(529, "overloaded"),
    _stream("ends before anything", "cut", "cut"),
    _stream("ends in the middle of the text", "cut", "cut", text="half an ans"),
    _stream("ends in the middle of a call", "cut", "cut", calls=(HALF,)),
    _stream("ends after a whole call", "cut", "cut", text="now", calls=(READ,)),
    _stream("drops in the middle of the text", "cut", "abort", text="half an ans"),
    _stream("drops in the middle of a call", "cut", "abort", calls=(HALF,)),
    _stream("end marker without a finish", "cut", "done_only", "chat", text="half"),
    _stream("stalls before the first byte", "timeout", "stall_first"),
    _stream("stalls in the middle of the text", "timeout", "stall", text="and then"),
    _stream("half a JSON object", "malformed", "broken", "chat", "responses", text="so far"),
    _stream(
        "overloaded inside the stream",
        "overloaded",
        "error",
        text="so far",
        error={"type": "overloaded_error", "message": "Overloaded"},
    ),
    Case("empty", Reply(), "empty"),
    Case("only thoughts", Reply(reasoning="hm"), "empty"),
    Case("only thoughts, cut by length", Reply(reasoning="hm", finish="length"), "empty"),
    Case("refusal", Reply(text="I will not.", finish="refusal"), "refusal"),
    Case("half arguments with an ordinary finish", Reply(text="x", calls=(READ, HALF)), None, sound=1),
    Case("half arguments cut by length", Reply(calls=(READ, HALF), finish="length"), None, sound=1),
)
