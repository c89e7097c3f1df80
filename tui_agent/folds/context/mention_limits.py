"""Limits of the texts that mentions such as `@src/app.py` add to a message."""

from typing import Final

MAX_CHARS: Final = 50_000
"""Maximum length of the text of one mention, in characters."""
MAX_ENTRIES: Final = 200
"""Maximum number of names that the mention of a folder lists."""
MAX_ALL_CHARS: Final = 160_000
"""Maximum length of the texts of all mentions of a message, in characters."""
