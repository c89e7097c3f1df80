"""Updates the screen after a change of the session: the panes, the start page, the status line, the terminal's title.

Invariant: the panes are updated at most once per frame, and a pane repaints only changed rows.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tui_agent.config.project.git_query import locate_repository
from tui_agent.folds.screen_folds import ALL_VIEWS, ViewName, Views
from tui_agent.folds.session.changed_files import ChangedFile, FilesChangedView
from tui_agent.tui.controller.controller_protocols import SessionHost
from tui_agent.tui.controller.prompt_updates import PromptUpdater
from tui_agent.tui.controller.screen_errors import REPORT
from tui_agent.tui.panes.status_line import StatusView
from tui_agent.tui.panes.status_text import status_of
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.sheet import Sheet

NOT_STORED: Final = "The rest of this turn could not be stored."
BEATS_PER_BRANCH_READ: Final = 4
"""Number of calls of `beat` between two reads of the git branch."""


class PaneUpdater:
    """Shows the views of the open session in the panes of the main screen."""

    def __init__(self, host: SessionHost, after_frame: Sequence[tuple[str, Callable[[], object]]]) -> None:
        self._host = host
        self._app = host.app
        self._after_frame = after_frame
        self._line_counts = LineCounts(host)
        self._prompt = PromptUpdater(host)
        self._beats = 0
        self._reported_fault: object = None
        self._branch_folder = ""
        self._compared_files: FilesChangedView | None = None
        """The changed files when they were last compared with the disk. None while a turn or command runs."""
        host.app.watch(host.app, "app_focus", self._look_after_focus, init=False)

    def show(self, changed: frozenset[ViewName]) -> None:
        """Pass the changed views to their panes."""
        if not changed:
            return
        views = self._host.views
        if self._host.config is not None:
            views.meter.set_compaction_share(self._host.config.context.compact_at)
        guarded = self._host.faults.run_guarded
        self._host.faults.report_folds()
        # Each part is guarded on its own, so that an error in one does not stop the others.
        with self._app.batch_update():
            if "state" in changed:
                guarded("the session's settings", self._show_state)
            if changed & {"state", "files"}:
                guarded("the changed files", self._compare_with_disk)
            self._update_sheets(changed)
            if changed & {"state", "meter"}:
                guarded("the header", self._show_header)
            if changed & {"todo", "trace", "meter"}:
                guarded("the side panes", lambda: self._show_sidebar(views))
            if changed & {"todo", "files"}:
                guarded("the pane strip", lambda: self.show_strip(views))
            if "transcript" in changed:
                guarded("the chat", self._host.chat.show)
            guarded("the chat", self._host.chat.choose_page)
            guarded("the status line", self.show_status)
            if changed & {"state", "meter", "plugins"}:
                guarded("the prompt", self._prompt.show)
        for part, update in self._after_frame:
            guarded(part, update)

    def _show_state(self) -> None:
        """Update the start page, and save the model and the policy that the user chose."""
        self._host.submitter.under_way = False
        self._host.start_page.refresh()
        self._host.choices.update(self._host.state)

    def _show_header(self) -> None:
        self._app.header.set_views(self._host.state, self._host.views.meter.view())
        if self._branch_folder != self._host.work_folder:
            self._branch_folder = self._host.work_folder
            self._app.header.set_branch("")
            self._host.worker(self._update_branch(), "branch")

    def _show_sidebar(self, views: Views) -> None:
        self._app.sidebar.set_views(
            views.todo.view(), views.trace.view(), views.meter.view(), self._app.clock()
        )

    def _update_sheets(self, changed: frozenset[ViewName]) -> None:
        for screen in self._app.screen_stack:
            if isinstance(screen, Sheet) and screen.follows & changed:
                self._host.faults.run_guarded("the sheet", screen.follow)

    def show_figures(self, views: Views) -> None:
        """Show the header and the side panes of a session that is still being opened."""
        self._app.header.set_views(views.state.view(), views.meter.view())
        self._show_sidebar(views)
        self.show_strip(views)

    def show_strip(self, views: Views) -> None:
        """On a screen too small for side panes, show todos and changed files in a strip instead."""
        view = self._host.disk_changes.drop_undone(views.files.view(), views)
        self._app.pane_strip.set_views(views.todo.view(), view, self._line_counts.sum_of(view))

    def _look_after_focus(self, has_focus: bool) -> None:
        """If the terminal window gets the focus, compare the changed files with the disk."""
        if has_focus:
            self._host.worker(self._host.disk_changes.compare_with_disk(), "changed files")

    def _compare_with_disk(self) -> None:
        """Compare the changed files with the disk if a turn or command has ended or a file change was recorded."""
        files = None if self._host.is_running else self._host.views.files.view()
        before, self._compared_files = self._compared_files, files
        if files is not None and files is not before:
            self._host.worker(self._host.disk_changes.compare_with_disk(), "changed files")

    def show_all(self) -> None:
        self.show(ALL_VIEWS)

    def show_status(self) -> None:
        """Show the session's state, the running work, and the keys that are available."""
        stopped = self._stopped_status()
        view = self._status() if stopped is None else stopped
        before = self._app.status.view
        self._app.set_status(view)
        self._app.show_keys()
        if stopped is None and before.mood != view.mood:
            self._notify(before.mood, view)

    async def _update_branch(self) -> None:
        folder = self._host.work_folder
        branch = await asyncio.to_thread(_head_label, Path(folder))
        if folder == self._host.work_folder:
            self._app.header.set_branch(branch)

    def _status(self) -> StatusView:
        state = self._host.state
        is_wide = self._app.shape.width >= 150 and bool(state.run_id)
        note = f"{state.run_id}  {self._host.views.last_kind}" if is_wide else ""
        key_of = self._app.key_of
        view = status_of(
            state,
            self._host.views.trace.view(),
            note=note,
            policy_key=key_of("next_policy"),
            send_key=key_of("send"),
        )
        faulty = self._host.faults.first
        for text in (
            self._host.sessions.load_progress,
            f"{faulty} is incomplete: {REPORT}" if faulty else "",
        ):
            if text:
                view = view._replace(note=text) if view.detail else view._replace(detail=text)
        below_key = key_of("to_end" if self._app.editor.text else "line_end")
        return view._replace(below=self._host.chat.new_rows_text, below_key=below_key)

    def _notify(self, before: str, view: StatusView) -> None:
        """Show the new status in the terminal's title.

        If the terminal lacks the focus, notify the user that a turn ended or waits for an answer. `before`: the mood
        (e.g. `running`) of the previous status.
        """
        title = clean_line(self._host.state.title) or "tui-agent"
        mark = {"waiting": "? ", "running": "* ", "failed": "x "}.get(view.mood, "")
        self._app.terminal.title(f"{mark}{title}")
        if self._app.app_focus or self._host.views.seq <= self._host.seen_seq:
            return  # The user looks at the app, or the log is still being loaded.
        if view.mood == "waiting":
            self._app.terminal.notify(title, f"waiting for you, {view.detail}")
        elif before == "running" and view.mood in ("ready", "failed", "stopped"):
            self._app.terminal.notify(title, view.word)

    def beat(self) -> None:
        """Blink the status symbol and update elapsed times, twice a second."""
        self._beats += 1
        # 1 and not 0, so that the first beat already reads the branch.
        if self._beats % BEATS_PER_BRANCH_READ == 1:
            self._host.worker(self._update_branch(), "branch")
        if self._host.is_connected:
            self._host.send_output_width()
        self._report_storage_fault()
        status, now = self._app.status, self._app.clock()
        if status.view.mood == "running":
            status.beat(now)
            if self._beats % 2 == 0:
                self._app.sidebar.beat(now)
        if self._beats % 2 == 0 and self._host.sessions.load_progress:
            self.show_status()

    def _stopped_status(self) -> StatusView | None:
        """Return the status to show if the engine has ended or could not store an event; otherwise None."""
        host = self._host
        if host.sessions.must_reopen and not host.sessions.under_way:
            return StatusView("failed", "engine ended", "send a message to open the session again")
        if host.storage_fault_seq == host.views.seq:
            return StatusView("failed", "not stored", "free some disk space, then send a message")
        return None

    def _report_storage_fault(self) -> None:
        """Report once that the engine could not store an event."""
        host = self._host
        fault = host.session.storage_fault if host.session is not None else None
        if fault is None or fault is self._reported_fault:
            # No event came after the fault, so nothing recorded the end of the work that the views show as running.
            if fault is not None and host.storage_fault_seq == host.views.seq:
                host.views.end_open_work(NOT_STORED)
                if changed := host.views.pop_changed():
                    self.show(changed)
            return
        self._reported_fault = fault
        host.storage_fault_seq = host.views.seq
        host.submitter.under_way = False
        host.app.say(f"{fault.message} {fault.hint}".strip(), "error")
        self.show_status()

    def looks_changed(self) -> None:
        """Draw the transcript and all panes again after a change of the theme."""
        self._host.chat.looks_changed()
        self.show_all()


class LineCounts:
    """Counts the lines that the session added to and removed from each file."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self._counts: dict[tuple[str | None, ...], tuple[int, int]] = {}
        """Maps the versions of a file to its numbers of added and removed lines."""
        self._is_comparing = False

    def sum_of(self, view: FilesChangedView) -> tuple[int, int] | None:
        """Return the numbers of added and removed lines in all files; None while files are still being compared."""
        # Only a file's single change has recorded counts. The counts of several changes cannot be added up, because the
        # later ones may have changed the same lines.
        counts = [
            self._counts.get(file.versions) if file.changes > 1 else (file.added, file.removed)
            for file in view.files
        ]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            if not self._is_comparing:
                self._is_comparing = True
                self._host.worker(self._compare(), "line counts")
            return None
        return sum(added for added, _ in known), sum(removed for _, removed in known)

    async def _compare(self) -> None:
        try:
            while file := self._next_file():
                diff, _ = await self._host.reader.compare(file)
                self._counts[file.versions] = (0, 0) if diff is None else (diff.added, diff.removed)
        finally:
            self._is_comparing = False
        self._host.panes.show_strip(self._host.views)

    def _next_file(self) -> ChangedFile | None:
        files = self._host.views.files.view().files
        return next(
            (file for file in files if file.changes > 1 and file.versions not in self._counts),
            None,
        )


def _head_label(folder: Path) -> str:
    repository = locate_repository(folder)
    return repository.head_label if repository is not None else ""
