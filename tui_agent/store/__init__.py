"""The session store: append-only logs of checksummed JSON lines, and their blobs.

Invariant: an acknowledged event is never lost or changed; a damaged line is reported and stepped over, never the end
of reading; everything else that lies beside a log is derived.
"""
