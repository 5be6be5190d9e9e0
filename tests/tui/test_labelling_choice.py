"""What is chosen stays chosen, whatever the server has meanwhile."""

from explorer.tui.screens.label_choice import LabelChoice, describe_change, owner_and_type

PII, LEGACY, CDC = (f"urn:li:tag:{name}" for name in ("PII", "Legacy", "CDC"))
SALES, FINANCE = ("urn:li:domain:sales", "urn:li:domain:finance")


def test_what_is_put_on_and_taken_off_is_told_as_a_difference() -> None:
    choice = LabelChoice((LEGACY,))
    assert not choice.changed
    assert choice.toggle(PII)
    assert choice.toggle(LEGACY)
    assert (choice.added, choice.removed) == ((PII,), (LEGACY,))
    assert [choice.state(one) for one in (PII, LEGACY, CDC)] == ["added", "removed", "off"]
    assert describe_change(choice).plain == "+ PII  − Legacy"
    choice.toggle(PII)
    choice.toggle(LEGACY)
    assert not choice.changed


def test_an_entity_is_in_one_domain() -> None:
    choice = LabelChoice((SALES,), single=True)
    choice.toggle(FINANCE)
    assert (choice.added, choice.removed) == ((FINANCE,), (SALES,))
    choice.toggle(FINANCE)
    assert (choice.added, choice.removed) == ((), (SALES,))


def test_what_came_in_with_the_schema_is_not_taken_off() -> None:
    choice = LabelChoice((CDC,), fixed=(PII,))
    assert choice.state(PII) == "fixed"
    assert not choice.toggle(PII)
    assert not choice.changed


def test_what_others_did_meanwhile_is_kept_and_so_is_the_choice() -> None:
    choice = LabelChoice((LEGACY,))
    choice.toggle(PII)
    choice.toggle(LEGACY)
    choice.note_current((LEGACY, CDC))
    assert (choice.added, choice.removed) == ((PII,), (LEGACY,))
    assert choice.state(CDC) == "on"
    domain = LabelChoice((SALES,), single=True)
    domain.toggle(FINANCE)
    domain.note_current(("urn:li:domain:customer",))
    assert (domain.added, domain.removed) == ((FINANCE,), ("urn:li:domain:customer",))


def test_a_step_that_is_written_is_not_written_again() -> None:
    choice = LabelChoice((LEGACY,))
    choice.create(PII)
    choice.toggle(LEGACY)
    choice.note_written(added=choice.added)
    assert (choice.added, choice.removed, choice.new) == ((), (LEGACY,), set())
    choice.note_written(removed=choice.removed)
    assert not choice.changed
    assert choice.current == (PII,)


def test_only_the_label_of_an_owner_has_a_kind() -> None:
    assert owner_and_type("urn:li:corpuser:jdoe DATA_STEWARD") == (
        "urn:li:corpuser:jdoe",
        "DATA_STEWARD",
    )
    assert owner_and_type("urn:li:tag:two words") == ("urn:li:tag:two words", "")
