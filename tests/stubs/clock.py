"""Doubles of time and identifiers: exact, and without waiting."""

from tui_agent.protocol.ids import CallId, CommandId, RequestId, RunId, SessionId


class FakeClock:
    """Time that moves only when told, or by what is slept."""

    def __init__(self, start: float = 1_700_000_000.0, tick: float = 0.0) -> None:
        self.time = start
        self.tick = tick
        self.slept: list[float] = []

    def now(self) -> float:
        self.time += self.tick
        return self.time

    def monotonic(self) -> float:
        return self.now()

    def advance(self, seconds: float) -> None:
        self.time += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


class SequentialIds:
    """Identifiers counted from 1."""

    def __init__(self) -> None:
        self.count = 0

    def _next(self, prefix: str, width: int) -> str:
        self.count += 1
        return f"{prefix}_{self.count:0{width}x}"

    def session(self) -> SessionId:
        return SessionId(self._next("ses", 16))

    def run(self) -> RunId:
        return RunId(self._next("run", 12))

    def command(self) -> CommandId:
        return CommandId(self._next("cmd", 8))

    def request(self) -> RequestId:
        return RequestId(self._next("req", 8))

    def call(self) -> CallId:
        return CallId(self._next("call", 8))
