"""The background jobs of the open session: what runs, for how long, what it printed, and the way to end it.

Invariant: the list is the fold's; what a job printed is shown as it comes, its end always in sight.
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.strip import Strip

from tui_agent.folds.session.jobs import JobView
from tui_agent.protocol.commands import StopJob
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.viewer import Viewer, show
from tui_agent.tui.screens.page import Facts, Page
from tui_agent.tui.text import clean, clean_line, fit, named
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.listing import ListRow
from tui_agent.tui.widgets.rows import Part, cells, part, row, wrap
from tui_agent.units import format_bytes, format_elapsed

FOLLOW_S = 0.25
SIZE_FROM, STATE_FROM, LINE_FROM = 40, 56, 64
"""Cells of the list from which on it has these columns."""
FACTS_FROM = 14
"""Rows of the detail from which on there is room for more than the output."""
NOTHING: Final = "No background job yet. The agent starts one where a command is to go on: a server, a watcher, a long build."


class JobsScreen(Page):
    """The list; its keys are in the registry, scope `jobs`."""

    scope: ClassVar[Scope] = "jobs"
    use_action = "job_output"
    key_methods = {
        "job_row": "move",
        "job_output": "enter",
        "job_end": "end_chosen",
        "jobs_end": "end_all",
        "jobs_leave": "close_detail_or_leave",
    }

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.shown: tuple[JobView, ...] = ()
        self._stand: object = None

    def on_mount(self) -> None:
        self.head.columns = lambda width: _columns(width, self.looks_of(), empty=not self.shown)
        self.follow()
        self.set_interval(FOLLOW_S, self.follow)

    def follow(self) -> None:
        """Take in what the jobs have done."""
        view = self.context.jobs
        stand = (view, int(self._now) if view.running else 0, len(self._empty()))
        if stand == self._stand:
            return
        held, self._stand = self.chosen, stand
        self.shown = tuple(reversed(view.jobs))
        same = (at for at, job in enumerate(self.shown) if held is not None and job.job_id == held.job_id)
        self.listing.set_count(len(self.shown) or len(self._empty()), next(same, 0))
        self.header.set_views(self.context.state, self.context.views.meter.view())
        self.show_head()
        self.show_detail()

    def show_keys(self) -> None:
        """Only keys that do something: without a job there is nothing to end or to read."""
        super().show_keys()
        job = self.chosen
        idle = {"job_row", "job_output"} if job is None else set[str]()
        idle |= set() if job is not None and job.is_running else {"job_end"}
        idle |= set() if any(one.is_running for one in self.shown) else {"jobs_end"}
        self.footer.set_keys([hint for hint in self.footer.keys if hint.action not in idle])

    @property
    def chosen(self) -> JobView | None:
        """The job under the cursor."""
        return self.shown[self.listing.at] if self.listing.at < len(self.shown) else None

    @property
    def _now(self) -> float:
        return self.context.app.clock()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_detail(self) -> None:
        """With the keys, which depend on the chosen job."""
        super().show_detail()
        self.show_keys()

    def show_head(self) -> None:
        running = sum(job.is_running for job in self.shown)
        self.head.title = [("Background jobs", self.style(bold=True))]
        said = f"{running} running, {len(self.shown)} in all" if self.shown else ""
        self.head.right = [part(said, self.style("t2"))]
        self.head.show()

    def _empty(self) -> list[str]:
        """What stands in place of the list, where there is no job."""
        room = self.app.size.width - (0 if self.narrow else self.detail_width) - 8
        return [] if self.context.jobs.jobs else wrap(NOTHING, max(10, room))

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        if not self.shown:
            said = self._empty()[at : at + 1]
            left = [(" " * 4, self.style()), *((one, self.style("t3")) for one in said)]
            return row(width, left, fill=self.style())
        return _row(self.shown[at], width, self.looks_of(), self._now, chosen=chosen)

    def detail_rows(self, width: int) -> list[Strip]:
        facts = Facts(self.looks_of(), width)
        facts.gap()
        job = self.chosen
        if job is None:
            return facts.rows
        if self.detail.size.height < FACTS_FROM:
            facts.rows.clear()
            facts.text(f"{job.job_id} {job.outcome}", _role(job), bold=True)
            self._output(facts, job)
            return facts.rows
        facts.text(str(job.job_id), bold=True)
        facts.gap()
        facts.fact("command", named(job.command))
        facts.fact("folder", job.cwd)
        facts.fact("state", job.outcome, _role(job))
        facts.fact("why", job.message, "warning")
        facts.fact("time", format_elapsed(lasted(job, self._now)))
        facts.fact("printed", format_bytes(job.size) if job.size else "nothing")
        facts.fact("not kept", format_bytes(job.dropped) if job.dropped else "")
        facts.heading("Output")
        self._output(facts, job)
        return facts.rows

    def _output(self, facts: Facts, job: JobView) -> None:
        """The newest rows, as many as there is room for."""
        room = max(3, self.detail.size.height - len(facts.rows) - 1)
        text = "\n".join(last_states(job.output)[-room:])
        if not text.strip():
            facts.text("nothing was printed yet" if job.is_running else "nothing was printed", "t3")
            return
        output = Facts(self.looks_of(), facts.width)
        output.text(text)
        facts.rows += output.rows[-room:]

    # -- what can be done ------------------------------------------------------------------------------------------

    def enter(self) -> None:
        if self.chosen is not None:
            super().enter()

    def use(self) -> None:
        job = self.chosen
        if job is not None:
            self.context.worker(self._whole(job), "job")

    async def _whole(self, job: JobView) -> None:
        whole = job.output if job.is_running else await self._kept(job)
        title = f"{job.job_id}  {named(job.command)}"
        text = "\n".join(last_states(whole)) or "(nothing)"

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            return viewer.say(width, text, "t1")

        show(self.context, title, draw, plain=text)

    async def _kept(self, job: JobView) -> str:
        if isinstance(job.full_output, str):
            return job.full_output or job.output
        return await self.context.reader.read_text(job.full_output)

    def end_chosen(self) -> None:
        """End the job under the cursor."""
        job = self.chosen
        if job is not None and job.is_running:
            self.context.submit(StopJob(job_id=job.job_id))
            self.say(f"{job.job_id} is being ended, with all that it started.")
        elif job is not None:
            self.say(f"{job.job_id} does not run any more.", "warning")

    def end_all(self) -> None:
        """End all jobs, after a question."""
        running = [job for job in self.shown if job.is_running]
        if not running:
            self.say("No job runs.", "warning")
            return
        said = [named(f"{job.job_id}  {job.command}") for job in running]
        title = f"End {format_count(len(running), 'background job')}?"
        question = Confirm(self.looks_of, title, said, yes=("confirm_yes", "end them"), no="let them run")
        self.app.push_screen(question, lambda yes: self.context.submit(StopJob()) if yes else None)


def lasted(job: JobView, now: float) -> float:
    """Seconds that a job has run so far, or ran."""
    return max(0.0, (job.ended_at or now) - job.started_at)


def last_states(text: str) -> Sequence[str]:
    """Lines, of one that was written over the last state."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return [clean(line.rstrip("\r").rpartition("\r")[2]) for line in lines]


def _role(job: JobView) -> Role:
    if job.is_running:
        return "accent"
    if job.state in ("stopped", "session"):
        return "warning"
    failed = job.state in ("lost", "failed") or bool(job.exit_code)
    return "error" if failed else "success"


def _symbol(job: JobView, looks: Looks) -> str:
    symbols = looks.symbols
    if job.is_running:
        return symbols.running
    if job.state in ("lost", "failed") or (job.state == "exited" and job.exit_code):
        return symbols.failed
    return symbols.done if job.state == "exited" else symbols.stopped


def _measures(width: int, state: str, size: str, time: str) -> str:
    """The columns at the right, as many as a list of this width has."""
    found = f" {state:<18}" if width >= STATE_FROM else ""
    found += size.rjust(9) if width >= SIZE_FROM else ""
    return found + time.rjust(9)


def _columns(width: int, looks: Looks, *, empty: bool) -> Strip:
    quiet = looks.palette.rich("t3", "s0")
    if empty:
        return row(width, [], fill=quiet)
    return row(
        width, [("    job", quiet)], [(_measures(width, "state", "output", "time"), quiet)], fill=quiet
    )


def _row(job: JobView, width: int, looks: Looks, now: float, *, chosen: bool) -> Strip:
    line, ellipsis = ListRow(looks, chosen), looks.symbols.ellipsis
    size = format_bytes(job.size) if job.size else ""
    time = format_elapsed(lasted(job, now))
    right: list[Part] = [(_measures(width, job.outcome, size, time), line.style("t2"))]
    left = [*line.first(_symbol(job, looks), _role(job)), (f"{job.job_id:<7}", line.style("t2"))]
    room = max(6, width - cells(left) - cells(right) - 3)
    command, last = named(job.command), clean_line(job.last_line)
    left.append((fit(command, room, ellipsis), line.style(bold=chosen)))
    rest = room - len(command) - 3
    if last and width >= LINE_FROM and rest >= 12:
        left.append((f"   {fit(last, rest, ellipsis)}", line.style("t3")))
    return line.line(width, left, right)
