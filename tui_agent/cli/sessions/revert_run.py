"""Revert without the app: opens the session, asks the engine for a plan, and carries the plan out.

Invariant: if someone else also changed every file in the plan, no file is restored without `--overwrite`.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from typing import TypeVar

import anyio

from tui_agent.cli.run.command import use_session
from tui_agent.cli.sessions.revert import RevertResult
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.base import Payload
from tui_agent.protocol.commands import PlanRevert, Revert
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored
from tui_agent.protocol.events.session import ErrorRaised, SessionHeadMoved
from tui_agent.session.headless_turn import submit_and_wait
from tui_agent.session.local import LocalSession
from tui_agent.wiring.startup_context import StartupContext

PayloadT = TypeVar("PayloadT", bound=Payload)


def revert(base: StartupContext, request: Revert) -> RevertResult:
    """Open the session selected by the options of `base`, revert it and close it.

    Raise `SessionLocked` or `StoreError` if the session cannot be opened. Raise `TuiAgentError` if the engine rejects a
    command.
    """
    with redirect_stdout(sys.stderr):  # plugins may print
        return anyio.run(use_session, base.options, base, partial(_plan_and_revert, request))


async def _plan_and_revert(request: Revert, session: LocalSession) -> RevertResult:
    follower = session.log.follow(session.log.last_seq)
    try:
        plan = _first_payload(
            await submit_and_wait(session, follower, PlanRevert(to_seq=request.to_seq)), CheckpointPlanned
        )
        assert plan is not None, "the engine answers or refuses"
        conflicts = [act.path for act in plan.changes if act.conflict and act.path not in request.overwrite]
        conflicts += [
            folder.path
            for folder in plan.folders
            if not folder.files and folder.path not in request.overwrite
        ]
        planned = len(plan.changes) + len(plan.folders)
        has_only_conflicts = len(conflicts) == planned and not plan.unlisted_count
        if conflicts and has_only_conflicts and not request.conversation:
            return RevertResult(plan, needs_answer=True)
        if request.files and not request.conversation and plan.unavailable:
            raise TuiAgentError(
                plan.unavailable, hint="You can revert the conversation alone with --conversation."
            )
        events = await submit_and_wait(session, follower, request)
        errors = [event.payload for event in events if isinstance(event.payload, ErrorRaised)]
        blocked = tuple(error.message for error in errors if error.where == "checkpoints")
        restored = _first_payload(events, CheckpointRestored)
        moved = _first_payload(events, SessionHeadMoved)
        return RevertResult(plan, moved, restored, blocked=blocked if restored else ())
    finally:
        follower.close()


def _first_payload(events: Sequence[Envelope], kind: type[PayloadT]) -> PayloadT | None:
    return next((event.payload for event in events if isinstance(event.payload, kind)), None)
