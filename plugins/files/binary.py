"""Description of files that are not text."""


def describe_binary(data: bytes) -> str:
    """Name the type of binary content, such as `a zip archive`. The first bytes decide."""
    for magic, words in (
        (b"\x7fELF", "an ELF program"),
        (b"%PDF", "a PDF"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xca\xfe\xba\xbe", "Java or Mach-O code"),
    ):
        if data.startswith(magic):
            return words
    return "binary data"
