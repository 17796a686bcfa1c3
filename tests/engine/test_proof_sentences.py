"""Proofs in words: what a change gives and takes, and an example of it."""

import pytest

from policies.engine.proofs import prover, sentences
from policies.engine.proofs.verdicts import Proof, Verdict
from tests.engine.test_proofs import ANY_GROUP, DATASETS, EVERYBODY, FINANCE, OWNERS, PII, gives, of, users
from tests.worlds import document, urn

SALES, READERS = {"groups": [urn("group:sales")]}, {"roles": ["urn:li:dataHubRole:Reader"]}
MANAGING_TAGS = document(type="PLATFORM", privileges=["MANAGE_TAGS"], actors=users("a"))
TAGS, IN_SALES = "Edit Tags", "tagged PII in the domain Finance"
NAMES = {
    urn("group:sales"): "Sales",
    urn("a"): "Ada",
    urn("domain:finance"): "Finance",
    urn("tag:pii"): "PII",
    READERS["roles"][0]: "Readers",
}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (gives(users("a"), DATASETS), "Ada: Edit Tags on a dataset"),
        (gives(SALES, PII, FINANCE, DATASETS), f"a member of Sales: {TAGS} on a dataset {IN_SALES}"),
        (gives(READERS, DATASETS), "a holder of the role Readers: Edit Tags on a dataset"),
        (gives(ANY_GROUP, DATASETS), "a member of a group: Edit Tags on a dataset"),
        (gives(EVERYBODY, DATASETS), "somebody: Edit Tags on a dataset"),
        (gives(OWNERS, DATASETS), "somebody: Edit Tags on a dataset owned by that person"),
        (MANAGING_TAGS, "Ada: Manage Tags across the platform"),
        (gives(users("stranger"), DATASETS), "stranger: Edit Tags on a dataset"),
    ],
)  # fmt: skip
def test_an_example_says_who_may_do_what_on_an_entity_like_which(policy, words):
    proof = prover.allows_more(of(), of(new=policy))
    assert proof.example is not None
    assert sentences.describe_access(proof.example, NAMES) == words


def describe(before, after):
    gain, loss = (prover.allows_more(*pair) for pair in ((before, after), (after, before)))
    return sentences.describe_proofs(gain, loss, NAMES)


def test_a_change_is_said_to_give_and_to_take():
    narrow, wide = of(some=gives(users("a"), DATASETS, PII)), of(some=gives(users("a"), DATASETS))
    example = "Ada: Edit Tags on a dataset"
    assert describe(narrow, wide) == [f"It gives more: for example {example}.", sentences.NOTHING_TAKEN]
    assert describe(wide, narrow) == [
        sentences.NOTHING_NEW,
        f"It takes something: for example, no longer {example}.",
    ]
    assert describe(wide, of(other=gives(users("a"), DATASETS))) == [sentences.NOTHING_CHANGED]


def test_what_is_not_known_is_not_said_to_be_so():
    unknown, no = Proof(Verdict.UNKNOWN), Proof(Verdict.NO)
    assert sentences.describe_proofs(unknown, no, {}) == [sentences.GAIN_UNKNOWN, sentences.NOTHING_TAKEN]
    assert sentences.describe_proofs(no, unknown, {}) == [sentences.NOTHING_NEW, sentences.LOSS_UNKNOWN]
    assert sentences.describe_proofs(unknown, unknown, {}) == [sentences.GAIN_UNKNOWN, sentences.LOSS_UNKNOWN]
