"""Keeps the words by which users and groups are found, in step with what they are called."""

from collections.abc import Iterable, Sequence

from policies.models import GroupProfile, NameWord, User
from policies.models.words import words

#: How many words of one user or group are indexed, the first ones of name, id and address.
_KEPT = 24


def index(*, users: Sequence[User] = (), groups: Sequence[GroupProfile] = ()) -> None:
    """Write the words of these stored rows anew; two queries for each kind, and part of the caller's transaction."""
    if users:
        NameWord.objects.filter(user__in=users).delete()
        NameWord.objects.bulk_create(
            NameWord(user=user, word=word, is_address=is_address)
            for user in users
            for word, is_address in _of_user(user).items()
        )
    if groups:
        NameWord.objects.filter(group__in=groups).delete()
        NameWord.objects.bulk_create(NameWord(group=group, word=word) for group in groups for word in _of_group(group))


def _of_user(user: User) -> dict[str, bool]:
    """Return the words of a user, each with whether only the address has it."""
    names = set(words(f"{user.display_name} {user.username}"))
    return {word: word not in names for word in _first([user.display_name, user.username, user.email])}


def _of_group(group: GroupProfile) -> list[str]:
    return _first([group.name, group.identifier])


def _first(texts: Iterable[str]) -> list[str]:
    return words(" ".join(texts))[:_KEPT]
