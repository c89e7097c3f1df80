"""One task of sixty iterations in a small window, as a provider sees it: what was said holds over every summary."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, Protocol

import pytest

from tests.e2e.conftest import Program
from tests.stubs.sse_server import Reply, whole
from tests.stubs.strict_history import chat_faults
from tui_agent.folds.context.meter import COMPACT_FRACTION

pytestmark = pytest.mark.e2e

WINDOW = 11_000
RULES = ("answer in German", "never touch src/vendor.py", "run tests with run_tests alone")
TASK = f"Make total() of src/cart.py round to cents. Rules: {'; '.join(RULES)}."
LATER = "One more rule: leave README alone. What did you change?"
OPEN, FAILS, STILL = "[>] Make the test pass", "1 failed", "## Tests that fail"
SUMMARISES, DELEGATE = "You summarise the beginning", "You answer a question about a repository"
NOTES = 60
"""Lines of instructions, which leave less of the window for outputs."""
FAILED_AT, READ_FIRST = 4, 26
"""The step whose test fails, and the files that are read before it is mended."""
PASSED_AT = FAILED_AT + READ_FIRST + 3
CART = "def total(prices):\n    return sum(prices)\n"
TEST = (
    "import unittest\nfrom src.cart import total\n\n\nclass CartTest(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(total([0.1, 0.2]), 0.3)\n"
)

Step = tuple[str, dict[str, Any]]


@dataclass
class Provider:
    """Answers the main conversation step by step, a delegate with what it found, and a summary with its number."""

    steps: list[Step] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    summaries: int = 0

    def of(self, begin: str = "You are tui-agent") -> list[dict[str, Any]]:
        """The requests of one kind of conversation, by how its system prompt begins."""
        return [body for body in self.asked if str(body["messages"][0]["content"]).startswith(begin)]

    def reply(self, body: dict[str, Any]) -> Reply:
        """The answer to a request."""
        self.asked.append(body)
        given = tokens_of(body)
        system = str(body["messages"][0]["content"])
        if system.startswith(SUMMARISES):
            self.summaries += 1
            return Reply(f"- Story {self.summaries}: the sum is a float.", usage=(given, 20, 0))
        if system.startswith(DELEGATE):
            found = {"summary": "Nobody else calls it.", "evidence": [], "confidence": "high"}
            return Reply(json.dumps(found), usage=(given, 20, 0))
        if not self.steps:
            return Reply("Fertig: src/cart.py rundet.", usage=(given, 10, 0))
        name, arguments = self.steps.pop(0)
        if arguments.get("path") == "the artifact":
            arguments = {**arguments, "path": artifact_in(body)}
        call = (f"call_{len(self.asked)}", name, json.dumps(arguments))
        return Reply(f"Nun {name}.", calls=(call,), usage=(given, 20, 0))


def tokens_of(body: dict[str, Any]) -> int:
    """What this provider takes a request for."""
    return len(json.dumps([body["messages"], body.get("tools")])) // 4


def artifact_in(body: dict[str, Any]) -> str:
    """The output that was shown shortened last."""
    said = json.dumps(body["messages"])
    return "artifact:" + said.rpartition("left out: read_file or grep artifact:")[2][:12]


class Replies(Protocol):
    """Who answers requests."""

    def reply(self, body: dict[str, Any]) -> Reply: ...


@contextmanager
def serving(provider: Replies) -> Iterator[str]:
    """The provider on a free port, without streams."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = provider.reply(body)
            said = json.dumps(reply.body or whole("chat", reply)).encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def prepare(program: Program, url: str) -> None:
    """A workspace with a function to mend, much to read, and a model with a small window."""
    source = program.workspace / "src"
    source.mkdir()
    for name in ("__init__", "vendor"):
        (source / f"{name}.py").write_text("")
    (source / "cart.py").write_text(CART)
    (program.workspace / "test_cart.py").write_text(TEST)
    (program.workspace / "AGENTS.md").write_text("A note on the shop, of forty characters.\n" * NOTES)
    for at in range(40):
        lines = [f"def part_{at}_{line}(value):  # of the shop\n    return value" for line in range(45)]
        (source / f"shop{at}.py").write_text("\n".join(lines) + "\n")
    folder = program.home / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'[models.small]\nprovider = "openai-chat"\nmodel = "m"\nbase_url = "{url}"\n'
        f"context_window = {WINDOW}\nmax_output = 1500\nstream = false\n"
    )


def work() -> list[Step]:
    """Sixty and some steps: the test fails over the first summary and passes before the last."""
    todos = [
        {"content": "Make the test pass", "status": "in_progress"},
        {"content": "Tell", "status": "pending"},
    ]
    tests = ("run_tests", {"command": "python -m unittest test_cart"})
    mend = {"old_text": "sum(prices)", "new_text": "round(sum(prices), 2)", "path": "src/cart.py"}
    shops = [("read_file", {"path": f"src/shop{at}.py"}) for at in range(40)]
    return [
        ("write_todos", {"todos": todos}),
        ("repo_map", {"query": "total of a cart"}),
        ("grep", {"pattern": "total", "path": "."}),
        ("read_file", {"path": "src/cart.py"}),
        tests,
        *shops[:READ_FIRST],
        ("delegate_readonly", {"task": "Who calls total()?"}),
        ("edit_file", mend),
        tests,
        ("run_command", {"command": "seq 1 9000"}),
        ("grep", {"path": "the artifact", "pattern": "8765"}),
        *shops[READ_FIRST:],
        *(("grep", {"pattern": f"part_{at}_1", "path": "src"}) for at in range(10)),
        ("list_directory", {}),
    ]


@dataclass
class Played:
    provider: Provider
    events: list[dict[str, Any]]
    """Of the first run."""
    first: int
    """How many requests of the main conversation the first run made."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one["payload"] for one in self.events if one["payload"]["kind"] == kind]

    def packed(self) -> list[dict[str, Any]]:
        """What the log says of the requests of the main conversation."""
        main = [one for one in self.events if one["agent"] == "main"]
        found = [one["payload"] for one in main if one["payload"]["kind"] == "context.packed"]
        return [one for one in found if any(part["name"] == "available_tools" for part in one["sections"])]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("long")
    program = Program(folder / "home", folder / "work")
    program.home.mkdir()
    program.workspace.mkdir()
    provider = Provider(work())
    with serving(provider) as url:
        prepare(program, url)
        done = program.run("run", TASK, "--model", "small", "--policy", "bypass", "--json")
        assert done.returncode == 0, done.stderr
        first = len(provider.of())
        again = program.run_in_process("run", LATER, "--continue", "--model", "small", "--policy", "bypass")
        assert again.returncode == 0, again.stderr
    assert "round(" in (program.workspace / "src" / "cart.py").read_text()
    return Played(provider, [json.loads(line) for line in done.stdout.splitlines()], first)


def said(body: dict[str, Any]) -> str:
    return "\n".join(str(one.get("content") or "") for one in body["messages"])


def test_sixty_iterations_fit_a_small_window_by_summaries(played: Played) -> None:
    assert played.first > 60 and len(played.of("context.compacted")) >= 2
    assert played.provider.summaries == len(played.of("context.compacted"))
    assert played.of("turn.finished")[-1]["reason"] == "finished"
    for body in played.provider.of():
        assert tokens_of(body) + body["max_tokens"] <= WINDOW


def test_every_request_is_one_that_a_provider_takes(played: Played) -> None:
    for body in played.provider.asked:
        assert not list(chat_faults(body["messages"]))


def test_task_rules_tasks_and_failing_tests_are_in_every_request(played: Played) -> None:
    texts = [said(body) for body in played.provider.of()]
    assert all(TASK in text for text in texts)
    assert all(OPEN in text for text in texts[2:])
    assert all(FAILS in text for text in texts[FAILED_AT + 1 : PASSED_AT + 1])
    assert any(STILL in text for text in texts[:PASSED_AT]), "it failed over no summary"
    assert STILL not in texts[-1], "a summary that was made after it passed"
    assert all(LATER in text for text in texts[played.first :])
    assert not any(TASK in said(body) for body in played.provider.of(DELEGATE))


def test_a_request_begins_as_the_one_before_but_where_room_was_made(played: Played) -> None:
    bodies = played.provider.of()
    assert len({json.dumps([one["messages"][0], one["tools"]]) for one in bodies}) == 1
    broken = [not begins(one, other) for one, other in pairwise(bodies)]
    assert sum(broken) == len(played.of("context.compacted")) + len(played.of("context.reduced"))
    cut = [part["name"] for packed in played.packed() for part in packed["sections"] if part["reduced"]]
    assert not cut, "room was made by what is shortened for one request and whole in the next"
    assert not any(broken[played.first - 1 :]), "a later run goes on with the same history"


def test_room_is_made_only_when_it_is_needed_and_a_quarter_of_the_window_at_once(played: Played) -> None:
    reduced, compacted = played.of("context.reduced"), played.of("context.compacted")
    assert len(reduced) > 2 and len(compacted) == 2
    for made in (*reduced, *compacted):
        assert made["before_tokens"] >= COMPACT_FRACTION * WINDOW
        assert made["before_tokens"] - made["after_tokens"] >= WINDOW / 4
    bodies = played.provider.of()
    growth = max(tokens_of(body) - tokens_of(before) for before, body in pairwise(bodies))
    cuts = [at for at, (before, body) in enumerate(pairwise(bodies)) if not begins(before, body)]
    assert min(later - cut for cut, later in pairwise(cuts)) >= WINDOW // 4 // growth, cuts


def begins(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a request begins as another one."""
    before = one["messages"]
    return bool(before == other["messages"][: len(before)])


def test_what_the_meter_counts_is_what_the_provider_counts(played: Played) -> None:
    given = [tokens_of(body) for body in played.provider.of()]
    for packed, tokens in list(zip(played.packed(), given, strict=False))[3:]:
        assert abs(packed["total_tokens"] - tokens) < 0.12 * tokens


def test_what_was_put_away_is_read_again(played: Played) -> None:
    texts = [said(body) for body in played.provider.of()]
    assert any("8765" in text for text in texts)
