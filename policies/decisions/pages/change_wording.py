"""The sentences of the change log: what happened, and what stands where there is no state before or after it."""

from typing import NamedTuple

from policies.models import Verb

#: What each kind of write does, as a sentence.
SENTENCES = {
    Verb.CREATED: "It was created.",
    Verb.UPDATED: "It was changed.",
    Verb.DELETED: "It was deleted.",
    Verb.ACTIVATED: "It was activated.",
    Verb.DEACTIVATED: "It was deactivated.",
    Verb.RESTORED: "An earlier version of it was restored.",
    Verb.BEGAN: "Its time began: it is in effect from then on.",
    Verb.ENDED: "Its time ended: it is no longer in effect.",
    Verb.SUSPENDED: "The account was suspended.",
    Verb.MEMBERS_CHANGED: "The members of the group were changed.",
    Verb.ROLES_CHANGED: "The roles were changed.",
    Verb.PASSWORD_SET: "A password was set; passwords are not recorded.",
    Verb.TOKEN_CREATED: "An access token was created; the token itself is not recorded.",
    Verb.TOKEN_REVOKED: "An access token was revoked.",
    Verb.INVITE_CREATED: "An invitation was created; its link is not recorded.",
    Verb.INVITE_REVOKED: "An invitation was revoked.",
    Verb.RESET_CREATED: "A link to set a password was created; the link itself is not recorded.",
}

#: Writes before which their object did not exist, and what is said after those that end it.
_CREATING_VERBS = frozenset({Verb.CREATED, Verb.TOKEN_CREATED, Verb.INVITE_CREATED, Verb.RESET_CREATED})
_ENDINGS = {
    Verb.DELETED: "It was deleted.",
    Verb.TOKEN_REVOKED: "It was revoked.",
    Verb.INVITE_REVOKED: "It was revoked.",
}
_NOT_RECORDED = "Nothing is recorded."


class ChangeSentences(NamedTuple):
    """The event, and the words in place of a state before and of one after it."""

    event: str
    before: str
    after: str


def word_change(verb: str) -> ChangeSentences:
    """Return the sentences of a change; one of a kind unknown to this release is only said to be a change."""
    if verb not in set(Verb):
        return ChangeSentences(SENTENCES[Verb.UPDATED], _NOT_RECORDED, _NOT_RECORDED)
    known_verb = Verb(verb)
    return ChangeSentences(
        SENTENCES[known_verb],
        "It did not exist." if known_verb in _CREATING_VERBS else _NOT_RECORDED,
        _ENDINGS.get(known_verb, _NOT_RECORDED),
    )
