"""Cases that a run draws: every case has its turn, and the seed of a run repeats its choice."""

from tests import depth


def test_every_case_has_its_turn_and_a_seed_repeats_the_choice():
    cases = list(range(7))
    drawn = {seed: depth.draw_part(cases, parts=3, seed=str(seed)) for seed in range(40)}
    assert {tuple(part) for part in drawn.values()} == {(0, 3, 6), (1, 4), (2, 5)}
    assert all(depth.draw_part(cases, parts=3, seed=str(seed)) == part for seed, part in drawn.items())


def test_a_single_case_is_tried_by_one_run_of_so_many():
    found = [depth.draw_part(["one"], parts=2, seed=str(seed)) for seed in range(40)]
    assert {tuple(part) for part in found} == {(), ("one",)}
