"""What is chosen on a page of labels: what was there, what is to be put on and taken off."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Choice", "Kind", "State", "owner_of"]

Kind = Literal["tags", "terms", "owners", "domain"]
State = Literal["on", "off", "added", "removed", "fixed"]


@dataclass(slots=True)
class Choice:
    """Labels as texts: URNs, and for owners the kind of ownership after a space.

    `there` is what the server has, `fixed` what came in with the schema and is not taken off here.
    Of a `single` kind one label is on at most. `new` are those that are to be created first.
    """

    there: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    single: bool = False
    wanted: list[str] = field(default_factory=list)
    new: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.wanted = list(self.there)

    @property
    def added(self) -> tuple[str, ...]:
        """What is to be put on, in the order in which it was chosen."""
        return tuple(label for label in self.wanted if label not in self.there)

    @property
    def removed(self) -> tuple[str, ...]:
        """What is to be taken off."""
        return tuple(label for label in self.there if label not in self.wanted)

    @property
    def changed(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.added or self.removed)

    @property
    def concerned(self) -> tuple[str, ...]:
        """Every label that is there or is to be."""
        return tuple(dict.fromkeys((*self.fixed, *self.there, *self.wanted)))

    def state(self, label: str) -> State:
        """What is the case with a label, and what is to become of it."""
        if label in self.wanted:
            return "on" if label in self.there else "added"
        if label in self.there:
            return "removed"
        return "fixed" if label in self.fixed else "off"

    def toggle(self, label: str) -> bool:
        """Put a label on or take it off; false, and nothing done, where that cannot be."""
        if label in self.wanted:
            self.wanted.remove(label)
            self.new.discard(label)
        elif label in self.fixed and label not in self.there:
            return False
        elif self.single:
            self.wanted[:] = [label]
        else:
            self.wanted.append(label)
        return True

    def create(self, label: str) -> None:
        """Put on a label that is to be created first."""
        self.new.add(label)
        if label not in self.wanted:
            self.toggle(label)

    def written(self, *, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        """The server has stored this much of what was chosen."""
        gone = frozenset(removed)
        kept = (label for label in self.there if label not in gone)
        self.there = tuple(dict.fromkeys((*kept, *added)))
        self.new.difference_update(self.there)

    def found(self, there: Sequence[str]) -> None:
        """The server has something else by now: what was chosen is chosen still."""
        added, removed = self.added, frozenset(self.removed)
        self.there = tuple(there)
        kept = [] if self.single and added else [one for one in there if one not in removed]
        self.wanted = list(dict.fromkeys((*kept, *added)))


def owner_of(label: str) -> tuple[str, str]:
    """The URN of a label and, for an owner, the kind of ownership; empty for all others."""
    urn, _, kind = label.rpartition(" ")
    # Only the kind of an owner comes after the last space; other URNs may hold spaces themselves.
    is_owner = urn.startswith(("urn:li:corpuser:", "urn:li:corpGroup:"))
    return (urn, kind) if is_owner else (label, "")
