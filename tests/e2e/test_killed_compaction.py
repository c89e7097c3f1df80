"""The program killed in the middle of the call that summarises: the session goes on with all that was said."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.stubs.strict_history import faults_in
from tui_agent.context.compaction.summary_text import TITLE
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import current_branch, fold
from tui_agent.store.log_reader import read_records

pytestmark = pytest.mark.e2e

SESSION = "ses_summed"
TASK = "Port the parser to the new grammar; never touch vendor/."
CONFIG = """
[context]
reduce_at = 0

[models.small]
provider = "openai-chat"
model = "small"
base_url = "{url}"
context_window = 24000
max_output = 1000
"""


class Provider(ThreadingHTTPServer):
    """Asks for one file after the other; `summary` says what becomes of a request to summarise."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.summary = "stall"
        self.reads = 10
        self.asked: list[dict[str, Any]] = []
        self.summing = threading.Event()
        self.gone = threading.Event()


class _Answer(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *words: object) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if "tools" not in body and self.server.summary != "tell":
            if self.server.summary == "half":
                self._say({"content": "The lexer is po"})
            self.server.summing.set()
            self.server.gone.wait(60)
            return
        if "tools" not in body:
            self._say({"content": "The lexer is ported."}, "stop")
        elif self.server.reads:
            self.server.reads -= 1
            call = {"name": "read_file", "arguments": json.dumps({"path": f"part{self.server.reads}.txt"})}
            piece = {"index": 0, "id": f"call_{self.server.reads}", "type": "function", "function": call}
            self._say({"content": "Next.", "tool_calls": [piece]}, "tool_calls")
        else:
            self._say({"content": "All done."}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _say(self, delta: dict[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.wfile.write(f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode())
        self.wfile.flush()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield served
        served.gone.set()
        served.shutdown()
        thread.join()


@pytest.mark.parametrize("moment", ["stall", "half"])
def test_a_summary_cut_by_a_kill_is_made_by_the_next_run(
    program: Program, provider: Provider, moment: str
) -> None:
    provider.summary = moment
    config = program.home / ".config" / "tui-agent"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG.format(url=provider.url))
    for number in range(provider.reads):
        text = "".join(f"part {number} line {line}\n" for line in range(600))
        (program.workspace / f"part{number}.txt").write_text(text)
    words = ("--session", SESSION, "--json", "--model", "small", "--policy", "bypass")
    running = program.start("run", TASK, *words)
    assert provider.summing.wait(60), running.communicate(timeout=5)
    running.kill()
    running.communicate()
    before = len(provider.asked)
    assert provider.reads  # it was by the limit, in the midst of the work

    provider.summary = "tell"
    done = program.run_in_process("run", "Go on.", *words)
    assert done.returncode == 0, done.stderr
    records = read_records(program.data / "sessions" / SESSION)
    kinds = [one.payload.kind for one in records if hasattr(one, "payload")]
    assert kinds.count("context.compacted") >= 1 and kinds.count("run.resumed") == 1
    assert kinds.count("model.requested") == kinds.count("model.responded") + kinds.count("model.failed")
    resumed = kinds.index("run.resumed")
    assert kinds.index("context.compacted") > resumed and kinds.count("model.failed") == 1
    first = next(body for body in provider.asked[before:] if "tools" in body)
    assert TASK in json.dumps(first["messages"]) and TITLE in json.dumps(first["messages"])
    for body in provider.asked:
        said = [one["role"] for one in body["messages"]]
        assert said[-1] in ("user", "tool") and ("tools" not in body or TASK in json.dumps(body["messages"]))
    history = fold(ModelMessages(), current_branch(records))
    assert not faults_in(history) and "All done." in str(history[-1])
    assert program.run_in_process("sessions", "verify", SESSION).returncode == 0
