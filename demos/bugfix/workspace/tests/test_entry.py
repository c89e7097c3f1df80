import unittest

from timesheet.entry import parse_line
from timesheet.report import hours


class DurationTest(unittest.TestCase):
    def test_day_shift(self):
        self.assertEqual(hours(parse_line("Mon 25 Mar;day;08:00;16:30")), 8.5)

    def test_night_shift(self):
        self.assertEqual(hours(parse_line("Tue 26 Mar;night;22:00;06:30")), 8.5)


if __name__ == "__main__":
    unittest.main()
