"""Sessions as clients use them, with the engine in this process or in another one; also resuming and forking of
sessions.
"""
