"""What is chosen stays chosen, whatever the server has meanwhile."""

from explorer.sessions.labels import LabelChoice, describe_change, owner_and_type

PII, LEGACY, CDC = (f"urn:li:tag:{name}" for name in ("PII", "Legacy", "CDC"))
SALES, FINANCE = ("urn:li:domain:sales", "urn:li:domain:finance")


def test_what_is_put_on_and_taken_off_is_told_as_a_difference() -> None:
    choice = LabelChoice.of((LEGACY,))
    assert not choice.is_changed
    choice = choice.toggle(PII).toggle(LEGACY)
    assert (choice.added, choice.removed) == ((PII,), (LEGACY,))
    assert [choice.mark(one) for one in (PII, LEGACY, CDC)] == ["added", "removed", "off"]
    assert describe_change(choice) == "+ PII  − Legacy"
    choice = choice.toggle(PII).toggle(LEGACY)
    assert not choice.is_changed


def test_an_entity_is_in_one_domain() -> None:
    choice = LabelChoice.of((SALES,), single=True)
    choice = choice.toggle(FINANCE)
    assert (choice.added, choice.removed) == ((FINANCE,), (SALES,))
    choice = choice.toggle(FINANCE)
    assert (choice.added, choice.removed) == ((), (SALES,))


def test_what_came_in_with_the_schema_is_not_taken_off() -> None:
    choice = LabelChoice.of((CDC,), ingested=(PII,))
    assert choice.mark(PII) == "fixed"
    assert choice.toggle(PII) is choice
    assert not choice.is_changed


def test_what_others_did_meanwhile_is_kept_and_so_is_the_choice() -> None:
    choice = LabelChoice.of((LEGACY,))
    choice = choice.toggle(PII).toggle(LEGACY)
    choice = choice.rebase((LEGACY, CDC))
    assert (choice.added, choice.removed) == ((PII,), (LEGACY,))
    assert choice.mark(CDC) == "on"
    domain = LabelChoice.of((SALES,), single=True)
    domain = domain.toggle(FINANCE)
    domain = domain.rebase(("urn:li:domain:customer",))
    assert (domain.added, domain.removed) == ((FINANCE,), ("urn:li:domain:customer",))


def test_a_step_that_is_written_is_not_written_again() -> None:
    choice = LabelChoice.of((LEGACY,))
    choice = choice.create(PII).toggle(LEGACY)
    choice = choice.write(added=choice.added)
    assert (choice.added, choice.removed, choice.new) == ((), (LEGACY,), frozenset())
    choice = choice.write(removed=choice.removed)
    assert not choice.is_changed
    assert choice.current == (PII,)


def test_only_the_label_of_an_owner_has_a_kind() -> None:
    assert owner_and_type("urn:li:corpuser:jdoe DATA_STEWARD") == (
        "urn:li:corpuser:jdoe",
        "DATA_STEWARD",
    )
    assert owner_and_type("urn:li:tag:two words") == ("urn:li:tag:two words", "")
