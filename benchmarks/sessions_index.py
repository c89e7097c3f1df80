"""Many sessions: `python -m benchmarks.sessions_index [SESSIONS] [EVENTS_FILE]` prints JSON.

The sessions are generated and have equally many events, including messages, answers, calls and results of usual length.
Times are in seconds; `list` and `search` are the best of five with a warm cache, `rebuild` is one run.
"""

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import TextContent, TextPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
CHANCE = random.Random(7)
WORDS = [
    "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=CHANCE.randint(3, 10))) for _ in range(20_000)
]


def words(count: int) -> str:
    """Return prose of this many words, some of them frequent."""
    return " ".join(WORDS[min(int(CHANCE.paretovariate(0.7)), len(WORDS) - 1)] for _ in range(count))


def events(number: int, count: int) -> Iterator[Payload]:
    """Yield the events of one session."""
    yield SessionStarted(workspace=f"/work/{number % 40}", product="p", settings=SETTINGS)
    yield SessionTitled(title=words(5), titled_by="auto")
    for at in range(2, count):
        call = CallId(f"c{at}")
        match at % 5:
            case 0:
                yield UserMessageReceived(text=words(30))
            case 1:
                yield ToolCalled(
                    call_id=call, name="read", arguments={}, iteration=1, verb="read", target=words(1)
                )
            case 2:
                yield ToolStarted(call_id=call, writes=False)
            case 3:
                content = (TextContent(text=words(120)),)
                yield ToolFinished(call_id=call, name="read", status="ok", part=at, content=content)
            case _:
                yield ModelResponded(
                    request_id=RequestId(f"r{at}"),
                    first_part=at,
                    parts=(TextPart(text=words(80)),),
                    finish="stop",
                    usage=Usage(),
                    cost_usd=None,
                    duration_ms=1.0,
                )


def best(act: Callable[[], object], times: int = 5) -> float:
    """Return the shortest duration of several runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        found.append(time.perf_counter() - start)
    return round(min(found), 4)


def main(sessions: int, count: int) -> dict[str, float]:
    """Generate the sessions, measure, and return the figures."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as root:
        store = SessionStore(Path(root) / "sessions", SystemClock(), Redactor())
        for number in range(sessions):
            log = store.create(f"ses_{number:016}")
            for event in events(number, count):
                log.append(event)
            log.close()
        log = store.create("ses_x")
        log.append(UserMessageReceived(text="needle"))
        log.close()
        figures: dict[str, float] = {"sessions": sessions, "events": sessions * count}
        figures["list_first_s"] = best(store.list, 1)
        figures["list_s"] = best(store.list)
        figures["rebuild_s"] = best(lambda: store.index.rebuild(store.log_states()), 1)
        figures["index_mb"] = round(store.index.path.stat().st_size / 1e6, 1)
        figures["list_after_rebuild_s"] = best(store.list)
        figures["search_rare_s"] = best(lambda: store.index.search(store.log_states(), "needle"))
        figures["search_common_s"] = best(lambda: store.index.search(store.log_states(), WORDS[1]))
        figures["search_two_s"] = best(
            lambda: store.index.search(store.log_states(), f"{WORDS[1]} {WORDS[2]}", "/work/7")
        )
        figures["search_sessions_s"] = best(lambda: store.index.search_sessions(store.log_states(), WORDS[1]))
        figures["search_sessions_letter_s"] = best(
            lambda: store.index.search_sessions(store.log_states(), WORDS[1][0])
        )
        figures["search_prefix_s"] = best(lambda: store.index.search(store.log_states(), WORDS[3][:2]))
        figures["max_rss_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return figures


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    print(json.dumps(main(*(given + [5_000, 60][len(given) :])), indent=2))
