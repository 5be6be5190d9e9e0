"""What a new server knows before anybody wrote to it, as a new DataHub does: the common data
platforms with their names and the addresses of their logos, the ownership types that every catalog
has, and the user `datahub`. It gives facets their labels."""

import time
from collections.abc import Iterator
from importlib.resources import files

import orjson

from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.paths import default_delimiter

__all__ = ["SYSTEM_ACTOR", "bootstrap_proposals"]

SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"
_OWNERSHIP_TYPES = {
    "technical_owner": ("Technical Owner", "Builds it, keeps it running, or delivers it."),
    "business_owner": ("Business Owner", "Answers for it, or knows best what it means."),
    "data_steward": ("Data Steward", "Takes care of its governance."),
    "none": ("None", "Owns it; nobody said in which way."),
}


def bootstrap_proposals() -> Iterator[Proposal]:
    """Yield what a new server knows, by the system; of no run, so that none takes it back."""
    known = orjson.loads((files("explorer.server") / "platforms.json").read_bytes())
    for name, told in known["platforms"].items():
        info = {
            "name": name,
            "displayName": told["displayName"],
            "type": told["type"],
            "datasetNameDelimiter": default_delimiter(name),
        }
        if "logo" in told:
            info["logoUrl"] = known["logos"] + told["logo"]
        yield _proposal("dataPlatform", name, "dataPlatformInfo", info)
    stamp = {"time": time.time_ns() // 1_000_000, "actor": SYSTEM_ACTOR}
    for name, (shown, description) in _OWNERSHIP_TYPES.items():
        info = {"name": shown, "description": description, "created": stamp, "lastModified": stamp}
        yield _proposal("ownershipType", f"__system__{name}", "ownershipTypeInfo", info)
    user = {"active": True, "displayName": "DataHub", "title": "Administrator", "system": True}
    yield _proposal("corpuser", "datahub", "corpUserInfo", user)


def _proposal(entity_type: str, name: str, aspect: str, value: object) -> Proposal:
    return Proposal(Urn.of(entity_type, name), aspect, value, actor=SYSTEM_ACTOR)
