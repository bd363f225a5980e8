"""Counts of fates, where an added query has not seen the beginning of the log."""

from windowing.model.fates import BY_WINDOWS, Counts, Fate

FATES = (*BY_WINDOWS[:2], Fate("skipped", "of no interest"), *BY_WINDOWS[2:])


def test_what_was_read_before_a_query_is_outside_of_it() -> None:
    longest = Counts.of(FATES, read=100, applied=70, outside=10, skipped=15, dead=5)
    own = Counts.of(FATES, read=40, applied=20, outside=8, skipped=7, dead=5)
    found = own.since_added(longest)
    # A fate that is the same for all queries is theirs from the beginning.
    assert (found.read, found["skipped"]) == (100, 15)
    assert found["outside"] == 100 - 20 - 15 - 5
    assert found.total == found.read


def test_a_query_of_the_beginning_is_as_it_was() -> None:
    counts = Counts.of(read=7, applied=4, outside=1, dropped=1, dead=1)
    assert counts.since_added(counts) == counts
