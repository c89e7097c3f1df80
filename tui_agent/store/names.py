"""What can be the name of a session."""

import re

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Whether a word can be a session's id, and so the name of its folder."""
    return _ID.fullmatch(name) is not None
