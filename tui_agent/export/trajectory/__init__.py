"""Export of a session as a trajectory: one row for each part, as records and as a parquet file."""
