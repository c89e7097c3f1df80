"""Faults of the screen itself: reported once, written to a file, and kept from stopping what works.

Invariant: the log is the engine's alone, so faults of views go into a file beside the sessions, 0600, without secrets;
`tui-agent bug` puts its end into the report. The same view failing in the same way is reported once.
"""

import os
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

from tui_agent.config.paths import screen_error_log
from tui_agent.folds.views import FoldFault, describe_error
from tui_agent.tui.context import AppContext
from tui_agent.tui.main_screen import Frame
from tui_agent.tui.text import clean_line

MOST_BYTES: Final = 1 << 20
"""A fault file of this size is emptied."""
REPORT: Final = "/bug writes a report"
SHOWN: Final = {
    "state": "the session's state",
    "transcript": "the chat",
    "trace": "the trace",
    "todo": "the task list",
    "meter": "the context meter",
    "files": "the changed files",
    "agents": "the agents",
    "metrics": "the figures",
    "approvals": "the approvals",
    "jobs": "the jobs",
    "ledger": "the context's ledger",
    "branches": "the branches",
}
"""The user's words for each fold."""


class FaultReporter:
    """Reports the faults of one app, in all the sessions that it opens."""

    def __init__(self, context: AppContext, frame: Frame) -> None:
        self._context = context
        self._frame = frame
        self._told: set[tuple[str, str]] = set()
        self.first = ""
        """The view that failed first in this session, for the status line; empty while all is well."""

    def begin(self) -> None:
        """Forget the faults: another session has new views."""
        self._told.clear()
        self.first = ""

    def guarded(self, what: str, work: Callable[[], object]) -> None:
        """Run `work` for one part of the screen; a fault in it is reported and stops nothing else."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a supervisor: a part that breaks takes no other with it
            self.tell(what, error)

    def tell(self, what: str, error: Exception) -> None:
        """Report that a part of the screen could not be drawn."""
        notice = (
            f"{_upper(what)} could not be drawn ({{}}). The rest works, and the log has everything. {REPORT}."
        )
        self._tell(what, describe_error(error), notice, "".join(traceback.format_exception(error)))

    def look(self) -> None:
        """Report events that a fold could not apply."""
        for fault in self._context.views.faults.values():
            self._report_fold(fault)

    def _report_fold(self, fault: FoldFault) -> None:
        what, event = SHOWN.get(fault.view, fault.view), f"event {fault.seq}, {fault.kind}"
        notice = f"{_upper(what)} could not use {event} ({{}}) and skipped it; the log has it. {REPORT}."
        self._tell(what, fault.error, notice, f"{event}\n{fault.detail}", key=fault.kind)

    def _tell(self, what: str, error: str, notice: str, detail: str, key: str = "") -> None:
        kind = (what, key or error)
        if kind in self._told:
            return
        self._told.add(kind)
        self.first = self.first or what
        self._context.app.say(notice.format(clean_line(self._clean(error))), "error")
        self._write(what, detail)

    def write(self, what: str, error: BaseException) -> None:
        """Write down a fault that was reported already."""
        self._write(what, "".join(traceback.format_exception(error)))

    def _clean(self, text: str) -> str:
        app = self._context.app
        # By name: only a fault needs it.
        clean: Callable[..., str] = import_module("tui_agent.session.fault_redaction").redact_text
        return clean(text, app.environ, app.options.cwd)

    def _write(self, what: str, detail: str) -> None:
        app, config = self._context.app, self._context.config
        if config is None:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        path, head = screen_error_log(config.data_dir), f"{now} {app.session_id or '-'} {what}"
        self._frame.run_worker(
            lambda: _write(path, f"{head}\n{_unbroken(self._clean(detail))}\n\n"),
            thread=True,
            exit_on_error=False,
            name="fault file",
        )


def _upper(what: str) -> str:
    return what[:1].upper() + what[1:]


def _unbroken(text: str) -> str:
    """Drop empty lines: one separates a fault from the next."""
    return "\n".join(line for line in text.splitlines() if line.strip())


def _write(path: Path, text: str) -> None:
    """Append to the file. A failure is not reported: the notice on the screen has to do."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        with os.fdopen(handle, "ab") as file:
            if file.tell() > MOST_BYTES:
                file.truncate(0)
            file.write(text.encode("utf-8", "replace"))
