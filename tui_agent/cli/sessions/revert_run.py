"""Revert without the app: open the session, get the engine's plan, and carry it out.

A separate module because it loads the engine. Invariant: nothing is changed if every file to change was also changed by
someone else and none was named.
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
from tui_agent.wiring.session import open_session as opened
from tui_agent.wiring.startup_context import StartupContext

PayloadT = TypeVar("PayloadT", bound=Payload)


@dataclass(frozen=True, slots=True)
class RevertRequest:
    """The parts to revert, and the files of others that may be overwritten."""

    to_seq: int
    conversation: bool
    files: bool
    overwrite: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The plan and its result; `moved` and `restored` are None if that was not done."""

    plan: CheckpointPlanned
    moved: SessionHeadMoved | None = None
    restored: CheckpointRestored | None = None
    needs_answer: bool = False
    """Nothing was done, because each file was also changed by someone else."""
    blocked: tuple[str, ...] = ()
    """Reasons why files could not be restored in any case, as sentences."""


def revert(base: StartupContext, wish: RevertRequest) -> RevertResult:
    """Open the session given by the ground's options, go back, and close it.

    Raises `TuiAgentError` if the engine rejects a command, `SessionLocked`, `StoreError`.
    """
    with redirect_stdout(sys.stderr):  # plugins may print; that is not part of the output
        return anyio.run(_revert, base, wish)


async def _revert(base: StartupContext, request: RevertRequest) -> RevertResult:
    errors: list[TuiAgentError] = []
    scope = anyio.CancelScope()

    def give_up(error: TuiAgentError) -> None:
        errors.append(error)
        scope.cancel()

    async with opened(base.options, base, give_up) as session:
        with scope:
            return await _plan_and_revert(session, request)
    raise errors[0]


async def _plan_and_revert(session: LocalSession, request: RevertRequest) -> RevertResult:
    follower = session.log.follow(session.log.last_seq)
    try:
        plan = _first_payload(
            await _run_command(session, follower, PlanRevert(to_seq=request.to_seq)), CheckpointPlanned
        )
        assert plan is not None, "the engine answers or refuses"
        conflicts = [act.path for act in plan.changes if act.conflict and act.path not in request.overwrite]
        stuck = (
            bool(conflicts)
            and not request.conversation
            and len(conflicts) == len(plan.changes)
            and not plan.unlisted_count
        )
        if stuck:
            return RevertResult(plan, needs_answer=True)
        if request.files and not request.conversation and plan.unavailable:
            raise TuiAgentError(
                plan.unavailable, hint="You can revert the conversation alone with --conversation."
            )
        events = await _run_command(
            session,
            follower,
            Revert(
                to_seq=request.to_seq,
                conversation=request.conversation,
                files=request.files,
                overwrite=request.overwrite,
            ),
        )
        errors = [event.payload for event in events if isinstance(event.payload, ErrorRaised)]
        blocked = tuple(error.message for error in errors if error.where == "checkpoints")
        restored = _first_payload(events, CheckpointRestored)
        moved = _first_payload(events, SessionHeadMoved)
        return RevertResult(plan, moved, restored, blocked=blocked if restored else ())
    finally:
        follower.close()


async def _run_command(session: LocalSession, follower: Follower, command: Command) -> Sequence[Envelope]:
    """Submit a command, wait until it is done, return its events. Raises `TuiAgentError` if it is rejected."""
    command_id = session.submit(command)
    events: list[Envelope] = []
    while True:
        batch = await follower.next_batch()
        if not batch:
            raise TuiAgentError("The session ended before the command was done.")
        for record in batch:
            if not isinstance(record, Envelope) or record.cause != command_id:
                continue
            events.append(record)
            match record.payload:
                case CommandRejected(reason=reason, hint=hint):
                    raise TuiAgentError(reason, hint=hint)
                case AgentStateChanged(state=AgentState.IDLE):
                    return events
                case _:
                    pass


def _first_payload(events: Sequence[Envelope], kind: type[PayloadT]) -> PayloadT | None:
    return next((event.payload for event in events if isinstance(event.payload, kind)), None)
