"""L7: Text on standard input, without its secrets on standard output, line for line.

Invariant: every line that comes in goes out as one line, at once; nothing else is printed, but with `--explain` one line
for each secret instead of the text.
"""

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator

from tui_agent.cli.options import GROUPS, session_options
from tui_agent.cli.output import say
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.wiring.ground import ground

EXAMPLES = """\
examples:
  kubectl get secret app -o yaml | tui-agent redact
  tui-agent redact < build.log > shared.log
  tui-agent redact --explain < build.log
"""
LINES_BEFORE, MAX_BEFORE = 4, 500
"""Lines that are read with the one behind them, and characters of each."""
MAX_EXPLAINED = 64 << 20
"""Characters that `--explain` reads."""
_HIDDEN = "[redacted: private key]"
_KEY_BEGINS = re.compile(
    r"(?P<before>(?:\s{0,20}\d{1,6}[:|\t ])?[\s+>|]{0,40}(?:-(?=-----))?(?:[\w.]{1,60}\s?[:=]\s?[\"'|>]{0,2}-?\s{0,4})?)"
    r"(?:-{4,5} ?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\\n]{0,4}|PuTTY-User-Key-File-\d{1,2}: .{0,200})"
)
_KEY_LINE = re.compile(
    r"[\s|>+\d:\"',\\-]{0,40}(?:[A-Za-z0-9+/=]{1,200}|[A-Z][A-Za-z0-9-]{1,30}: .{0,200}|-{4,5} ?END [A-Z0-9 ]{1,50}-{4,5})?[\s\"'\\,;nr+]{0,12}"
)
"""A line within a private key: a piece of Base64, a header, the end."""
_KEY_ENDS = re.compile(r"-----END|^\s*Private-(?:MAC|Hash):")
_MAY_NAME_SECRET = re.compile(
    r"(?i)machine|kind:|secret|token|pass|pwd|key|credential|auth|login|^\[|name:|[:=] *[|>]-?$"
)
_LAST_MARK = re.compile(r"\[redacted: [^\[\]]{1,80}\](?!.*\[redacted: )", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    """Take where the secrets' names come from, and `--explain`."""
    GROUPS["place"](parser)
    parser.add_argument(
        "--explain", action="store_true", help="print line, rule and kind of each secret instead of the text"
    )


def run(arguments: argparse.Namespace) -> int:
    """Filter or explain standard input."""
    redactor = ground(session_options(arguments, client="headless", interactive=False)).redactor
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    if arguments.explain:
        for line in explained_lines(sys.stdin.read(MAX_EXPLAINED), redactor):
            say(line)
        return 0
    for line in redacted_lines(sys.stdin, redactor):
        sys.stdout.write(line)
        sys.stdout.flush()
    return 0


def explained_lines(text: str, redactor: Redactor) -> Iterator[str]:
    """Yield `line N: rule (kind)` for each secret of a text; never the secret. Lines count from 1."""
    raw = text.encode("utf-8", "surrogatepass")
    line, done = 1, 0
    for hit in redactor.hits(raw):
        line += raw.count(b"\n", done, hit.start)
        done = hit.start
        variable = hit.rule == hit.what
        yield f"line {line}: " + (f"value of {hit.rule}" if variable else f"{hit.rule} ({hit.what})")


def redacted_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """Yield the same lines without secrets; each line of a private key is covered.

    A line is read with the few before it, where they may say what it holds.
    """
    in_key = False
    before: deque[str] = deque(maxlen=LINES_BEFORE)
    for line in lines:
        text = line.rstrip("\n")
        end = line[len(text) :]
        if in_key and _KEY_LINE.fullmatch(text):
            in_key = _KEY_ENDS.search(text) is None
            yield _HIDDEN + end
        elif begin := _KEY_BEGINS.fullmatch(text):
            in_key = True
            yield begin["before"] + _HIDDEN + end
        else:
            in_key = False
            yield _redacted(text, before, redactor) + end
        before.append(text[-MAX_BEFORE:])


def _redacted(text: str, before: Iterable[str], redactor: Redactor) -> str:
    alone = redactor.text(text)
    if alone != text or not text.strip() or not any(_MAY_NAME_SECRET.search(line) for line in before):
        return alone
    above = "\n".join(before)
    together = redactor.text(f"{above}\n{text}")
    if together.endswith(f"\n{text}") or (mark := _LAST_MARK.search(together)) is None:
        return alone
    last = together.rpartition("\n")[2]
    if "[redacted: " in last and last[:4] == text[:4]:
        return last
    return text[: len(text) - len(text.lstrip())] + mark.group()
