"""Stands in for a system on which nothing can be watched."""


class InotifyWatch:
    """Cannot be made."""

    def __init__(self, root: str) -> None:
        raise OSError(f"nothing below {root} can be watched here")
