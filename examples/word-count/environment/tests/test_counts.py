import subprocess
import sys
import unittest
from pathlib import Path


class Counts(unittest.TestCase):
    def test_counts(self):
        subprocess.run([sys.executable, "main.py"], check=True)
        expected = "and,2\nbread,2\ntea,2\nwith,2\nbutter,1\njam,1\nmilk,1\n"
        self.assertEqual(Path("counts.csv").read_text().strip(), expected.strip())


unittest.main()
