"""Program that matches a regular expression against texts from standard input and prints line numbers.

Invariant: the program opens no files, and its CPU time is limited even if nobody stops it.
"""

import json
import re
import resource
import struct
import sys

LENGTH = struct.Struct(">I")
PROCESSOR_SECONDS = 60
MAX_LINE = 20_000


def main() -> None:
    """Read texts until standard input ends, and print a JSON list of matching line numbers for each."""
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    query = json.loads(sys.argv[1])
    expression = re.compile(query["pattern"], re.IGNORECASE if query["ignore_case"] else 0)
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = source.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return
        text = source.read(LENGTH.unpack(head)[0]).decode("utf-8", "replace")
        answers.write(json.dumps(matching_lines(expression, text, query["limit"])).encode() + b"\n")
        answers.flush()


def matching_lines(expression: "re.Pattern[str]", text: str, limit: int) -> list[int]:
    """Return the numbers of the matching lines, at most `limit`."""
    numbers: list[int] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if expression.search(line.removesuffix("\r")[:MAX_LINE]):
            numbers.append(number)
            if len(numbers) == limit:
                break
    return numbers


if __name__ == "__main__":
    main()
