"""Index of the words in names, ids and addresses, by which searches find users and groups."""

from collections.abc import Sequence

from policies.models import GroupProfile, NameWord, User
from policies.models.words import MAX_NAME_WORDS, split_words


def rebuild(*, users: Sequence[User] = (), groups: Sequence[GroupProfile] = ()) -> None:
    """Replace the indexed words of these stored rows, in the caller's transaction; two queries for each kind."""
    if users:
        NameWord.objects.filter(user__in=users).delete()
        NameWord.objects.bulk_create(
            NameWord(user=user, word=word, is_address=is_address)
            for user in users
            for word, is_address in _user_words(user).items()
        )
    if groups:
        NameWord.objects.filter(group__in=groups).delete()
        NameWord.objects.bulk_create(
            NameWord(group=group, word=word) for group in groups for word in _first_words(group.name, group.identifier)
        )


def _user_words(user: User) -> dict[str, bool]:
    """Return word → whether it occurs only in the user's address."""
    names = set(split_words(f"{user.display_name} {user.username}"))
    return {word: word not in names for word in _first_words(user.display_name, user.username, user.email)}


def _first_words(*texts: str) -> list[str]:
    return split_words(" ".join(texts))[:MAX_NAME_WORDS]
