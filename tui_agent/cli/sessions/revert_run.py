"""Goes back in a session without a screen: opens it, asks its engine for the plan, and carries it out.

Apart from `session_revert`, since it loads the engine. Invariant: nothing is changed where every file that would change
asks first and none was named.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TypeVar

import anyio

from tui_agent.errors import TuiAgentError
from tui_agent.ports.log import Follower
from tui_agent.protocol.commands import Command, PlanRevert, Revert
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored
from tui_agent.protocol.events.session import CommandRejected, ErrorRaised, SessionHeadMoved
from tui_agent.protocol.settings import AgentState
from tui_agent.session.local import LocalSession
from tui_agent.wiring.base import Ground
from tui_agent.wiring.session import session as opened

PayloadT = TypeVar("PayloadT", bound=Payload)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to go back, and which files of others may be overwritten."""

    to_seq: int
    conversation: bool
    files: bool
    overwrite: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reverted:
    """The plan, and what was done: `moved` and `restored` are None where that was not done."""

    plan: CheckpointPlanned
    moved: SessionHeadMoved | None = None
    restored: CheckpointRestored | None = None
    needs_answer: bool = False
    """Nothing was done, because each of the files asks first."""
    blocked: tuple[str, ...] = ()
    """Why files could not be put back whatever is answered, as sentences."""


def revert(base: Ground, wish: Wish) -> Reverted:
    """Open the session that the ground's options name, go back, and let go of it. Raises `TuiAgentError` where the engine refuses,
    `SessionLocked`, `StoreError`."""
    with redirect_stdout(sys.stderr):  # what plugins print is no part of the output
        return anyio.run(_revert, base, wish)


async def _revert(base: Ground, wish: Wish) -> Reverted:
    troubles: list[TuiAgentError] = []
    running = anyio.CancelScope()

    def give_up(error: TuiAgentError) -> None:
        troubles.append(error)
        running.cancel()

    async with opened(base.options, base, give_up) as session:
        with running:
            return await _go(session, wish)
    raise troubles[0]


async def _go(session: LocalSession, wish: Wish) -> Reverted:
    follower = session.log.follow(session.log.last_seq)
    try:
        plan = _one(await _done(session, follower, PlanRevert(to_seq=wish.to_seq)), CheckpointPlanned)
        assert plan is not None, "the engine answers or refuses"
        asking = [act.path for act in plan.acts if act.conflict and act.path not in wish.overwrite]
        stuck = bool(asking) and not wish.conversation and len(asking) == len(plan.acts) and not plan.more
        if stuck:
            return Reverted(plan, needs_answer=True)
        if wish.files and not wish.conversation and plan.unavailable:
            raise TuiAgentError(plan.unavailable, hint="The conversation can go back without the files.")
        events = await _done(
            session,
            follower,
            Revert(
                to_seq=wish.to_seq, conversation=wish.conversation, files=wish.files, overwrite=wish.overwrite
            ),
        )
        said = [event.payload for event in events if isinstance(event.payload, ErrorRaised)]
        blocked = tuple(one.message for one in said if one.where == "checkpoints")
        restored = _one(events, CheckpointRestored)
        return Reverted(plan, _one(events, SessionHeadMoved), restored, blocked=blocked if restored else ())
    finally:
        follower.close()


async def _done(session: LocalSession, follower: Follower, command: Command) -> Sequence[Envelope]:
    """Submit a command and wait until it was carried out; what it led to. Raises `TuiAgentError` where it is refused."""
    wanted = session.submit(command)
    found: list[Envelope] = []
    while True:
        batch = await follower.next()
        if not batch:
            raise TuiAgentError("The session ended before it went back.")
        for record in batch:
            if not isinstance(record, Envelope) or record.cause != wanted:
                continue
            found.append(record)
            match record.payload:
                case CommandRejected(reason=reason, hint=hint):
                    raise TuiAgentError(reason, hint=hint)
                case AgentStateChanged(state=AgentState.IDLE):
                    return found
                case _:
                    pass


def _one(events: Sequence[Envelope], kind: type[PayloadT]) -> PayloadT | None:
    return next((event.payload for event in events if isinstance(event.payload, kind)), None)
