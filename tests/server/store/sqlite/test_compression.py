"""Values as the file keeps them: long ones compressed, and readable for good."""

from base64 import b64decode

import orjson

from explorer.server.store.sqlite.schema import compress, expand

COLUMN = {"nullable": True, "nativeDataType": "varchar(255)", "recursive": False}
SCHEMA = orjson.dumps(
    {"fields": [{"fieldPath": f"column_{at}", **COLUMN, "isPartOfKey": False} for at in range(15)]}
)
KEPT = b64decode(
    "Ab3VyxUAEAwF0ZY8f8U4KtG7hexYMhXcJIuJTXsmZT/m4S4LPJXtTsaJ5TzLBZaLLJdYLrNcYbnKco3l"
    "RGcF7orgsAgui76lpc8F"
)


def test_what_was_kept_before_is_read() -> None:
    assert expand(KEPT) == SCHEMA


def test_a_long_value_takes_less_and_comes_back_byte_for_byte() -> None:
    kept = compress(SCHEMA)
    assert len(kept) < len(SCHEMA) / 5
    assert expand(kept) == SCHEMA


def test_a_short_value_stays_as_it_is() -> None:
    value = b'{"removed":false}'
    assert compress(value) == value
    assert expand(value) == value


def test_a_damaged_value_is_no_json_and_raises_nothing() -> None:
    kept = compress(SCHEMA)
    # The last byte is padded: some of its bits mean nothing.
    for at in range(1, len(kept) - 1):
        damaged = kept[:at] + bytes([kept[at] ^ 0x10]) + kept[at + 1 :]
        found = expand(damaged)
        assert found != SCHEMA
    assert expand(kept[:-3]) == kept[:-3]


def test_the_lineage_of_a_table_takes_less_than_half() -> None:
    upstreams = [
        {
            "auditStamp": {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:ingestion"},
            "dataset": f"urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders_{at},PROD)",
            "type": "TRANSFORMED",
        }
        for at in range(2)
    ]
    value = orjson.dumps({"upstreams": upstreams})
    kept = compress(value)
    assert len(kept) < len(value) / 2
    assert expand(kept) == value


def test_a_value_with_many_columns_comes_back_byte_for_byte() -> None:
    columns = [{"fieldPath": f"column_{at * at}", **COLUMN} for at in range(3_000)]
    value = orjson.dumps({"fields": columns, "again": columns[:500]})
    assert expand(compress(value)) == value
