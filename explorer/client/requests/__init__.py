"""What is sent: every request as a value, built by pure functions from the caller's arguments."""

from explorer.client.requests import editing, finding, following, reading, relating, writing
from explorer.client.requests.request import Request

__all__ = ["Request", "editing", "finding", "following", "reading", "relating", "writing"]
