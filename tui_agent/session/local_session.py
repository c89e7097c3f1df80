"""A session whose engine runs in this process: used by headless runs and tests, and inside the engine process.

Invariant: `submit` never blocks.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal

import anyio
from anyio import to_thread

from tui_agent.engine.engine import Engine
from tui_agent.engine.plugins.event_loop_watchdog import watch_event_loop
from tui_agent.engine.plugins.plugin_tasks import guard_plugin_tasks
from tui_agent.engine.recorder import Recorder
from tui_agent.errors import PluginError, StoreError
from tui_agent.folds.session.snapshot import FORMAT, dump_snapshot
from tui_agent.ports.clock import Ids
from tui_agent.ports.environment import Sandbox
from tui_agent.ports.log import Follower
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.commands import Close, Command, Interrupt
from tui_agent.protocol.events.env import EnvStopped
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.session import RunFinished
from tui_agent.protocol.ids import CommandId, RunId, SessionId
from tui_agent.protocol.settings import PolicyName, SessionSettings
from tui_agent.store.fold_cache import MIN_EVENTS, save_fold
from tui_agent.store.session_log import SessionLog


class LocalSession:
    """A session in this process: an engine and its log."""

    def __init__(
        self,
        log: SessionLog,
        recorder: Recorder,
        engine: Engine,
        ids: Ids,
        run_id: RunId,
        release: Callable[[], Awaitable[int]],
        warm: Callable[[], None],
    ) -> None:
        self._log = log
        self._recorder = recorder
        self._engine = engine
        self._ids = ids
        self._run_id = run_id
        self._release = release
        self.preload_client = warm
        """Function that imports the libraries of the model client."""
        self.end_process: Callable[[PluginError], None] | None = None
        """Function that ends this process, called in another thread. It is called if a plugin blocks and cannot be
        interrupted.

        It is None if the process belongs to a program that uses this session. The plugin's error is then only logged.
        """
        self._note_stop: Callable[[], None] = lambda: None
        self._reason: Literal["quit", "done", "signal", "switched"] = "quit"
        self._ended = anyio.Event()
        self._closing = False

    @property
    def id(self) -> SessionId:
        """The session's id."""
        return self._log.session

    @property
    def log(self) -> SessionLog:
        """The session's log, for callers in the same process."""
        return self._log

    @property
    def settings(self) -> SessionSettings | None:
        """The session's current settings, for callers in the same process."""
        return self._recorder.state.settings

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of the session's commands, for callers in the same process."""
        state = self._recorder.state
        return Sandbox(state.sandbox, unavailable_reason=state.no_sandbox_reason)

    def would_allow(self, denial: PermissionDecided, profile: PolicyName) -> bool:
        """Return True if the call `denial` would run with the policy `profile`.

        Return False if something other than the policy denied the call, such as the user or a hook.
        """
        if not denial.rule_id.startswith(f"{denial.policy}."):
            return False
        state = self._recorder.state
        facts = PolicyFacts(
            state.workspace, profile, session_rules=state.granted_rules, sandboxed=bool(state.sandbox)
        )
        return self._engine.policy.decide("", denial.effects, facts).verdict == "allow"

    def submit(self, command: Command) -> CommandId:
        """Queue a command and return its id."""
        if not command.id:
            command = command.model_copy(update={"id": self._ids.command()})
        if isinstance(command, Close):
            self._reason = command.reason
        elif isinstance(command, Interrupt):
            self._note_stop()
        self._engine.submit(command)
        return command.id

    def follow(self, after: int = -1) -> Follower:
        """Return a follower that yields the records after the event `after`, and then new records."""
        return self._log.follow(after)

    async def read_blob(self, blob_sha256: str) -> bytes:
        """Return a blob's bytes. Raise `BlobNotFound` if the blob is missing or damaged."""
        return await to_thread.run_sync(self._log.blobs.read, blob_sha256)

    async def complete(self, command: str, arguments: str) -> Sequence[str]:
        """Return completions of a slash command's arguments."""
        return await self._engine.slash_commands.complete(command, arguments)

    async def serve(self) -> None:
        """Run the engine until the command `Close` arrives, then finish writing the log and release all resources."""
        try:
            with (
                watch_event_loop(give_up=self._give_up) as self._note_stop,
                guard_plugin_tasks(self._recorder.append),
            ):
                await self._engine.serve()
        finally:
            # Shielded, so that the end of the run is recorded even if this task is cancelled.
            with anyio.CancelScope(shield=True):
                await self._shut_down()

    def _give_up(self, error: PluginError) -> None:
        if self.end_process is not None:
            self.end_process(error)
        else:
            notice = f"{error.message} It still blocks this program's event loop. {error.hint}"
            logging.getLogger("tui_agent").error("%s", notice.rstrip())

    async def _shut_down(self) -> None:
        try:
            # A process that cannot be stopped must not keep tui-agent from ending.
            with anyio.move_on_after(5):
                leftovers = await self._release()
                self._recorder.append(
                    EnvStopped(environment=self._recorder.state.environment, leftovers=leftovers)
                )
            self._recorder.append(RunFinished(run_id=self._run_id, reason=self._reason))
            await self._recorder.commit()
            await to_thread.run_sync(self.save_fold)
        except StoreError:
            pass  # the log ends at its last stored event; the next run treats that as a crash and repairs it
        finally:
            self._log.close()
            self._ended.set()

    def save_fold(self) -> None:
        """Cache the state of a long session, so that the next start is faster.

        Do not call this method while the log is being written.
        """
        position = self._log.place
        if position is None or position.seq < MIN_EVENTS:
            return
        fold = self._recorder.snapshot()
        if fold is None:
            return
        with suppress(OSError):  # this is only a cache; without it the log is folded again
            save_fold(self._log.folder, position, FORMAT, dump_snapshot(fold), self._log.ops)

    async def wait_until_ended(self) -> None:
        """Wait until the engine has ended, the log is stored and the log's lock is released."""
        await self._ended.wait()

    async def aclose(self) -> None:
        """Close the session, and wait until its engine has ended."""
        if not self._closing:
            self._closing = True
            self.submit(Close())
        await self._ended.wait()
