"""Undo and redo of edits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from explorer.client.connection import KnownCatalog
from explorer.client.editable import (
    LABEL_KINDS,
    LabelKind,
    TextConflict,
    at_present_paths,
    edit_target,
    held_text,
)
from explorer.client.edits import SCHEMA, LinkMethods, paths_in
from explorer.client.governance import GovernanceMethods
from explorer.client.health import HealthMethods
from explorer.client.journal import (
    SESSION,
    JournalEntry,
    JournalSave,
    entries_with,
    held_labels,
    last_save,
    last_undo,
    not_offered,
    one_save,
)
from explorer.client.records import Edit, Held, What
from explorer.client.text_sources import TextSourceMethods
from explorer.client.transport import REFUSALS, Json
from explorer.errors import CatalogError, Forbidden, InvalidInput, NotFound
from explorer.metadata.fieldpath import ColumnPaths
from explorer.metadata.urn import Urn

# Aspects that a server adds by itself to an entity that was just created.
_ADDED_BY_SERVERS = frozenset({"status", "browsePaths", "browsePathsV2", "dataPlatformInstance"})
_DELETE_DOMAIN = "mutation deleteDomain($urn: String!) { deleteDomain(urn: $urn) }"
# A field that DataHub adds to the aspect `domains`.
_ADDED_FIELD = "domainAssociations"


class UndoMethods(GovernanceMethods, LinkMethods, TextSourceMethods, HealthMethods):
    """Methods that undo and redo edits."""

    async def undo(self, edit: Edit | JournalEntry, *, force: bool = False) -> Edit:
        """Undo an edit, or an entry of the journal: write the value that the edit replaced.

        If the server no longer holds the value that the edit wrote, nothing is written, unless
        `force` is set. For labels and links only those that the edit added or removed are compared
        and changed back; others stay. An entity that the edit created is deleted, unless it is in
        use. Labels to put back that no longer exist are left out, with a warning. The undo is
        itself an edit and recorded in the journal. Two to four requests; more for links, created
        entities, and missing labels.

        Raises `TextConflict` if somebody changed the value since: `base` is the value that the edit
        wrote, `theirs` the present value, `mine` the value that the undo would have written;
        `NotFound` if none of the entities to put back exists; `InvalidInput` for an entry of
        another catalog; and the errors of the edit itself.

        Example: `cat.undo(cat.describe(urn, "Orders, one a row."))`
        """
        if isinstance(edit, Edit):
            return await self._undo(edit, force=force)
        await self._check_catalog(edit.made_on)
        return await self._undo_entries(edit.edit, (edit.id,), force=force)

    async def undo_save(
        self, save: JournalSave | None = None, *, force: bool = False
    ) -> tuple[Edit, ...]:
        """Undo all edits of one save, by default of the last save of this process on this server
        that is not undone.

        Returns the edits made. If any of the values was changed since, nothing is written, unless
        `force` is set. Edits of entities that no longer exist are left out, with a warning, and
        count as undone; if that leaves nothing of the last save, the save before it is undone.
        Undoing an undo is a redo. Requests as for `undo` of each value, and one more for each if
        there are several.

        Raises `NotFound` if there is no such save, and what `undo` raises.

        Example: `cat.describe(urn, "Orders."); cat.undo_save()`
        """
        if save is not None:
            return await self._undo_standing(save, force=force)
        edits = await self._undo_first_possible(
            self.last_save, "the last save is past undoing", force=force
        )
        if edits is not None:
            return edits
        address, latest = self._connection.address, await self.last_save(everyone=True)
        if latest is None:
            why = not_offered(await self._entries(), await self._own_catalog())
            raise NotFound(f"the journal has no edit of {address} to undo{why}")
        edit = latest.edits[0][0]
        raise NotFound(
            f"this session has no edit of {address} to undo; the last one is the {edit.what} of "
            f"{edit.urn}, {latest.origin()}: undo_save(last_save(everyone=True)) undoes it"
        )

    async def redo(self, *, force: bool = False) -> tuple[Edit, ...]:
        """Redo the edits that the last undo reverted; otherwise like `undo_save`.

        Raises `NotFound` if nothing was undone, or if another save was made since.

        Example: `cat.describe(urn, "One row an order!"); cat.undo_save(); cat.redo()`
        """
        edits = await self._undo_first_possible(
            self.last_undo, "the last undo is past redoing", force=force
        )
        if edits is None:
            raise NotFound("nothing was undone, or something else was saved since")
        return edits

    async def last_save(self, *, everyone: bool = False) -> JournalSave | None:
        """Return the last save on this catalog that is not undone, the one that `undo_save` undoes;
        `None` if there is none. Only saves of this process count, or with `everyone` all in the
        journal.

        Catalogs are identified by their id, even after a move to another address; if the server
        gives no id, by their address. No request, except the one of `abilities`.

        Example: `cat.last_save()`
        """
        session = None if everyone else SESSION
        return last_save(await self._entries(), await self._own_catalog(), session)

    async def last_undo(self, *, everyone: bool = False) -> JournalSave | None:
        """Return the last undo on this catalog that was not redone, which `redo` redoes.

        `None` if there is none, or if another save was made since. `everyone` and requests are as
        in `last_save`.

        Example: `cat.last_undo()`
        """
        session = None if everyone else SESSION
        return last_undo(await self._entries(), await self._own_catalog(), session)

    async def journal(self, words: str = "") -> Sequence[JournalEntry]:
        """Return the edits in the journal, oldest first, of every server edited from this machine.

        With `words` only the edits of saves that contain all words; see `JournalSave.has`. Empty if
        no journal is in use. No request.

        Example: `cat.journal("orders PII")`
        """
        return await asyncio.to_thread(entries_with, await self._entries(), words)

    async def _entries(self) -> list[JournalEntry]:
        journal = await self._journal_in_use()
        return [] if journal is None else await asyncio.to_thread(list, journal)

    async def _undo_first_possible(
        self, find: Callable[[], Awaitable[JournalSave | None]], passing: str, *, force: bool
    ) -> tuple[Edit, ...] | None:
        """Undo the save that `find` returns; if no entity that it edited exists any more, give the
        warning `passing` and continue with the next. Returns `None` if there is no save."""
        save = await find()
        while save is not None:
            try:
                return await self._undo_standing(save, force=force)
            except NotFound as error:
                passed, save = save, await find()
                if save is not None and save.id == passed.id:
                    # The journal cannot record the undo.
                    raise
                self._connection.warned(f"{passing}: {error}")
        return None

    async def _undo_standing(self, save: JournalSave, *, force: bool) -> tuple[Edit, ...]:
        """Undo all edits of a save, except those of entities that no longer exist, which count as
        undone.

        Raises `NotFound` if none of the entities that the save edited exists.
        """
        self._forget_warnings()
        await self._check_catalog(save.made_on)
        edits = save.edits
        if not force and len(edits) > 1:
            for edit, _ in edits:
                with suppress(NotFound):
                    await self._check_standing(await self._of_present_column(edit))
        undo_edits: list[Edit] = []
        errors: list[NotFound] = []
        with one_save():
            for edit, ids in edits:
                try:
                    undo_edits.append(await self._undo_entries(edit, ids, force=force))
                except NotFound as error:
                    errors.append(error)
                    await self._note_undone(replace(edit, before=edit.after), ids)
                except CatalogError:
                    if undo_edits:
                        self._warn_of_save(
                            f"{len(undo_edits):,} of {len(edits):,} edits of the save were undone"
                        )
                    raise
            if errors and not undo_edits:
                raise errors[0]
            if errors:
                count = f"{len(errors):,} of {len(edits):,} edits"
                self._warn_of_save(f"{count} of the save are past undoing: {errors[0]}")
        return tuple(undo_edits)

    async def _note_undone(self, edit: Edit, ids: Iterable[str]) -> None:
        """Record in the journal that entries are undone by an edit that changes nothing."""
        with one_save(undoes=ids):
            await self._record(edit, "the next undo begins with the same save")

    async def _undo_entries(self, edit: Edit, ids: Sequence[str], *, force: bool) -> Edit:
        with one_save(undoes=ids):
            undo = await self._undo(edit, force=force)
        if not undo.changed:
            # The former value was already there.
            await self._note_undone(undo, ids)
        return undo

    async def _undo(self, edit: Edit, *, force: bool) -> Edit:
        done = await self._of_present_column(edit)
        match done.what:
            case "description":
                before, after = held_text(done.before), held_text(done.after)
                return await self.describe(
                    done.urn, before, column=done.column, instead_of=after, force=force
                )
            case "name":
                seen_name = None if force else held_text(done.after)
                return await self._put_name(
                    done.urn, held_text(done.before) or None, instead_of=seen_name
                )
            case "parent":
                seen_parent = None if force else held_text(done.after)
                parent = held_text(done.before) or None
                await self._check_existing(done, parent)
                return await self._put_parent(done.urn, parent, instead_of=seen_parent)
            case "links":
                return await self._undo_links(done, force=force)
            case "domain":
                seen_domains = None if force else held_labels(done.after)
                domains = held_labels(done.before)
                await self._check_existing(done, *domains)
                return await self._put_domains(done.urn, domains, instead_of=seen_domains)
            case "deprecation":
                deprecation = done.before if isinstance(done.before, dict) else None
                seen_deprecation = done.after if isinstance(done.after, dict) else {}
                missing_labels = (
                    await self._find_missing(deprecation.get("replacement")) if deprecation else ()
                )
                if deprecation and missing_labels:
                    self._warn_of_save(_not_put_back(done, missing_labels))
                    deprecation = {
                        name: part for name, part in deprecation.items() if name != "replacement"
                    }
                return await self._put_deprecation(
                    done.urn, deprecation, instead_of=None if force else seen_deprecation
                )
            case "tags" | "terms" | "owners":
                return await self._undo_labels(done, LABEL_KINDS[done.what], force=force)
            case "status":
                change = await self._set_removed(done.urn, done.before == "hidden", dry_run=False)
                was = done.after if change.is_changed else done.before
                return Edit.now(done.urn, "status", was, done.before)
            case "path":
                return await self._undo_move(done, force=force)
            case "source":
                before_source, after_source = (
                    source if isinstance(source, dict) else None
                    for source in (done.before, done.after)
                )
                return await self.set_text_source(
                    done.urn,
                    done.column or "",
                    before_source,
                    instead_of=None if force else after_source or {},
                )
            case "entity":
                return await self._undo_entity(done)

    async def _check_standing(self, edit: Edit) -> None:
        """Raise `TextConflict` if the server no longer holds the value that an edit wrote."""
        if edit.what in ("status", "path", "source", "entity"):
            # Hiding and showing overwrite nothing; a description may have been moved and changed in
            # one save, whose undo compares it; a source belongs to its text; a created entity that
            # is in use is not removed.
            return
        now = await self._now(edit)
        if edit.what in (*LABEL_KINDS, "links"):
            _difference(edit, now)
        elif edit.what == "description":
            if (now or "") not in (held_text(edit.after), held_text(edit.before)):
                raise _conflict(edit, now)
        elif now != edit.after:
            raise _conflict(edit, now)

    async def _now(self, edit: Edit) -> Held:
        """Return the present value of the field that an edit changed. One request."""
        target = edit_target(edit.urn, edit.what, edit.column)
        if edit.column is None:
            return target.read(
                (await self._read_stored(edit.urn, target.aspect)).value(target.aspect)
            )
        entity = await self._read_stored(edit.urn, target.aspect, SCHEMA)
        return target.read(at_present_paths(entity.value(target.aspect), paths_in(entity)))

    async def _of_present_column(self, edit: Edit) -> Edit:
        """Return the edit, with the present path of its column if the column's type or case changed
        since. One request if the edit is of a column."""
        if edit.column is None or edit.what in ("path", "source"):
            return edit
        paths = ColumnPaths.of(paths_in(await self._read_stored(edit.urn, SCHEMA)))
        return replace(edit, column=paths.match(edit.column) or edit.column)

    async def _undo_entity(self, done: Edit) -> Edit:
        """Delete the entity that an edit created, or create an entity again that an undo
        deleted."""
        if isinstance(done.before, dict):
            await self._check_existing(done, *_above(done.urn, done.before))
            return await self.create_with(done.urn, done.before)
        created = done.after if isinstance(done.after, dict) else {}
        unchanged = Edit.now(done.urn, "entity", done.after, done.after)
        if not await self.exists(done.urn):
            return unchanged
        entity = await self.entity(done.urn)
        own_aspects = {*created, *_ADDED_BY_SERVERS, self.registry.entity(done.urn.entity_type).key}
        is_used = bool(set(entity.aspects) - own_aspects) or any(
            {**(entity.raw(name) or {}), _ADDED_FIELD: None} != {**value, _ADDED_FIELD: None}
            for name, value in created.items()
        )
        if is_used or (await self.relationships(done.urn, "INCOMING", count=1)).edges:
            return unchanged

        async def remove() -> None:
            try:
                await self.delete(done.urn)
            except Forbidden:
                # If permanent deletion is not allowed, the entity is soft-deleted, but a domain
                # cannot be.
                if "status" in self.registry.entity(done.urn.entity_type).aspects:
                    await self._set_removed(done.urn, True, dry_run=False)
                else:
                    await self._delete_domain(done.urn)

        return await self._save_edit(remove(), Edit.now(done.urn, "entity", done.after, None))

    async def _delete_domain(self, urn: Urn) -> None:
        """Delete a domain by a mutation that only needs the permission to manage domains."""
        try:
            await self.graphql(_DELETE_DOMAIN, {"urn": str(urn)})
        except (Forbidden, InvalidInput) as error:
            raise Forbidden(
                f"a {urn.entity_type} can only be removed for good, which this user may not do; "
                f"whoever may can run “catalog delete --hard {urn}”. Earlier saves can be undone "
                "from the journal (“catalog undo --list”)"
            ) from error

    async def _check_catalog(self, made_on: KnownCatalog) -> None:
        why = made_on.why_not(await self.known_as())
        if why:
            raise InvalidInput(
                f"this edit cannot be undone here: {why}; undo it with a client of its catalog"
            )

    async def _undo_move(self, done: Edit, *, force: bool) -> Edit:
        if not (done.column and isinstance(done.before, dict) and isinstance(done.after, dict)):
            raise InvalidInput("the journal does not say what was moved")
        ((start, parts),), (end,) = done.after.items(), done.before
        return await self._move(done.urn, done.column, start, end, parts, force=force)

    async def _undo_labels(self, done: Edit, kind: LabelKind, *, force: bool) -> Edit:
        """Remove the labels that an edit added, and add those it removed, as far as they exist.

        Their existence is checked only if the server refuses them, because some servers accept
        labels that are not stored. Raises `NotFound` if no label can be changed back.
        """
        added_labels, removed_labels = _difference(done, await self._now(done), force=force)
        change = partial(self._label, kind, done.urn, done.column, remove=added_labels)
        try:
            return await change(add=removed_labels)
        except REFUSALS as error:
            missing_labels = await self._find_missing(*removed_labels)
            existing_labels = tuple(
                label for label in removed_labels if label not in missing_labels
            )
            if not missing_labels:
                raise
            if not (existing_labels or added_labels):
                raise NotFound(_not_put_back(done, missing_labels)) from error
        self._warn_of_save(_not_put_back(done, missing_labels))
        return await change(add=existing_labels)

    async def _check_existing(self, done: Edit, *urns: str | None) -> None:
        """Raise `NotFound` if an entity that an undo would put back does not exist."""
        missing_labels = await self._find_missing(*urns)
        if missing_labels:
            raise NotFound(_not_put_back(done, missing_labels))

    async def _find_missing(self, *labels: str | None) -> tuple[str, ...]:
        """Return the labels that name an entity that does not exist. One request for each."""
        missing_labels = []
        for label in filter(None, labels):
            for urn in _urns_in(label):
                if not await self._is_stored_entity(urn):
                    missing_labels.append(label)
                    break
        return tuple(missing_labels)

    async def _undo_links(self, edit: Edit, *, force: bool) -> Edit:
        now = held_labels(await self._now(edit))
        added_links, removed_links = _difference(edit, now, force=force)
        last = Edit.now(edit.urn, "links", now, now)
        for link in added_links:
            if link in now:
                url, _, label = link.partition(" ")
                last = await self.remove_link(edit.urn, url, label)
        for link in removed_links:
            url, _, label = link.partition(" ")
            last = await self.add_link(edit.urn, url, label)
        return replace(last, before=now) if last.changed else last


def _difference(
    edit: Edit, now: Held, *, force: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels to take back: those that an edit added, and those it removed.

    Raises `TextConflict` if any of them was changed since, unless `force` is set.
    """
    before, after = held_labels(edit.before), held_labels(edit.after)
    added_labels = tuple(label for label in after if label not in before)
    removed_labels = tuple(label for label in before if label not in after)
    present_labels = frozenset(held_labels(now))
    is_standing = present_labels.issuperset(added_labels) and present_labels.isdisjoint(
        removed_labels
    )
    if not is_standing and not force:
        raise _conflict(edit, now)
    return added_labels, removed_labels


def _urns_in(label: str) -> Iterator[Urn]:
    """Yield the URN in a label, and for an owner also its ownership type, if that is an entity."""
    owner, _, kind = label.rpartition(" ")
    is_owner = owner.startswith(("urn:li:corpuser:", "urn:li:corpGroup:"))
    for name in (owner, kind) if is_owner else (label,):
        if name.startswith("urn:"):
            yield Urn.parse(name)


def _above(urn: Urn, aspects: Mapping[str, Json]) -> Iterator[str]:
    """Yield the parent and the domains in the aspects of an entity."""
    kinds: tuple[What, ...] = ("parent", "domain")
    for what in kinds:
        with suppress(InvalidInput):
            target = edit_target(urn, what)
            parents = target.read(aspects.get(target.aspect) or {})
            yield from held_labels(parents) or filter(None, (held_text(parents),))


def _not_put_back(done: Edit, labels: Iterable[str]) -> str:
    place = done.urn if done.what == "entity" else edit_target(done.urn, done.what, done.column)
    return f"{place}: what no longer exists cannot be put back ({', '.join(labels)})"


def _conflict(edit: Edit, now: Held) -> TextConflict:
    back = edit.before
    if isinstance(now, tuple) and edit.what != "domain":
        # Labels and links that others added stay.
        before, after = held_labels(back), held_labels(edit.after)
        labels = [label for label in now if label not in after or label in before]
        back = tuple(dict.fromkeys((*labels, *before)))
    target = edit_target(edit.urn, edit.what, edit.column)
    return TextConflict(str(target), *map(held_text, (edit.after, now, back)))
