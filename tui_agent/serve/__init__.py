"""A server for browsers and programs: the app in a web page, and sessions by HTTP.

Invariant: has one engine for each session, to which all of its clients are connected; nothing is answered without the
server's token.
"""
