"""A session with background jobs in every state."""

from functools import partial

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import golden
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.job import JobFinished, JobProgress, JobStarted
from tui_agent.protocol.ids import CallId, JobId

CALL = CallId("call_1")
SERVER = "npm run dev -- --port 5173"


def story() -> FakeSession:
    """Golden talk, then jobs: one that ended well, one that failed, one that was ended, two that run."""
    session = FakeSession(list[Record](golden("night_shift")))
    feed = partial(session.feed, after=3.0)
    begun = ("uv run pytest -q", "make serve", "python -m http.server", SERVER, "cargo watch -x check")
    for number, command in enumerate(begun, 1):
        feed(JobStarted(job_id=JobId(f"job-{number}"), command=command, call_id=CALL))
    feed(JobProgress(job_id=JobId("job-1"), text="....\n4 passed in 0.1s\n", size=22))
    feed(JobFinished(job_id=JobId("job-1"), end="exited", exit_code=0, size=22, duration_ms=900))
    feed(JobProgress(job_id=JobId("job-2"), text="make: *** no rule to make target 'serve'\n", size=41))
    feed(JobFinished(job_id=JobId("job-2"), end="exited", exit_code=2, size=41, duration_ms=200))
    feed(JobFinished(job_id=JobId("job-3"), end="stopped", stopped_by="user", duration_ms=5_000))
    ready = "\x1b[32m  VITE v5.4.0\x1b[0m  ready in 312 ms\n\n  ➜  Local:   http://localhost:5173/\n"
    feed(JobProgress(job_id=JobId("job-4"), text=ready, size=2_400_000))
    feed(JobProgress(job_id=JobId("job-5"), text="10%\r50%\r100% checked\n[Finished]\n", size=31))
    return session
