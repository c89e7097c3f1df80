"""A server that shows the app in web pages, and offers sessions to programs by HTTP.

Invariant: no request is answered without the server's token.
"""
