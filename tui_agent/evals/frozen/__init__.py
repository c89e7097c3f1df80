"""Sessions that were frozen as cases, and their replay."""
