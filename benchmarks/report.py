"""One figure is one row: what it is, what it is beside the floor and the neighbour, and whether the goal is met."""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class Row:
    """A figure. Goals are upper bounds: of the figure itself, or of its ratio to `floor`."""

    name: str
    unit: str
    figure: float
    floor: float = math.nan
    neighbour: float = math.nan
    at_most: float | None = None
    at_most_ratio: float | None = None

    @property
    def ratio(self) -> float:
        """The figure in multiples of the floor."""
        return self.figure / self.floor if self.floor else math.nan

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal. What could not be measured is not met."""
        if self.at_most is None and self.at_most_ratio is None:
            return None
        fits = self.at_most is None or self.figure <= self.at_most
        return fits and (self.at_most_ratio is None or self.ratio <= self.at_most_ratio)

    @property
    def goal(self) -> str:
        """The goal in words."""
        if self.at_most_ratio is not None:
            return f"≤ {self.at_most_ratio:g} × floor"
        return f"≤ {self.at_most:g} {self.unit}".rstrip() if self.at_most is not None else ""


def number(value: float) -> str:
    """Three digits that matter; a dash for what is not known."""
    if math.isnan(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_table(rows: list[Row], neighbour: str) -> None:
    """The table for a person."""
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
    """Keep the figures of this run as JSON."""
    folder.mkdir(exist_ok=True)
    path = folder / time.strftime("%Y%m%d-%H%M%S.json")
    kept = [{key: value if value == value else None for key, value in asdict(row).items()} for row in rows]
    path.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"kept in {path}")
