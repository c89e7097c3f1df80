"""Copy standard input to standard output with secrets removed, line by line.

Invariant: each input line becomes one output line. With `--explain`, the output is one line per secret.
"""

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from tui_agent.cli.console.output import say
from tui_agent.cli.console.shared_options import GROUPS, add_flag, load_context
from tui_agent.store.redaction.redactor import Hit, Redactor, clip_hits, merge_hits, replace_hits

EXAMPLES = """\
examples:
  kubectl get secret app -o yaml | tui-agent redact
  tui-agent redact < build.log > shared.log
  tui-agent redact --explain < build.log
"""
LINES_BEFORE, MAX_BEFORE = 4, 500
"""Number of earlier lines that are searched together with a line, and maximum characters of each earlier line."""
MAX_CONTINUED = 1_000
"""Maximum number of lines that are joined by backslashes and processed together."""
_KEY_BEGINS = re.compile(
    r"(?P<before>(?:\s{0,20}\d{1,6}[:|\t ])?[\s+>|]{0,40}(?:-(?=-----))?(?:[\w.]{1,60}\s?[:=]\s?[\"'|>]{0,2}-?\s{0,4})?)"
    r"(?:-{4,5} ?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\\n]{0,4}|PuTTY-User-Key-File-\d{1,2}: .{0,200})"
)
_KEY_LINE = re.compile(
    r"[\s|>+\d:\"',\\-]{0,40}(?:[A-Za-z0-9+/=]{1,200}|[A-Z][A-Za-z0-9-]{1,30}: .{0,200}|-{4,5} ?END [A-Z0-9 ]{1,50}-{4,5})?[\s\"'\\,;nr+]{0,12}"
)
"""Pattern for a line of a private key after the first line."""
_KEY_GOES_ON = "private-key-line"
"""Rule name for the later lines of a private key. `--explain` lists only the first line of a key."""
_KEY_ENDS = re.compile(r"-----END|^\s*Private-(?:MAC|Hash):")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add `--explain` and the folder options; the folder's `.env` can contain secrets to redact."""
    GROUPS["folders"](parser)
    add_flag(parser, "--explain", "list the secrets (line, rule, kind) instead of printing the text")


def run(arguments: argparse.Namespace) -> None:
    """Print standard input without its secrets, or with `--explain` a list of the secrets."""
    redactor = load_context(arguments).redactor
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    if arguments.explain:
        for line in explained_lines(sys.stdin, redactor):
            say(line)
        return
    for line in redacted_lines(sys.stdin, redactor):
        sys.stdout.write(line)
        sys.stdout.flush()


def explained_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """Yield `line N: rule (kind)` for each secret in the lines, with N from 1.

    For the secret value of a variable, yield `line N: value of NAME`.
    """
    for number, (_, hits) in enumerate(_judged_lines(lines, redactor), 1):
        for hit in (hit for hit in hits if hit.rule != _KEY_GOES_ON):
            variable = hit.rule == hit.what
            yield f"line {number}: " + (f"value of {hit.rule}" if variable else f"{hit.rule} ({hit.what})")


def redacted_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[str]:
    """Yield the lines with their secrets replaced, including every line of a private key."""
    for line, hits in _judged_lines(lines, redactor):
        yield replace_hits(_encode(line), hits).decode("utf-8", "surrogatepass")


def _judged_lines(lines: Iterable[str], redactor: Redactor) -> Iterator[tuple[str, list[Hit]]]:
    """Yield each line with the byte ranges of its secrets."""
    in_key = False
    before: deque[str] = deque(maxlen=LINES_BEFORE)
    for block in _group_continued_lines(lines):
        texts = [line.rstrip("\n") for line in block]
        for line, text, hits in zip(block, texts, _hits_by_line(texts, before, redactor), strict=True):
            begin = _KEY_BEGINS.fullmatch(text)
            if begin or (in_key and _KEY_LINE.fullmatch(text)):
                in_key = begin is not None or _KEY_ENDS.search(text) is None
                rule, start = ("private-key", len(begin["before"])) if begin else (_KEY_GOES_ON, 0)
                yield line, [Hit(start, len(_encode(text)), rule, "private key")]
            else:
                in_key = False
                yield line, hits
        before.extend(text[-MAX_BEFORE:] for text in texts)


def _group_continued_lines(lines: Iterable[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == MAX_CONTINUED or not line.rstrip("\r\n").endswith("\\"):
            yield block
            block = []
    if block:
        yield block


def _hits_by_line(texts: Sequence[str], before: Iterable[str], redactor: Redactor) -> Iterator[list[Hit]]:
    """Yield the secrets of each of the `texts`.

    `before`: preceding lines, which can help to recognise a secret.
    """
    raw, context = _encode("\n".join(texts)), _encode("".join(f"{text}\n" for text in before))
    hits = redactor.hits(raw)
    if context and raw.strip() and redactor.suspects(context + raw):
        hits = merge_hits([*hits, *clip_hits(redactor.hits(context + raw), len(context), len(context + raw))])
    end = -1
    for text in texts:
        start, end = end + 1, end + 1 + len(_encode(text))
        yield clip_hits(hits, start, end)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
