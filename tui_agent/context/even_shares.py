"""Division of room: small needs are met in full, larger ones share the rest evenly.

Invariant: pure. No share exceeds its need, and the shares together do not exceed the room.
"""

from collections.abc import Sequence


def shared(needs: Sequence[int], room: int) -> list[int]:
    """Return the share of each need: the need itself if it is at most an even share, else an even part of the rest."""
    rooms, room = [0] * len(needs), max(0, room)
    by_need = sorted(range(len(needs)), key=needs.__getitem__)
    for done, index in enumerate(by_need):
        rooms[index] = min(needs[index], room // (len(needs) - done))
        room -= rooms[index]
    return rooms
