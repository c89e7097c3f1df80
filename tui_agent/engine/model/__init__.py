"""Requests to a model: assembling, streaming, retrying and recording them."""
