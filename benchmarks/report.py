"""Rows of the printed report: a figure, its ratios to the floor and the neighbour, and whether the goal is met."""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class Row:
    """A figure with its goal: an upper bound for the figure, or for its ratio to `floor`."""

    name: str
    unit: str
    figure: float
    floor: float = math.nan
    neighbour: float = math.nan
    at_most: float | None = None
    at_most_ratio: float | None = None

    @property
    def ratio(self) -> float:
        """The figure divided by the floor."""
        return self.figure / self.floor if self.floor else math.nan

    @property
    def met(self) -> bool | None:
        """True if the goal is met, None without a goal. A goal is not met if the figure could not be measured."""
        if self.at_most is None and self.at_most_ratio is None:
            return None
        fits = self.at_most is None or self.figure <= self.at_most
        return fits and (self.at_most_ratio is None or self.ratio <= self.at_most_ratio)

    @property
    def goal(self) -> str:
        """The goal as text."""
        if self.at_most_ratio is not None:
            return f"≤ {self.at_most_ratio:g} × floor"
        return f"≤ {self.at_most:g} {self.unit}".rstrip() if self.at_most is not None else ""


def number(value: float) -> str:
    """Format a number with three significant digits; a dash for None."""
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_table(rows: list[Row], neighbour: str) -> None:
    """Print the rows as a table."""
    head = ["figure", "unit", "ours", "floor", "× floor", "neighbour", "goal", "met"]
    cells = [
        [
            row.name,
            row.unit,
            number(row.figure),
            number(row.floor),
            number(row.ratio),
            number(row.neighbour),
            row.goal,
            {True: "yes", False: "NO", None: ""}[row.met],
        ]
        for row in rows
    ]
    widths = [max(len(line[at]) for line in [head, *cells]) for at in range(len(head))]
    for line in [head, ["-" * width for width in widths], *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print(
        f"\nfloor: an empty Textual app, a bare interpreter, or the row it names. neighbour: {neighbour or 'none named'}."
    )


def save(rows: list[Row], folder: Path) -> None:
    """Write the figures of this run to a JSON file."""
    folder.mkdir(exist_ok=True)
    path = folder / time.strftime("%Y%m%d-%H%M%S.json")
    kept = [{key: value if value == value else None for key, value in asdict(row).items()} for row in rows]
    path.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"kept in {path}")
