"""One confined command, from its making ready to what the sandbox refused it.

Invariant: what could not be confined was not run; cancelling lets go of everything that it held. What is said while a
sandbox is made in vain is no output of the command.
"""

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.workspace.local.subprocesses import Command
from tui_agent.workspace.sandbox.confinement import Confined, Confinement, NotConfined
from tui_agent.workspace.sandbox.denials import Kept, blocked, kept_from
from tui_agent.workspace.sandbox.extra_mounts import Opened
from tui_agent.workspace.sandbox.output_notes import notes

FAILED = 1
"""What bubblewrap itself ends with."""
_BY = b"bwrap: "
_LONGEST = 4096
TRIES = 3
"""Making a sandbox fails where a file system is mounted or taken away at that moment; nothing has run then."""


async def confined(
    confinement: Confinement,
    command: Command,
    spec: ExecSpec,
    sink: OutputSink,
    run: Callable[[Command, OutputSink], Awaitable[ExecResult]],
) -> ExecResult:
    """Run a command in the sandbox; `run` runs what it is made into, its output goes to the sink."""
    absent = await to_thread.run_sync(_absent, command)
    if absent is not None:
        return absent
    for _ in range(TRIES):
        heard = _Heard(sink)
        result, began, made = await _tried(confinement, command, spec, heard.take, run)
        if began or result.ended != "exited" or result.exit_code != FAILED:
            heard.pass_on()
            break  # else a file system came or went while it was being made
    else:
        said = result.output.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
        return _not_run(f"It was not run, for the sandbox could not be made: {said[:500]}")
    if result.ended != "exited" or made is None:
        return result
    kept = Kept()
    if result.exit_code:
        said = (result.output + result.errors).decode("utf-8", "replace")
        if made.masked and not spec.looks:
            kept = await to_thread.run_sync(kept_from, said, made.masked)
        if not kept.why:
            kept = Kept(
                blocked(
                    _without_stand_ins(said, made.stand_ins),
                    result.exit_code,
                    confinement.bounds,
                    network=spec.network,
                    sealed=spec.sealed,
                    read_only=spec.read_only,
                )
            )
    told: tuple[str, ...] = ()
    if not kept.why and (made.masked or made.stand_ins):
        words = spec.argv or (spec.script,)
        look = partial(
            notes, words, command.cwd, result.output, made.masked, made.stand_ins, looks=spec.looks
        )
        told = await to_thread.run_sync(look)
    return replace(result, blocked=kept.why, wanted=kept.files, notes=told)


class _Heard:
    """Passes output on, but for one line by bubblewrap: it may be all there is, and then nothing has run."""

    def __init__(self, sink: OutputSink) -> None:
        self._sink = sink
        self._held: bytes | None = b""
        """None where it is certain that there is more."""

    def take(self, data: bytes) -> None:
        """More output."""
        if self._held is None:
            self._sink(data)
            return
        self._held += data
        line, _, more = self._held.partition(b"\n")
        if more or len(line) > _LONGEST or line[: len(_BY)] != _BY[: len(line)]:
            self.pass_on()

    def pass_on(self) -> None:
        """What was held back is output."""
        held, self._held = self._held, None
        if held:
            self._sink(held)


def _without_stand_ins(said: str, stand_ins: Sequence[str]) -> str:
    """What a command said but that it could not tidy away what stands there for the sandbox alone."""
    names = "|".join(re.escape(Path(path).name) for path in stand_ins)
    return re.sub(rf"^.*failed to remove '?(?:{names})\b.*$", "", said, flags=re.M) if names else said


async def _tried(
    confinement: Confinement,
    command: Command,
    spec: ExecSpec,
    sink: OutputSink,
    run: Callable[[Command, OutputSink], Awaitable[ExecResult]],
) -> tuple[ExecResult, bool, Confined | None]:
    """How it ended, whether it began at all, and what it was made into."""
    info = os.fstat(command.folder)
    ready = confinement.command(
        command.argv,
        Opened(command.cwd, info.st_dev, info.st_ino),
        command.env,
        network=spec.network,
        writable=spec.writable,
        shown=spec.shown,
        own=spec.own,
        looks=spec.looks,
        shut=spec.sealed,
        read_only=spec.read_only,
        hides_home=spec.hides_home,
    )
    try:
        made = await to_thread.run_sync(ready.__enter__)
    except NotConfined as error:
        return _not_run(f"It was not run, for it cannot be confined: {error}"), False, None
    try:
        started = replace(command, argv=made.argv, env=made.env, given=made.given, wrapped=True)
        result = await run(started, sink)
        return result, made.began(), made
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(ready.__exit__, None, None, None)


def _absent(command: Command) -> ExecResult | None:
    """What it would end with where there is no such program or folder: inside the sandbox nobody could tell."""
    program, folder = Path(command.cwd, command.argv[0]), Path(command.cwd)
    if not folder.is_dir():
        return _none("not_found", f"The folder {command.cwd} does not exist.")
    if "/" not in command.argv[0] or not program.exists():
        return _none("not_found", f"There is no program {command.argv[0]}.")
    if program.is_dir() or not os.access(program, os.X_OK):
        return _none("failed", f"{command.argv[0]} may not be executed (permission denied).")
    if "\0" in "".join(command.argv):
        return _none("failed", f"{command.argv[0]} could not be started: Invalid argument.")
    return None


def _not_run(why: str) -> ExecResult:
    return replace(_none("failed", why), blocked=why)


def _none(ended: str, message: str) -> ExecResult:
    return ExecResult(None, "not_found" if ended == "not_found" else "failed", b"", 0, 0.0, message)
