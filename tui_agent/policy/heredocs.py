"""L3: here-documents, where the grammar knows less of them than bash does.

Invariant: pure text; an end that is not plain letters, quoted as a whole or not at all, is not certain.
"""


def plain_end(start: str) -> bool:
    """Whether the word behind `<<` ends the text where the grammar says that it does."""
    bare = start[1:-1] if start[:1] in ("'", '"') and start[-1:] == start[:1] else start.removeprefix("\\")
    return bare.isascii() and bare.replace("_", "a").replace("-", "a").replace(".", "a").isalnum()


def expands(start: str) -> bool:
    """Whether bash expands the text: not where any part of the word behind `<<` is quoted."""
    return not any(char in start for char in "'\"\\")


def backquoted(text: str) -> list[str]:
    """The scripts between backquotes of a text that bash expands; the last may lack its end."""
    pieces = [""]
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            following = text[at + 1]
            inside = len(pieces) % 2 == 0
            pieces[-1] += following if inside and following in "`$\\" else char + following
            at += 2
            continue
        if char == "`":
            pieces.append("")
        else:
            pieces[-1] += char
        at += 1
    return pieces[1::2]
