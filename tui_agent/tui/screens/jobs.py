"""The screen with the session's background jobs: their commands, times and output. The user can end jobs.

Invariant: new output is shown as it arrives, and the last line is always visible.
"""

from collections.abc import Sequence
from typing import Final

from textual.strip import Strip

from tui_agent.folds.session.jobs import JobView
from tui_agent.protocol.commands import StopJob
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.screens.list_page import Page
from tui_agent.tui.theme.theme import Looks, Role
from tui_agent.tui.untrusted_text import clean, clean_line, fit, reveal_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Column, Pen, cells, right_columns, state_mark
from tui_agent.units import format_bytes, format_elapsed

COLUMNS = Column("state".ljust(18), 19, 56), Column("output", 9, 64), Column("time", 13)
MIN_CELLS_FOR_OUTPUT = 64
"""Minimum width of the list, in cells, to show the last line of each job's output."""
MIN_ROWS_FOR_FACTS = 14
"""Minimum height of the details pane, in rows, for showing more than the job's output."""
EMPTY: Final = "No background jobs yet. The agent starts one for a command that keeps running: a server, a watcher, a long build."


class JobsScreen(Page[JobView]):
    """The screen with the list of background jobs, newest first."""

    scope = "jobs"
    use_action = "job_output"
    follow_s = 0.25
    first_column, columns = "job", COLUMNS

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.listing.empty_text = EMPTY
        self.listing.key = lambda job: job.job_id

    def follow(self) -> None:
        """Update the screen if the jobs have changed."""
        view = self.context.jobs
        # While a job runs, its elapsed time changes every second.
        if self.is_changed(view, int(self._now) if view.running else 0):
            self.listing.set_items(view.jobs[::-1])
            self.show_session()
            self.show_head()
            self.show_detail()

    def show_keys(self) -> None:
        """Show only the keys for the current jobs."""
        super().show_keys()
        job = self.chosen
        idle = {"job_row", "job_output"} if job is None else set[str]()
        if job is None or not job.is_running:
            idle.add("job_end")
        if not self.context.jobs.running:
            idle.add("jobs_end")
        self.footer.set_keys([hint for hint in self.footer.keys if hint.action not in idle])

    @property
    def _now(self) -> float:
        return self.context.app.clock()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        jobs = self.listing.items
        running = sum(job.is_running for job in jobs)
        self.head.show_title("Background jobs", f"{running} of {len(jobs)} running" if jobs else "")

    def column_names(self, width: int) -> Strip:
        return super().column_names(width) if self.listing.items else self.pen.line(width, [])

    def draw_row(self, item: JobView, width: int, line: Pen) -> Strip:
        job, ellipsis = item, line.looks.symbols.ellipsis
        size = format_bytes(job.size) if job.size else ""
        time = format_elapsed(elapsed_s(job, self._now))
        right = right_columns(COLUMNS, [job.outcome.ljust(18), size, time], width, line.style("t2"))
        left = [*line.first(*_mark(job, line.looks)), (f"{job.job_id:<7}", line.style("t2"))]
        room = max(6, width - cells(left) - cells(right) - 3)
        command, last = reveal_line(job.command), clean_line(job.last_line)
        left.append((fit(command, room, ellipsis), line.style(bold=line.chosen)))
        rest = room - len(command) - 3
        if last and width >= MIN_CELLS_FOR_OUTPUT and rest >= 12:
            left.append((f"   {fit(last, rest, ellipsis)}", line.style("t3")))
        return line.line(width, left, right)

    def draw_detail(self, facts: Facts, job: JobView) -> None:
        _, role = _mark(job, facts.looks)
        if self.detail.size.height < MIN_ROWS_FOR_FACTS:
            facts.text(f"{job.job_id} {job.outcome}", role, bold=True)
        else:
            facts.gap()
            facts.text(str(job.job_id), bold=True)
            facts.gap()
            facts.fact("command", reveal_line(job.command))
            facts.fact("folder", job.cwd)
            facts.fact("state", job.outcome, role)
            facts.fact("why", job.message, "warning")
            facts.fact("time", format_elapsed(elapsed_s(job, self._now)))
            facts.fact("printed", format_bytes(job.size) if job.size else "nothing")
            facts.fact("not saved", format_bytes(job.dropped) if job.dropped else "")
            facts.section("Output")
        self._draw_output(facts, job)

    def _draw_output(self, facts: Facts, job: JobView) -> None:
        room = max(3, self.detail.size.height - len(facts.rows) - 1)
        text = "\n".join(final_lines(job.output)[-room:])
        if not text.strip():
            facts.text("no output yet" if job.is_running else "no output", "t3")
            return
        above = len(facts.rows)
        facts.text(text)
        del facts.rows[above:-room]  # Wrapped lines can take more rows than there are: keep the last ones.

    # -- actions ---------------------------------------------------------------------------------------------------

    def use(self, job: JobView) -> None:
        self.context.worker(self._show_output(job), "job")

    async def _show_output(self, job: JobView) -> None:
        output = job.output
        if not job.is_running:
            stored = job.full_output
            output = stored if isinstance(stored, str) else await self.context.reader.read_text(stored)
        text = "\n".join(final_lines(output or job.output)) or "(nothing)"
        show(
            self.context,
            f"{job.job_id}  {reveal_line(job.command)}",
            lambda facts: facts.text(text),
            plain=text,
        )

    def end_job(self, job: JobView) -> None:
        if job.is_running:
            self.context.submit(StopJob(job_id=job.job_id))
            self.say(f"Stopping {job.job_id} and all its processes.")
        else:
            self.say(f"{job.job_id} has already ended.", "warning")

    def end_all(self) -> None:
        running = [job for job in self.listing.items if job.is_running]
        if not running:
            self.say("No jobs are running.", "warning")
            return
        names = [reveal_line(f"{job.job_id}  {job.command}") for job in running]
        title = f"Stop {format_count(len(running), 'background job')}?"
        question = Confirm(title, names, yes=("confirm_yes", "stop them"), no="keep them running")
        self.app.push_screen(question, lambda yes: self.context.submit(StopJob()) if yes else None)


def elapsed_s(job: JobView, now: float) -> float:
    """Return how long a job has run, in seconds. For an ended job, return the total time."""
    return max(0.0, (job.ended_at or now) - job.started_at)


def final_lines(text: str) -> Sequence[str]:
    """Return the lines of a program's output. In each line, leave out the text before the last carriage return."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return [clean(line.rstrip("\r").rpartition("\r")[2]) for line in lines]


def _mark(job: JobView, looks: Looks) -> tuple[str, Role]:
    state = "done"
    if job.is_running:
        state = "running"
    elif job.state in ("stopped", "session"):
        state = "stopped"
    elif job.state in ("lost", "failed") or job.exit_code:
        state = "failed"
    return state_mark(state, looks.symbols)
