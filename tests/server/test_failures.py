"""What a failure is answered with, and what is said of work that goes on."""

import errno
import json
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.errors import CatalogError, StorageFault
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.audit_log import AuditFile, AuditLog, read_records
from explorer.server.data_directory import open_catalog
from explorer.server.failures import Progress, as_catalog_error, headers_of, status_of
from tests.conftest import SmallDisk, serving


def test_the_time_left_follows_from_what_was_done_since_it_began() -> None:
    progress = Progress("entities", 10_000, done=4_000)
    assert (progress.left_seconds, progress.words()) == (
        0,
        "4,000 of 10,000 entities; try again soon",
    )
    progress.done += 1_000
    progress.began -= 60
    assert 300 <= progress.left_seconds < 310
    assert progress.words() == "5,000 of 10,000 entities; try again in about 6 minutes"


def test_more_than_there_were_at_first_is_no_fault() -> None:
    progress = Progress("datasets", 10)
    progress.done = 12
    assert progress.words() == "12 of 12 datasets; try again soon"
    progress.remainder = "what is downstream of each comes last"
    expected = "all 12 datasets were read, what is downstream of each comes last; try again soon"
    assert progress.words() == expected


def change(name: str, size_bytes: int) -> dict[str, Any]:
    """A change whose text cannot be compressed to less than its size."""
    text = random.Random(1).randbytes(size_bytes).hex()
    proposal = {
        "entityType": "tag",
        "entityUrn": f"urn:li:tag:{name}",
        "changeType": "UPSERT",
        "aspectName": "tagProperties",
        "aspect": {"value": json.dumps({"name": name, "description": text})},
    }
    return {"proposal": proposal}


def test_a_full_disk_is_told_as_that_and_everything_goes_on_when_there_is_room(
    small_disk: SmallDisk,
) -> None:
    directory = small_disk.path / "data"
    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    audit = AuditLog(AuditFile(directory))
    try:
        with (
            serving(Service(catalog, audit=audit)) as address,
            httpx.Client(base_url=address, timeout=120) as http,
        ):

            def write(name: str, size_bytes: int) -> httpx.Response:
                body = change(name, size_bytes)
                return http.post("/aspects?action=ingestProposal", json=body)

            assert write("before", 10).status_code == 200
            small_disk.fill()
            refused = write("large", 20_000)
            assert refused.status_code == 507
            assert "retry-after" not in refused.headers
            assert "disk of the catalog is full; make room there" in refused.json()["message"]
            described = {"description": "x" * 40_000, "resourceUrn": "urn:li:tag:before"}
            query = "mutation m($input: DescriptionUpdateInput!) {updateDescription(input: $input)}"
            answer = http.post(
                "/api/graphql", json={"query": query, "variables": {"input": described}}
            )
            (told,) = answer.json()["errors"]
            assert told["extensions"]["code"] == 507
            assert "disk of the catalog is full" in told["message"]
            query = '{search(input: {type: TAG, query: "*"}) {total}}'
            found = http.post("/api/graphql", json={"query": query}).json()
            assert found["data"]["search"]["total"] == 1
            small_disk.empty()
            assert write("after", 20_000).status_code == 200
    finally:
        catalog.close()
        audit.close()
    kept = [(record.urns, record.status) for record in read_records(AuditFile(directory))]
    assert kept[::-1] == [
        (("urn:li:tag:before",), 200),
        (("urn:li:tag:large",), 507),
        (("urn:li:tag:before",), 507),
        (("urn:li:tag:after",), 200),
    ]


@pytest.mark.parametrize(
    ("number", "status", "retry_after"),
    [
        (errno.ENOSPC, 507, None),
        (errno.EDQUOT, 507, None),
        (errno.EIO, 503, "5"),
        (errno.EROFS, 503, "5"),
        (errno.EMFILE, 503, "5"),
        (errno.EISDIR, 500, None),
    ],
)
def test_what_the_system_refuses_is_told_as_that(
    number: int, status: int, retry_after: str | None
) -> None:
    told = as_catalog_error(OSError(number, "no good"))
    assert (status_of(told), headers_of(told).get("retry-after")) == (status, retry_after)


def test_a_file_that_cannot_be_written_for_want_of_room_is_a_full_disk(tmp_path: Path) -> None:
    def fault(number: int) -> CatalogError:
        error = StorageFault(f"{tmp_path} cannot be written")
        error.__cause__ = OSError(number, "no good")
        return error

    assert status_of(fault(errno.ENOSPC)) == 507
    assert status_of(fault(errno.EACCES)) == 503
