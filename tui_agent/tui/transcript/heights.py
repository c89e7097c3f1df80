"""The heights of all entries, with sums and searches in logarithmic work (a Fenwick tree).

Invariant: `top(i)` is the sum of the heights before `i`, whatever was set or appended in whatever order.
"""

from collections.abc import Iterable


class Heights:
    """A growing list of heights. Appending and setting one cost O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for at in range(1, len(self._tree)):
            up = at + (at & -at)
            if up < len(self._tree):
                self._tree[up] += self._tree[at]
        self.total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add one at the end."""
        self._heights.append(height)
        at = len(self._heights)
        # A new node covers the `at & -at` heights up to its own: sum the nodes below it.
        node, below, floor = height, at - 1, at - (at & -at)
        while below > floor:
            node += self._tree[below]
            below -= below & -below
        self._tree.append(node)
        self.total += height

    def drop(self, count: int) -> None:
        """Forget all but the first `count`."""
        del self._heights[count:]
        del self._tree[count + 1 :]
        self.total = self.top(len(self._heights))

    def set(self, index: int, height: int) -> int:
        """Change one; the difference to before."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            self.total += change
            at = index + 1
            while at < len(self._tree):
                self._tree[at] += change
                at += at & -at
        return change

    def top(self, index: int) -> int:
        """Rows before this one."""
        rows = 0
        while index > 0:
            rows += self._tree[index]
            index -= index & -index
        return rows

    def at(self, y: int) -> int:
        """The index of the entry that holds row `y`: the last one that begins at or above it and is not empty."""
        index, rest = 0, y
        bit = 1 << (len(self._heights).bit_length())
        while bit:
            follow = index + bit
            if follow < len(self._tree) and self._tree[follow] <= rest:
                index = follow
                rest -= self._tree[follow]
            bit >>= 1
        return min(index, len(self._heights) - 1)
