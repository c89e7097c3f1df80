"""Reports about runs, with statistics and comparisons."""
