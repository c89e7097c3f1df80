"""A session for clients' tests: fed with records, recording what is submitted."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tui_agent.errors import BlobNotFound, TuiAgentError
from tui_agent.folds.session.snapshot import Snapshot
from tui_agent.protocol.commands import Command, SetOutputWidth
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, Record
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CommandId, SessionId
from tui_agent.protocol.mentions import REFUSED_MENTIONS


class FakeFollower:
    """A cursor into the fake session's records."""

    def __init__(self, session: "FakeSession", after: int) -> None:
        self.session = session
        self.position = after + 1
        self.closed = False
        self.awake = asyncio.Event()

    async def next_batch(self) -> Sequence[Record]:
        while not self.closed and not self.session.ended and self.position >= len(self.session.records):
            self.awake.clear()
            await self.awake.wait()
        if self.closed:
            return ()
        batch = self.session.records[self.position :]
        self.position += len(batch)
        return batch

    def close(self) -> None:
        self.closed = True
        self.awake.set()


@dataclass
class FakeOpened:
    """What the engine announces."""

    session: str
    folder: str
    last_seq: int
    new: bool


@dataclass(eq=False)
class FakeTrouble:
    """What the engine could not store."""

    message: str
    hint: str = ""


class FakeSession:
    """`feed` appends events as the engine would; `submitted` holds the commands in order.

    `react` (if set) is called with every submitted command and may feed more.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        session_id: str = "ses_0000000000000001",
        folder: str = "/dev/null/nowhere",
        failure: TuiAgentError | None = None,
    ) -> None:
        self._id = SessionId(session_id)
        self.records: list[Record] = list(records)
        self.submitted: list[Command] = []
        self.output_columns = 0
        """The width of program output that the app told, which is no part of `submitted`."""
        self.blobs: dict[str, bytes] = {}
        self.react: Callable[[Command], None] | None = None
        self.ended = False
        self.is_closed = False
        self.time = self.records[-1].time if self.records else 1_700_000_000.0
        self.followers: list[FakeFollower] = []
        self.over = asyncio.Event()
        self.folder = folder
        self.failure = failure
        self.storage_fault: FakeTrouble | None = None
        self.standing: tuple[int, Snapshot] | None = None
        self.gate: asyncio.Event | None = None
        """Set it to hold `wait_until_open` back."""
        self.completions: list[str] = []
        self.completed: list[tuple[str, str]] = []
        """The command and its arguments of each request for completions."""

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        self.completed.append((command, arguments))
        if command == REFUSED_MENTIONS:
            return [text for text in self.completions if text in arguments.split("\n")]
        return [text for text in self.completions if text.startswith(arguments)]

    async def wait_until_open(self) -> FakeOpened:
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return FakeOpened(self._id, self.folder, len(self.records) - 1, not self.records)

    async def wait_until_readable(self) -> FakeOpened | None:
        return (
            None
            if self.failure is not None
            else FakeOpened(self._id, self.folder, len(self.records) - 1, not self.records)
        )

    async def read_newest(self, count: int) -> Sequence[Record]:
        return self.records[-count:]

    async def load_outline(self) -> tuple[int, Snapshot] | None:
        return self.standing

    async def serve(self) -> None:
        await self.over.wait()

    @property
    def id(self) -> SessionId:
        return self._id

    def feed(
        self,
        *payloads: Payload,
        agent: AgentId = MAIN_AGENT,
        after: float = 0.1,
        cause: CommandId | None = None,
    ) -> int:
        """Append events, `after` seconds apart; returns the last seq."""
        for payload in payloads:
            seq = len(self.records)
            self.time += after
            self.records.append(
                Envelope.model_validate(
                    {
                        "v": SCHEMA_VERSION,
                        "seq": seq,
                        "time": self.time,
                        "session": self._id,
                        "agent": agent,
                        "parent": seq - 1 if seq else None,
                        "cause": cause,
                        "payload": payload,
                    }
                )
            )
        self.wake()
        return len(self.records) - 1

    def wake(self) -> None:
        """Tell the followers that there is more."""
        for follower in self.followers:
            follower.awake.set()

    def end(self) -> None:
        """The session is over: followers get an empty batch."""
        self.ended = self.is_closed = True
        self.over.set()
        self.wake()

    def submit(self, command: Command) -> CommandId:
        if isinstance(command, SetOutputWidth):
            self.output_columns = command.columns
            return CommandId("")
        command_id = CommandId(f"cmd_{len(self.submitted) + 1}")
        self.submitted.append(command.model_copy(update={"id": command_id}))
        if self.react is not None:
            self.react(command)
        return command_id

    def follow(self, after: int = -1) -> FakeFollower:
        follower = FakeFollower(self, after)
        self.followers.append(follower)
        return follower

    async def read_blob(self, blob_sha256: str) -> bytes:
        if blob_sha256 not in self.blobs:
            raise BlobNotFound(f"no blob {blob_sha256}")
        return self.blobs[blob_sha256]

    async def aclose(self) -> None:
        self.is_closed = True
        self.end()
