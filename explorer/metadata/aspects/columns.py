"""The columns of a dataset, as ingested and as people wrote of them."""

from typing import Any

import msgspec

from explorer.metadata.aspects.record import Camel
from explorer.metadata.aspects.shared import AuditStamp, GlobalTags, GlossaryTerms

__all__ = ["EditableSchemaField", "EditableSchemaMetadata", "SchemaField", "SchemaMetadata"]

_WORDS = {
    f"{kind}Type": kind.lower()
    for kind in (
        *("Array", "Boolean", "Bytes", "Date", "Enum", "Fixed", "Map", "Null", "Number"),
        *("Record", "String", "Time", "Union"),
    )
}


class SchemaField(Camel, frozen=True):
    """A column as ingested. `type` is `{"type": {"<record name>": {…}}}`."""

    field_path: str = ""
    description: str | None = None
    native_data_type: str = ""
    nullable: bool = False
    is_part_of_key: bool = False
    recursive: bool = False
    type: dict[str, Any] = msgspec.field(default_factory=dict)
    label: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()

    @property
    def type_name(self) -> str:
        """The kind of the column in a word, `string`, `record`; of a kind the model does not
        have, its record's short name; empty when it is not said."""
        inner = self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            short = str(name).rpartition(".")[2]
            return _WORDS.get(short, short)
        return ""


class SchemaMetadata(Camel, frozen=True):
    """The schema of a dataset as ingested, its columns in order."""

    schema_name: str = ""
    platform: str = ""
    version: int = 0
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None
    hash: str = ""
    fields: tuple[SchemaField, ...] = ()
    platform_schema: dict[str, Any] = msgspec.field(default_factory=dict)
    primary_keys: tuple[str, ...] | None = None

    @property
    def document_schema(self) -> str | None:
        """The serialized document that the columns were read from, where the platform's schema
        carries one."""
        for member in self.platform_schema.values():
            text = member.get("documentSchema") if isinstance(member, dict) else None
            if isinstance(text, str):
                return text
        return None


class EditableSchemaField(Camel, frozen=True):
    """What people wrote of one column."""

    field_path: str = ""
    description: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()


class EditableSchemaMetadata(Camel, frozen=True):
    """What people wrote of a dataset's columns."""

    editable_schema_field_info: tuple[EditableSchemaField, ...] = ()
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None
