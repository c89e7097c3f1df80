"""The system clock, and random identifiers."""

import secrets
import time

import anyio

from tui_agent.protocol.ids import CallId, CommandId, RequestId, RunId, SessionId

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never decrease."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        await anyio.sleep(seconds)


class RandomIds:
    """Random identifiers. A session's begins with its creation time, so that names sort by time."""

    def session(self) -> SessionId:
        """`ses_` + 9 characters of time (milliseconds, base 32) + 7 random ones."""
        return SessionId("ses_" + _base32(int(time.time() * 1000), 9) + _base32(secrets.randbits(35), 7))

    def run(self) -> RunId:
        """`run_` + 12 hexadecimal digits."""
        return RunId("run_" + secrets.token_hex(6))

    def command(self) -> CommandId:
        """`cmd_` + 12 hexadecimal digits."""
        return CommandId("cmd_" + secrets.token_hex(6))

    def request(self) -> RequestId:
        """`req_` + 12 hexadecimal digits."""
        return RequestId("req_" + secrets.token_hex(6))

    def call(self) -> CallId:
        """`call_` + 12 hexadecimal digits."""
        return CallId("call_" + secrets.token_hex(6))


def _base32(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        digits = _ALPHABET[number & 31] + digits
        number >>= 5
    return digits
