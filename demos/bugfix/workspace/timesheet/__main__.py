"""Print the week that stands in week.txt."""

from pathlib import Path

from timesheet.entry import parse_line
from timesheet.report import report

print(report([parse_line(line) for line in Path("week.txt").read_text().splitlines()]))
