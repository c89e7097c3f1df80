"""A server for browsers and programs: the app in a web page, and sessions by HTTP.

Invariant: each session has one engine, shared by all its clients; no request is answered without the server's token.
"""
