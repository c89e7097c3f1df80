"""One run of a command in the sandbox: preparation, execution, and detection of denials.

Invariant: a command that cannot be confined is not run.
"""

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.workspace.local.piped_program import PipedProcess, open_piped
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.subprocesses import Command, start_failure
from tui_agent.workspace.sandbox.command_setup import ConfinedCommand, Confinement, ConfinementError
from tui_agent.workspace.sandbox.denials import (
    SecretDenial,
    explain_denial,
    explain_existing_target,
    find_denied_secrets,
)
from tui_agent.workspace.sandbox.extra_mounts import OpenedPath
from tui_agent.workspace.sandbox.output_notes import (
    find_leak_check_notes,
    find_lost_write_notes,
    find_output_notes,
)

BWRAP_FAILED = 1
"""Exit code of bubblewrap if bubblewrap itself failed."""
_BWRAP_PREFIX = b"bwrap: "
_MAX_LINE_BYTES = 4096
MAX_ATTEMPTS = 3
"""Maximum number of attempts to create a sandbox."""
# An attempt fails if a file system is mounted or removed at the same time.


async def run_confined(
    confinement: Confinement,
    command: Command,
    spec: ExecSpec,
    sink: OutputSink,
    run: Callable[[Command, OutputSink], Awaitable[ExecResult]],
) -> ExecResult:
    """Run a command in the sandbox; `run` executes the prepared command, `sink` receives its output."""
    missing = await to_thread.run_sync(_missing_program, confinement, command)
    if missing is not None:
        return missing
    for _ in range(MAX_ATTEMPTS):
        output_filter = _OutputFilter(sink)
        result, has_started, confined_command = await _run_once(
            confinement, command, spec, output_filter.take, run
        )
        if has_started or result.outcome != "exited" or result.exit_code != BWRAP_FAILED:
            output_filter.pass_on()
            break  # otherwise a file system changed while the sandbox was created
    else:
        text = result.output.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
        return _refused_result(f"The command was not run: the sandbox could not be created: {text[:500]}")
    if confined_command is None:
        return result
    lost = find_lost_write_notes(confinement.find_lost_writes(confined_command.unopened))
    result = replace(result, notes=(*lost, *confined_command.renaming_notes))
    if result.outcome != "exited":
        return result
    denial = await _find_denial(confinement, confined_command, spec, result)
    noted = find_leak_check_notes(result.output + result.stderr)
    if not denial.reason and (confined_command.masked or confined_command.placeholders):
        notes = find_output_notes(
            spec.argv or (spec.script,),
            command.cwd,
            result.output,
            confined_command.masked,
            confined_command.placeholders,
            is_read_only=spec.show_secrets_as_empty,
        )
        noted += await to_thread.run_sync(tuple, notes)
    return replace(
        result,
        blocked=denial.reason,
        needed_secrets=denial.files,
        changed_secrets=denial.changed,
        notes=(*noted, *result.notes),
    )


async def _find_denial(
    confinement: Confinement, confined_command: ConfinedCommand, spec: ExecSpec, result: ExecResult
) -> SecretDenial:
    """Return why an ended command probably failed in the sandbox: the secret files or the rule that stopped it.

    The result is empty if the command succeeded, or if the sandbox was probably not the cause.
    """
    if not result.exit_code:
        return SecretDenial()
    text = (result.output + result.stderr).decode("utf-8", "replace")
    if confined_command.masked and not spec.show_secrets_as_empty:
        find = partial(find_denied_secrets, text, confined_command.masked, read_only=spec.read_only)
        denial = await to_thread.run_sync(find)
        if denial.reason:
            return denial
    reason = explain_denial(
        _strip_placeholder_messages(text, confined_command.placeholders),
        result.exit_code,
        confinement.bounds,
        network=spec.allow_network,
        sealed=spec.repository_read_only,
        read_only=spec.read_only,
    )
    return SecretDenial(reason or explain_existing_target(text, confined_command.created))


async def open_confined(
    confinement: Confinement, command: Command, spec: ExecSpec, reaper: ReaperClient
) -> PipedProcess:
    """Start a program in the sandbox with pipes.

    Raise `EnvironmentFault` if the program cannot be confined or started.
    """
    missing = await to_thread.run_sync(_missing_program, confinement, command)
    if missing is not None:
        raise EnvironmentFault(missing.message)
    return await to_thread.run_sync(_open_confined, confinement, command, spec, reaper)


def _open_confined(
    confinement: Confinement, command: Command, spec: ExecSpec, reaper: ReaperClient
) -> PipedProcess:
    with ExitStack() as preparing:
        try:
            prepared = preparing.enter_context(_prepare(confinement, command, spec))
        except ConfinementError as error:
            raise EnvironmentFault(f"The program cannot run in the sandbox: {error}") from error
        held = preparing.pop_all()
    try:
        return open_piped(
            prepared.argv,
            command.folder,
            command.cwd,
            prepared.env,
            reaper,
            prepared.cleanup,
            descriptors=prepared.descriptors,
            wrapped=True,
            release=held.close,
        )
    except EnvironmentFault:
        held.close()
        raise


class _OutputFilter:
    """Passes a sandboxed command's output on, but delays the first line if bubblewrap possibly wrote it."""

    # If bubblewrap wrote the line and failed, the command has not run, and the line is never passed on.

    def __init__(self, sink: OutputSink) -> None:
        self._sink = sink
        self._held_line: bytes | None = b""
        """The delayed first line; None once the command itself has certainly written output."""

    def take(self, data: bytes) -> None:
        if self._held_line is None:
            self._sink(data)
            return
        self._held_line += data
        line, _, more = self._held_line.partition(b"\n")
        if more or len(line) > _MAX_LINE_BYTES or line[: len(_BWRAP_PREFIX)] != _BWRAP_PREFIX[: len(line)]:
            self.pass_on()

    def pass_on(self) -> None:
        line, self._held_line = self._held_line, None
        if line:
            self._sink(line)


def _strip_placeholder_messages(output: str, placeholders: Sequence[str]) -> str:
    names = "|".join(re.escape(Path(path).name) for path in placeholders)
    return re.sub(rf"^.*failed to remove '?(?:{names})\b.*$", "", output, flags=re.M) if names else output


async def _run_once(
    confinement: Confinement,
    command: Command,
    spec: ExecSpec,
    sink: OutputSink,
    run: Callable[[Command, OutputSink], Awaitable[ExecResult]],
) -> tuple[ExecResult, bool, ConfinedCommand | None]:
    """Try once to run the command; return the result, True if the command started, and the prepared command."""
    # The context is entered and left in threads, because both block. The exit is shielded: placeholders and private
    # files must go after a cancellation, too.
    context = _prepare(confinement, command, spec)
    try:
        prepared = await to_thread.run_sync(context.__enter__)
    except ConfinementError as error:
        return (
            _refused_result(f"The command was not run, because the sandbox cannot confine it: {error}"),
            False,
            None,
        )
    try:
        started = replace(
            command,
            argv=prepared.argv,
            env=prepared.env,
            descriptors=prepared.descriptors,
            is_wrapper=True,
            cleanup=prepared.cleanup,
        )
        result = await run(started, sink)
        return result, prepared.has_started(), prepared
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(context.__exit__, None, None, None)


def _prepare(
    confinement: Confinement, command: Command, spec: ExecSpec
) -> AbstractContextManager[ConfinedCommand]:
    info = os.fstat(command.folder)
    folder = OpenedPath(command.cwd, info.st_dev, info.st_ino)
    return confinement.prepare_command(command.argv, folder, command.env, spec)


def _missing_program(confinement: Confinement, command: Command) -> ExecResult | None:
    """Return the failure if the command's folder or program is missing or cannot be used; otherwise None."""
    folder = Path(command.cwd)
    program = confinement.locate_program(str(Path(command.cwd, command.argv[0])))
    if not folder.is_dir():
        return start_failure("not_found", f"The folder {command.cwd} does not exist.")
    if "/" not in command.argv[0] or not program.exists():
        return start_failure("not_found", f"The program {command.argv[0]} was not found.")
    if program.is_dir() or not os.access(program, os.X_OK):
        return start_failure("failed", f"{command.argv[0]} cannot be executed (permission denied).")
    if "\0" in "".join(command.argv):
        return start_failure("failed", f"{command.argv[0]} could not be started: Invalid argument.")
    return None


def _refused_result(why: str) -> ExecResult:
    return replace(start_failure("failed", why), blocked=why)
