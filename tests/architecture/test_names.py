"""Names are the words that a newcomer from this field would search for (docs/glossary.md, "Names in the code").

A function begins with a verb, or ends in a noun of the field. A class name is there once. A local is named for the
thing that it is, not for its grammar.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("authzsite", "policies", "catalog")


def read_words(name: str) -> frozenset[str]:
    return frozenset((Path(__file__).parent / name).read_text(encoding="utf-8").split())


#: What a function may begin with: verbs, words of predicates, and words of conversions, which never stand alone.
VERBS = read_words("verbs.txt")
CONVERSIONS = frozenset({"any", "as", "from", "on", "to", "with", "without"})
#: What the name of a function may end with that derives a thing from what it is given.
NOUNS = read_words("nouns.txt")
#: After these the noun has come: `statements_of`, `rows_by_urn`.
JOINTS = frozenset(
    {"above", "after", "at", "before", "below", "by", "for", "from", "in", "of", "on", "per", "to", "with"}
)
#: Words that say nothing of the thing: participles and pronouns that stand for everything.
EMPTY = read_words("empty_words.txt")
#: Names that somebody else gave: methods that a framework or a library calls.
HOOKS = frozenset(
    {
        *("addInPlace", "db_parameters", "deconstruct", "getconn", "initial", "last_executed_query", "pre_save"),
        *("now", "pre_social_login", "readable", "readinto", "ready", "zero"),
    }
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def read_trees() -> dict[Path, ast.Module]:
    files = (file for app in APPS for file in sorted((ROOT / app).rglob("*.py")))
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in files if "migrations" not in file.parts}


def list_functions() -> Iterator[tuple[Path, Function, ast.ClassDef | None]]:
    for file, tree in read_trees().items():
        owners = {part: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body}
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield file, node, owners.get(node)


def is_chosen_elsewhere(node: Function, owner: ast.ClassDef | None) -> bool:
    """Whether Python or a framework calls it by its name, or it is an attribute to whoever reads it."""
    decorators = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
    is_attribute = owner is not None and bool(decorators & {"property", "cached_property", "setter"})
    is_special = node.name.startswith("__") and node.name.endswith("__")
    return is_special or is_attribute or node.name in HOOKS or node.name.startswith("pretty_")


def is_name_of_a_function(name: str) -> bool:
    first, *others = name.strip("_").lower().split("_")
    if first in VERBS or (first in CONVERSIONS and others):
        return True
    words = [first, *others]
    end = next((number for number, word in enumerate(words) if word in JOINTS and number), len(words))
    return first not in EMPTY and words[end - 1] in NOUNS


def test_a_function_begins_with_a_verb_or_is_a_noun_of_the_field():
    wrong = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
        for file, node, owner in list_functions()
        if not is_chosen_elsewhere(node, owner) and not is_name_of_a_function(node.name)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_verb_is_no_word_that_says_nothing():
    assert not VERBS & (EMPTY | CONVERSIONS)
    assert not NOUNS & EMPTY


def test_a_class_is_there_once():
    """But for those that Django reads by their names, choices inside of a model, and resources that SCIM names."""
    places = defaultdict(list)
    for file, tree in read_trees().items():
        inner = {part for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for part in node.body}
        for node in ast.walk(tree):
            is_named_by_scim = file.parts[-3:-1] == ("identity", "scim")
            if isinstance(node, ast.ClassDef) and node not in inner and node.name != "Command" and not is_named_by_scim:
                places[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def list_published(tree: ast.Module) -> set[ast.AST]:
    """Columns, and fields of forms and of the API: made by a call in the body of a class."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    fields = (part for node in classes for part in node.body if isinstance(part, ast.Assign))
    return {target for part in fields if isinstance(part.value, ast.Call) for target in part.targets}


def test_a_local_is_named_for_the_thing_that_it_is():
    wrong = []
    for file, tree in read_trees().items():
        published = list_published(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.arg):
                name = node.arg
            else:
                continue
            if name.strip("_") in EMPTY and node not in published:
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno} {name}")
    assert not wrong, "\n".join(wrong)
