"""Interruption of the running turn or command by Esc and another key."""

import time

from tui_agent.protocol.commands import Interrupt
from tui_agent.tui.controller.controller_protocols import SessionHost

TWICE_S = 0.6
"""Maximum time between the two presses of a double Esc, in seconds."""


class Interruption:
    """Handles Esc, and the key that interrupts a turn."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._escaped_at = self._interrupted_at = self._sent_at = -TWICE_S
        self._interrupted_work: tuple[object, ...] = ()

    def escape(self) -> None:
        """Handle Esc while no menu is open.

        Interrupt the turn. If no turn runs, close a search or selection. If neither is open, a double press offers to
        revert.
        """
        # Users press Esc twice to interrupt, so a second press soon after an interrupt does nothing.
        host, now = self._host, time.monotonic()
        if self.interrupt() or now < self._interrupted_at + TWICE_S:
            self._interrupted_at = now
            return
        if host.chat.close():
            return
        keys = host.app.key_map
        before, self._escaped_at = self._escaped_at, now
        twice = now - before < TWICE_S and keys.is_double("revert")
        if not twice or not host.is_connected or host.sessions.under_way:
            return
        self._escaped_at = 0.0
        if host.editor.text:
            host.app.say(
                f"{keys.key_of('copy_or_stop')} clears the message, then {keys.key_of('revert')} reverts."
            )
        else:
            host.act("revert")

    def interrupt(self) -> bool:
        """Interrupt the running turn or a turn about to start; return False if there is none."""
        host, now = self._host, time.monotonic()
        if not host.is_running and not host.submitter.under_way:
            return False
        state = host.state
        # A key that is held down repeats many times a second. Only other work, or a later press, needs another command.
        running = state.turn_running, state.is_compacting, state.is_preparing, state.running_command
        work = state.turn, state.shell, *running
        if work != self._interrupted_work or now > self._sent_at + TWICE_S:
            self._interrupted_work, self._sent_at = work, now
            host.submit(Interrupt())
        return True
