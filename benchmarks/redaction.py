"""Cost of redaction: `python -m benchmarks.redaction` prints JSON.

Milliseconds of CPU time for a megabyte of log lines, of tui-agent's own code (also as a file's content), of lines that
each contain a secret, of one long line of several kinds, and of texts in which a pattern starts again and again; the time
for a line with secrets of many kinds at its end, divided by the time for the line alone; microseconds for a short text with
and without the name of a secret; milliseconds for the first text of a process.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tui_agent.store.redaction.redactor import Redactor

SIZE = 1_000_000
RUNS = 5
LONG_LINES = {
    "words": "the quick brown fox jumps over the lazy dog; ",
    "minified": "e.token=t;if(n.key!==r.key&&e.password)return a(b,{auth:c,secret:d});var login=function(u){send(u)};",
    "records": '{"id": 12, "key": "name", "value": "the quick brown fox"},',
    "options": "--a-b --key x --token y -p z ",
    "addresses": "https://host.example/a?key=v&code=1 ",
}
HOSTILE = {
    "passwords": "password: ",
    "keys": 'key="',
    "blocks": "-----BEGIN PRIVATE KEY-----A\n",
    "tokens": "|token|",
}
PLACES = Path(__file__).resolve().parents[1] / "tests/fixtures/secrets/places.txt"
FIRST = (
    "import time; begun = time.process_time()\n"
    "from tui_agent.store.redaction.redactor import Redactor\n"
    "Redactor().redact_text('the first text with a token')\n"
    "print((time.process_time() - begun) * 1e3)"
)


def main() -> dict[str, float]:
    """Return the figures by name."""
    code = own_code()
    texts = {"log": log_lines(), "code": code, "secrets": secret_lines()}
    texts |= {f"line_of_{name}": repeated(piece) for name, piece in LONG_LINES.items()}
    texts |= {f"hostile_{name}": repeated(piece, 40_000) for name, piece in HOSTILE.items()}
    redactor = Redactor()
    figures = {f"{name}_ms_per_mb": best(redactor, text) for name, text in texts.items()}
    content = code.encode()
    content_s = min(timed(lambda: redactor.redact_content(content)) for _ in range(RUNS))
    figures["content_ms_per_mb"] = round(content_s * SIZE / len(content) * 1e3, 1)
    plain = repeated(LONG_LINES["minified"])
    many = f"{plain}\n{many_kinds()}"
    figures["many_kinds_ratio"] = round(best(redactor, many) / best(redactor, plain), 2)
    for name, words in (("plain", "Let me look at file {}"), ("named", "the token of {} is used, auth: ok")):
        redactor.redact_text(words)
        begun = time.process_time()
        for number in range(5_000):
            redactor.redact_text(words.format(number))
        figures[f"short_{name}_us"] = round((time.process_time() - begun) / 5_000 * 1e6, 1)
    figures["first_text_ms"] = round(float(subprocess.check_output([sys.executable, "-c", FIRST])), 1)
    return figures


def best(redactor: Redactor, text: str) -> float:
    """Return the milliseconds of the fastest of several runs, per million bytes."""
    return round(
        min(timed(lambda: redactor.redact_text(text)) for _ in range(RUNS)) * SIZE / len(text) * 1e3, 1
    )


def timed(act: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    begun = time.process_time()
    act()
    return time.process_time() - begun


def log_lines() -> str:
    """Return a megabyte of lines as servers, test runners and package managers print them."""
    source = random.Random(1)
    shapes = (
        "2026-11-0{day}T10:{minute:02}:00Z [info] request id={key:x} path=/api/v1/users/{number} status=200",
        '  File "/srv/app/src/module_{day}.py", line {number}, in handle_token_refresh',
        "DEBUG cache key=user:{number}:profile hit ttl=300 session expires in 20m",
        "npm warn deprecated package-{day}@1.2.{minute}: see https://example.org/p/{number}",
        "tests/unit/test_{minute}.py::test_password_is_hashed PASSED [{minute}%]",
    )
    lines = [
        source.choice(shapes).format(
            day=number % 9 + 1, minute=number % 60, number=number, key=source.getrandbits(64)
        )
        for number in range(SIZE // 60)
    ]
    return "\n".join(lines)[:SIZE]


def own_code() -> str:
    """Return a megabyte of tui-agent's code."""
    paths = sorted(Path(__file__).resolve().parents[1].glob("tui_agent/**/*.py"))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)[:SIZE]


def secret_lines() -> str:
    """Return a megabyte of lines that each contain a password."""
    shapes = ("DB_PASSWORD=Xy7kL9pQ{}", "curl -u ada:Xy7kL9pQ{} https://h/", '"token": "Xy7kL9pQ2w8Zq{}"')
    return "\n".join(shapes[number % 3].format(number) for number in range(SIZE // 30))[:SIZE]


def repeated(piece: str, size: int = SIZE) -> str:
    """Return a text of that many bytes that is one piece again and again."""
    return piece * (size // len(piece))


def many_kinds() -> str:
    """Return 120 lines with a password each, in as many places."""
    lines = [line for line in PLACES.read_text(encoding="utf-8").splitlines() if "\\n" not in line]
    return "\n".join(line.replace("@@", "Tr0ub4dor&3x") for line in lines[:120])


if __name__ == "__main__":
    print(json.dumps(main()))
