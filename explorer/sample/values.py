"""The notation of a column's values, as it stands in braces in the declared tables.

{u}                              every value once
{d 4210: SUMMIT10, WELCOME5}     so many different values (a share of the rows below 1), samples
{open 1.2|paid 2.1}              these values in these proportions
{0.00..49.00 ~3.10/0.00}         from, to, mean and median; the decimals are those written
{2014-03-02..today}              dates; `today-400` and `today+30` count from the profile's day
{since 2014-03-02}               times from that day until now
{null 0.96}                      the share of empty ones; joined to others with a semicolon
"""

import msgspec
from msgspec.structs import replace

__all__ = ["USUAL", "Values", "read_values"]

USUAL = {
    "campaign_id": "d 1480",
    "channel": "web 57|app 31|store 9|phone 3",
    "channel_code": "d 9",
    "country_code": "DE 55|AT 13|CH 11|NL 9|DK 7|SE 5",
    "currency": "EUR 72|CHF 11|DKK 9|SEK 8",
    "customer_id": "d 1184212",
    "device_kind": "phone 63|desktop 31|tablet 6",
    "language": "de 76|nl 9|da 7|sv 5|en 3",
    "order_id": "d 0.86",
    "order_number": "d u",
    "product_id": "d 9120",
    "sku": "d 48310: TRK-5510-BLK-42, TNT-2204-GRN-3P, STV-0031-STD-1",
    "supplier_id": "d 214",
    "variant_id": "d 48310",
    "warehouse_id": "1 61|2 28|3 11",
}
"""What columns of these names hold in every table that does not say otherwise."""


class Values(msgspec.Struct, frozen=True):
    """What a column holds. `empty` is nothing where the notation does not say."""

    empty: float | None = None
    distinct: float | None = None
    weights: tuple[tuple[str, float], ...] = ()
    samples: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    mean: str = ""
    median: str = ""

    @property
    def decimals(self) -> int:
        """The digits after the point of its numbers."""
        return len(self.mean.partition(".")[2])


def read_values(text: str) -> Values:
    """Read the notation; an empty text says nothing of the values. `distinct` is 1.0 for `u`."""
    values = Values()
    for part in (part.strip() for part in text.split(";")):
        head, _, rest = part.partition(" ")
        if "|" in part:
            values = replace(values, weights=tuple(_weight(one) for one in part.split("|")))
        elif head == "null":
            values = replace(values, empty=float(rest))
        elif head == "since":
            values = replace(values, low=rest)
        elif head in ("d", "u"):
            count, _, texts = rest.partition(":")
            distinct = 1.0 if head == "u" or count == "u" else float(count)
            samples = tuple(sample.strip() for sample in texts.split(",") if sample)
            values = replace(values, distinct=distinct, samples=samples)
        elif ".." in head:
            low, _, high = head.partition("..")
            mean, _, median = rest.removeprefix("~").partition("/")
            values = replace(values, low=low, high=high, mean=mean, median=median)
        elif part:
            values = replace(values, weights=(_weight(part),))
    return values


def _weight(text: str) -> tuple[str, float]:
    value, _, weight = text.strip().rpartition(" ")
    return value, float(weight)
