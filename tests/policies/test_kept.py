"""What a process keeps: dropped by word, by a gap, by a number that moved without one; bounded; never kept too late."""

import threading

import pytest
from django.core import signing

from policies.propagation import invalidating_cache, invalidation
from policies.propagation.invalidating_cache import CacheRegion, InvalidatingCache, Invalidation

LONG = 60.0


@pytest.fixture
def memory() -> InvalidatingCache:
    """One that was compared when the number was 10."""
    memory = InvalidatingCache()
    memory.confirm_sequence(10, 0.0)
    return memory


@pytest.fixture
def shelf(memory: InvalidatingCache) -> CacheRegion[frozenset[str]]:
    """Facts about `a` and `b`; `b` is known through `group`."""
    shelf: CacheRegion[frozenset[str]] = memory.add_region(8, lambda names: [names], ignored_prefixes=("user:",))
    memory.put_if_current(shelf, {"a": frozenset({"user:x"}), "b": frozenset({"group"})}, memory.generation())
    return shelf


def kept(shelf: CacheRegion[frozenset[str]]) -> set[str]:
    return {key for key in ("a", "b", "c") if shelf.get(key) is not None}


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (Invalidation(10, 11, ["a", "elsewhere"]), {"b"}),
        (Invalidation(10, 11, [], ["group"]), {"a"}),
        (Invalidation(10, 11, [], ["user:x"]), {"a", "b"}),
        (Invalidation(10, 11, []), {"a", "b"}),
        (Invalidation(10, 11, None), set()),
        # One write was not heard of.
        (Invalidation(11, 12, []), set()),
        # What was heard of before, late or doubled.
        (Invalidation(9, 10, None), {"a", "b"}),
    ],
)
def test_a_word_drops_what_it_names_and_a_gap_everything(memory, shelf, told, left):
    memory.apply(told)
    assert kept(shelf) == left


def test_what_any_write_may_change_is_dropped_by_each(memory):
    counts: CacheRegion[int] = memory.add_region(1, None)
    for told in (Invalidation(10, 11, []), Invalidation(11, 12, ["a"])):
        memory.put_if_current(counts, {"all": 1}, memory.generation())
        assert counts.get("all") == 1
        memory.apply(told)
        assert counts.get("all") is None


def test_a_number_that_moved_is_waited_for_once_and_then_drops_everything(memory, shelf):
    assert memory.is_fresh(float("inf"))
    memory.confirm_sequence(11, 1.0)
    assert kept(shelf) == {"a", "b"}
    memory.confirm_sequence(11, 2.0)
    assert kept(shelf) == set()
    # The word that comes after all says nothing new.
    memory.put_if_current(shelf, {"a": frozenset()}, memory.generation())
    memory.apply(Invalidation(10, 11, None))
    assert kept(shelf) == {"a"}


def test_a_number_that_is_explained_in_time_drops_only_what_was_said(memory, shelf):
    memory.confirm_sequence(11, 1.0)
    memory.apply(Invalidation(10, 11, ["a"]))
    # The next write is waited for anew.
    memory.confirm_sequence(12, 2.0)
    memory.apply(Invalidation(11, 12, []))
    memory.confirm_sequence(12, 3.0)
    assert kept(shelf) == {"b"}


def test_a_number_that_went_back_drops_everything(memory, shelf):
    memory.confirm_sequence(3, 1.0)
    assert kept(shelf) == set()


def test_nothing_counts_as_compared_while_a_word_is_waited_for():
    memory = InvalidatingCache()
    assert not memory.is_fresh(LONG)
    memory.confirm_sequence(10, float("inf"))
    assert memory.is_fresh(LONG)
    memory.expire()
    assert not memory.is_fresh(LONG)
    memory.confirm_sequence(11, float("inf"))
    assert not memory.is_fresh(LONG)


def test_what_was_loaded_before_a_word_and_stored_after_it_is_not_kept(memory, shelf):
    ticket = memory.generation()
    memory.apply(Invalidation(10, 11, ["c"]))
    memory.put_if_current(shelf, {"c": frozenset()}, ticket)
    assert kept(shelf) == {"a", "b"}
    memory.put_if_current(shelf, {"c": frozenset()}, memory.generation())
    assert kept(shelf) == {"a", "b", "c"}


def test_nothing_is_kept_before_the_first_comparison():
    memory = InvalidatingCache()
    shelf: CacheRegion[str] = memory.add_region(8, lambda _: ())
    memory.put_if_current(shelf, {"a": "loaded"}, memory.generation())
    assert len(shelf) == 0


def test_a_full_shelf_lets_go_of_what_has_been_there_longest(memory):
    shelf: CacheRegion[int] = memory.add_region(16, lambda _: ())
    for number in range(1000):
        memory.put_if_current(shelf, {str(number): number}, memory.generation())
        assert len(shelf) <= 16
    assert shelf.get("999") == 999
    memory.put_if_current(shelf, {f"more {number}": number for number in range(1000)}, memory.generation())
    assert len(shelf) <= 16


def test_readers_writers_and_words_at_once_leave_nothing_that_was_dropped(memory):
    """Loaders read a value that a writer moves; whatever is kept in the end is what was written last."""
    shelf: CacheRegion[int] = memory.add_region(8, lambda _: ())
    stored = [0]
    is_over = threading.Event()

    def load() -> None:
        while not is_over.is_set():
            ticket = memory.generation()
            memory.put_if_current(shelf, {"a": stored[0]}, ticket)

    loaders = [threading.Thread(target=load) for _ in range(3)]
    for loader in loaders:
        loader.start()
    stale = 0
    for number in range(11, 2011):
        stored[0] = number
        memory.apply(Invalidation(number - 1, number, ["a"]))
        found = shelf.get("a")
        stale += found is not None and found < number
    is_over.set()
    for loader in loaders:
        loader.join()
    assert stale == 0


#: What a carrier may bring: damaged, of another release, or made up by somebody without the key.
STRANGE_MESSAGES = [
    *("", "{}", "[1,2,3,4]", "[2,1,[],[]]", '[1,2,["a"]]', '["1","2",[],[]]', "[1,2,[3],[]]", "[10,11,[],[]]"),
    *("[true,11,[],[]]", "[" * 100_000, "\ud800", "[10,11,[],[]]:" + "A" * 43),
    invalidation.encode_message(Invalidation(10, 11, ["a"])).replace("a", "c", 1),
    signing.Signer(salt="another").sign("[10,11,[],[]]"),
]


@pytest.fixture
def process_memory(memory: InvalidatingCache, monkeypatch: pytest.MonkeyPatch) -> InvalidatingCache:
    monkeypatch.setattr(invalidating_cache, "process_cache", memory)
    return memory


@pytest.mark.parametrize("message", STRANGE_MESSAGES, ids=range(len(STRANGE_MESSAGES)))
def test_a_strange_message_makes_the_process_look_and_hides_no_write(process_memory, shelf, message):
    process_memory.confirm_sequence(10, float("inf"))
    assert invalidation.receive(message) is False
    assert not process_memory.is_fresh(LONG)
    # The real write of that number drops what it touched, before and after the comparison.
    process_memory.confirm_sequence(11, 1.0)
    assert invalidation.receive(invalidation.encode_message(Invalidation(10, 11, ["a"]))) is True
    process_memory.confirm_sequence(11, 2.0)
    assert kept(shelf) == {"b"}


def test_a_message_of_ours_is_applied(process_memory, shelf):
    assert invalidation.receive(invalidation.encode_message(Invalidation(10, 11, {"a"}, {"group"}))) is True
    assert kept(shelf) == set()
    assert invalidation.receive(invalidation.encode_message(Invalidation(11, 12, None))) is True
