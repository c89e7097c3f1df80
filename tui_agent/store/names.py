"""Validity of session ids."""

import re

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def is_session_id(name: str) -> bool:
    """Return True if a word is a valid session id, and so a valid name of a session's folder."""
    return _ID.fullmatch(name) is not None
