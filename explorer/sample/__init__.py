"""The sample catalog: the data of Tarnwood, an invented shop for outdoor gear.

What a new user sees first, and what examples and tests lean on. It is made from the text files in
`data/`, a fixed seed and one day: the same day gives the same bytes.
"""

from explorer.sample.proposals import SAMPLE_RUN_ID, sample_proposals

__all__ = ["SAMPLE_RUN_ID", "sample_proposals"]
