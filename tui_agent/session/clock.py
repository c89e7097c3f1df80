"""The system clock, and random identifiers."""

import secrets
import time

import anyio

from tui_agent.protocol.ids import CallId, CommandId, RequestId, RunId, SessionId

# In the order of the characters' codes, so that sorted ids are in the order of time. Without i, l, o and u, which are
# easily misread (Crockford's base 32).
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """Clock that reads the operating system's time."""

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. The value never decreases."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""
        await anyio.sleep(seconds)


class RandomIds:
    """A source of random identifiers; implements `ports.clock.Ids`."""

    def session(self) -> SessionId:
        """Return `ses_` + 9 characters of time (milliseconds, base 32) + 7 random characters."""
        return SessionId("ses_" + _base32(int(time.time() * 1000), 9) + _base32(secrets.randbits(35), 7))

    def run(self) -> RunId:
        """Return `run_` + 12 hexadecimal digits."""
        return RunId("run_" + secrets.token_hex(6))

    def command(self) -> CommandId:
        """Return `cmd_` + 12 hexadecimal digits."""
        return CommandId("cmd_" + secrets.token_hex(6))

    def request(self) -> RequestId:
        """Return `req_` + 12 hexadecimal digits."""
        return RequestId("req_" + secrets.token_hex(6))

    def call(self) -> CallId:
        """Return `call_` + 12 hexadecimal digits."""
        return CallId("call_" + secrets.token_hex(6))


def _base32(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        digits = _ALPHABET[number & 31] + digits
        number >>= 5
    return digits
