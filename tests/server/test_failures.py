from explorer.server.failures import Progress


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
