"""What holds for every test, set once."""

from hypothesis import settings

# What one example takes says nothing on a busy machine. All else stays as Hypothesis has it there: in CI the examples
# are the same in every run.
settings.register_profile("tests", settings(), deadline=None)
settings.load_profile("tests")
