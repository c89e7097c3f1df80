"""The week as text."""

from timesheet.entry import Entry


def hours(entry: Entry) -> float:
    return entry.duration.total_seconds() / 3600


def report(entries: list[Entry]) -> str:
    lines = [f"{entry.day}   {entry.name:<6} {hours(entry):6.1f} h" for entry in entries]
    lines.append(f"total           {sum(hours(entry) for entry in entries):8.1f} h")
    return "\n".join(lines)
