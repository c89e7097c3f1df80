"""L7: Text on standard input, without its secrets on standard output, line for line.

Invariant: every line that comes in goes out as one line, at once; nothing else is printed.
"""

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator

from tui_agent.cli.options import GROUPS, session_options
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.wiring.ground import ground

EXAMPLES = """\
examples:
  kubectl get secret app -o yaml | tui-agent redact
  tui-agent redact < build.log > shared.log
"""
LINES_BEFORE, LONGEST_BEFORE = 4, 500
"""Lines that are read with the one behind them, and characters of each."""
_END = "-----END"
_HIDDEN = "[redacted: private key]"
_KEY_BEGINS = re.compile(
    r"(?P<before>(?:\s{0,20}\d{1,6}[:|\t ])?[\s+>|]{0,40}(?:-(?=-----))?(?:[\w.]{1,60}\s?[:=]\s?[\"'|>]{0,2}-?\s{0,4})?)"
    r"-{4,5} ?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\\n]{0,4}"
)
_KEY_LINE = re.compile(
    r"[\s|>+\d:\"',\\-]{0,40}(?:[A-Za-z0-9+/=]{1,200}|[A-Z][A-Za-z-]{1,30}: .{0,200}|-{4,5} ?END [A-Z0-9 ]{1,50}-{4,5})?[\s\"'\\,;nr+]{0,12}"
)
"""What may stand in a private key: pieces of Base64, its headers, its end."""
_TELLS = re.compile(
    r"(?i)machine|kind:|secret|token|pass|pwd|key|credential|auth|login|^\[|name:|[:=] *[|>]-?$"
)
_LAST_MARK = re.compile(r"\[redacted: [^\[\]]{1,80}\](?!.*\[redacted: )", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    """Only where the secrets' names come from."""
    GROUPS["place"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Filter standard input."""
    redactor = ground(session_options(arguments, client="headless", interactive=False)).redactor
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    for line in redacted_lines(sys.stdin, redactor):
        sys.stdout.write(line)
        sys.stdout.flush()
    return 0


def redacted_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """The same lines without secrets; of a private key every line is one. A line is read with the few before it, where
    they tell what it holds."""
    within = False
    before: deque[str] = deque(maxlen=LINES_BEFORE)
    for line in lines:
        text = line.rstrip("\n")
        end = line[len(text) :]
        if within and _KEY_LINE.fullmatch(text):
            within = _END not in text
            yield _HIDDEN + end
        elif begun := _KEY_BEGINS.fullmatch(text):
            within = True
            yield begun["before"] + _HIDDEN + end
        else:
            within = False
            yield _redacted(text, before, redactor) + end
        before.append(text[-LONGEST_BEFORE:])


def _redacted(text: str, before: Iterable[str], redactor: Redactor) -> str:
    told = [line for line in before if _TELLS.search(line)]
    alone = redactor.text(text)
    if not told or alone != text or not text.strip():
        return alone
    above = "\n".join(before)
    together = redactor.text(f"{above}\n{text}")
    if together.endswith(f"\n{text}") or (mark := _LAST_MARK.search(together)) is None:
        return alone
    last = together.rpartition("\n")[2]
    if "[redacted: " in last and last[:4] == text[:4]:
        return last
    return text[: len(text) - len(text.lstrip())] + mark.group()
