"""Export into files that people edited: their comments, order and quotes stay where the content does."""

import difflib
import io
import json
import re
from typing import Any

from policies.writes import strict_yaml

#: A list whose items stand further right than its key; the editor writes one style for all lists of a file.
_INDENTED_LIST = re.compile(r"^( *)[^\s#-][^\n]*:[^\n]*\n\1 +- ", re.MULTILINE)


def update_text(text: str, value: Any) -> str:
    """Return a YAML text changed so that it says `value`; it stays as it is where it says so already.

    Raises InvalidYaml for a text that cannot be read.
    """
    if _encode(strict_yaml.loads(text).value) == _encode(value):
        return text
    # The only user of this library, which takes a while to import.
    from ruamel.yaml import YAML

    editor = YAML(typ="rt")
    editor.preserve_quotes = True
    editor.width = 4096
    if _INDENTED_LIST.search(text):
        editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(text)
    if not _can_merge(document, value):
        return strict_yaml.dump(value)
    _merge(document, value)
    stream = io.StringIO()
    editor.dump(document, stream)
    merged_text = stream.getvalue()
    # What the editor would write differently is worth more than a comment.
    try:
        is_faithful = _encode(strict_yaml.loads(merged_text).value) == _encode(value)
    except strict_yaml.InvalidYaml:
        is_faithful = False
    return merged_text if is_faithful else strict_yaml.dump(value)


def _encode(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _can_merge(old: Any, new: Any) -> bool:
    """Whether both are mappings or both are lists."""
    return any(isinstance(old, kind) and isinstance(new, kind) for kind in (dict, list))


def _merge(old: Any, new: Any) -> None:
    """Change a mapping or list of the editor into `new`, touching only what differs."""
    if isinstance(old, list):
        _merge_list(old, new)
        return
    for key in [key for key in old if key not in new]:
        del old[key]
    for key, value in new.items():
        if key in old:
            _merge_item(old, key, value)
        else:
            old[key] = value


def _merge_list(old: list[Any], new: list[Any]) -> None:
    old_texts, new_texts = [_encode(item) for item in old], [_encode(item) for item in new]
    matcher = difflib.SequenceMatcher(None, old_texts, new_texts, autojunk=False)
    # From the end, so that the positions before a change stay what they are.
    for _, begin, end, new_begin, new_end in reversed(matcher.get_opcodes()):
        values = new[new_begin:new_end]
        if len(values) == end - begin:
            for index, value in enumerate(values, start=begin):
                _merge_item(old, index, value)
            continue
        for index in reversed(range(begin, end)):
            del old[index]
        for index, value in enumerate(values, start=begin):
            old.insert(index, value)


def _merge_item(old: Any, key: Any, value: Any) -> None:
    if _can_merge(old[key], value):
        _merge(old[key], value)
    elif _encode(old[key]) != _encode(value):
        old[key] = value
