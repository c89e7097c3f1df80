"""Shares room out: what needs little has all of it, the rest shares what is left.

Invariant: pure. Nobody gets more than it needs, and all together no more than there is.
"""

from collections.abc import Sequence


def shared(needs: Sequence[int], room: int) -> list[int]:
    """The room of each: what it needs where that is no more than an even share; the longer ones share what is left."""
    rooms, room = [0] * len(needs), max(0, room)
    by_need = sorted(range(len(needs)), key=needs.__getitem__)
    for done, at in enumerate(by_need):
        rooms[at] = min(needs[at], room // (len(needs) - done))
        room -= rooms[at]
    return rooms
