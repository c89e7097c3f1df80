import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))
from shop import total


class Shop(unittest.TestCase):
    def test_totals(self):
        self.assertEqual(total([1.10, 2.20]), 3.30)
        self.assertEqual(total([10, 5], 10), 13.5)
        self.assertRaises(ValueError, total, [1], 101)
        self.assertRaises(ValueError, total, [1], -1)

    def test_the_program_takes_a_discount(self):
        run = [sys.executable, "main.py", "10", "5", "--discount", "10"]
        self.assertEqual(subprocess.run(run, capture_output=True, text=True).stdout, "13.50\n")


unittest.main()
