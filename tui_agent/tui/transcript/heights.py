"""The heights of all transcript entries in a Fenwick tree: updates, sums and searches cost O(log n).

Invariant: `top(i)` is the sum of all heights before `i`.
"""

from collections.abc import Iterable


class Heights:
    """A list of heights in rows, which can grow."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for node in range(1, len(self._tree)):
            parent = node + (node & -node)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[node]
        self.total = sum(self._heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add a height at the end."""
        self._heights.append(height)
        node = len(self._heights)
        # A new node holds the sum of the `node & -node` heights that end with its own: all rows up to it, minus the
        # rows before the first of these.
        self.total += height
        self._tree.append(self.total - self.top(node - (node & -node)))

    def drop(self, count: int) -> None:
        """Remove all but the first `count` heights."""
        del self._heights[count:]
        del self._tree[count + 1 :]
        self.total = self.top(len(self._heights))

    def set(self, index: int, height: int) -> int:
        """Change a height; return the difference between the new and the old height."""
        change = height - self._heights[index]
        if change:
            self._heights[index] = height
            self.total += change
            node = index + 1
            while node < len(self._tree):
                self._tree[node] += change
                node += node & -node
        return change

    def top(self, index: int) -> int:
        """Return the number of rows before entry `index`."""
        rows = 0
        while index > 0:
            rows += self._tree[index]
            index -= index & -index
        return rows

    def index_at(self, y: int) -> int:
        """Return the index of the entry that contains row `y`."""
        index, rest = 0, y
        bit = 1 << (len(self._heights).bit_length())
        while bit:
            follow = index + bit
            if follow < len(self._tree) and self._tree[follow] <= rest:
                index = follow
                rest -= self._tree[follow]
            bit >>= 1
        return min(index, len(self._heights) - 1)
