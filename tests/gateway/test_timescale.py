"""Where moments stand in a run's picture."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from gateway.web.timescale import Timescale

BEGIN = datetime(2027, 1, 15, 9, 30, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """A moment of the run."""
    return BEGIN + timedelta(seconds=seconds)


def test_moments_stand_in_proportion() -> None:
    scale = Timescale(BEGIN, at(4), [(at(0), at(1)), (at(2), at(4))])
    assert [scale.place(at(each)) for each in (-1, 0, 1, 2, 4, 9)] == [0, 0, 0.25, 0.5, 1, 1]
    assert scale.cuts == []
    assert [(tick.place, tick.seconds) for tick in scale.ticks()] == [(0, 0), (0.25, 1), (0.5, 2), (0.75, 3), (1, 4)]


def test_a_long_stretch_in_which_nobody_works_is_cut_short() -> None:
    scale = Timescale(BEGIN, at(3604), [(at(0), at(2)), (at(3602), at(3604))])
    ((left, right),) = scale.cuts
    assert (round(left, 4), round(right, 4)) == (round(2 / 4.48, 4), round(2.48 / 4.48, 4))
    assert left < scale.place(at(1000)) < scale.place(at(3000)) < right
    assert [tick.seconds for tick in scale.ticks()] == [0, 1, 3602, 3604]


def test_waiting_alone_is_shown_whole() -> None:
    scale = Timescale(BEGIN, at(100), [])
    assert round(scale.place(at(50)), 6) == 0.5


def test_a_run_without_any_time_has_a_picture() -> None:
    scale = Timescale(BEGIN, BEGIN, [(BEGIN, BEGIN)])
    assert 0 <= scale.place(BEGIN) <= 1
    assert [tick.place for tick in scale.ticks()][-1] == 1


def test_labels_never_stand_on_each_other() -> None:
    for seconds in (0.004, 0.07, 1.3, 59, 61, 4000, 90_000):
        places = [tick.place for tick in Timescale(BEGIN, at(seconds), [(BEGIN, at(seconds))]).ticks()]
        assert 2 <= len(places) <= 8
        assert all(right - left >= 0.16 for left, right in pairwise(places))
