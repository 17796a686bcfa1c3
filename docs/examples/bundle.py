"""A client of policies as code, of the standard library alone: for a CI job that reviews and applies a folder.

    AUTHZSITE_URL=https://authz.example AUTHZSITE_TOKEN=... python bundle.py plan|test|apply FOLDER

`plan` exits with 2 if something would change, `test` with 1 if a test fails; what is refused exits with 3.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def read_folder(folder: Path, *, has_tests: bool) -> dict[str, str]:
    """Return path → text of the YAML files of a folder; ends the program where there is none of that name."""
    if not folder.is_dir():
        sys.stderr.write(f"{folder}: There is no such folder.\n")
        sys.exit(3)
    files = [file for file in folder.rglob("*") if file.suffix in (".yaml", ".yml") and file.is_file()]
    texts = {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in files}
    names = [path.split("/")[0] for path in texts]
    return {
        path: text
        for (path, text), name in zip(texts.items(), names, strict=True)
        if not name.startswith(".") and (has_tests or name != "tests")
    }


def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return what the call answers; ends the program where it is refused, with every problem and its line."""
    request = urllib.request.Request(
        f"{os.environ['AUTHZSITE_URL'].rstrip('/')}/api/v1/bundles/{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {os.environ['AUTHZSITE_TOKEN']}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            parsed: dict[str, Any] = json.loads(answer.read())
            return parsed
    except urllib.error.HTTPError as error:
        problem = json.loads(error.read())
        for entry in problem.get("errors", ()):
            sys.stderr.write(f"{entry['pointer']}: {entry['detail']}\n")
        sys.stderr.write(f"{problem['status']}: {problem['detail']}\n")
        sys.exit(3)


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="bundle.py")
    parser.add_argument("command", choices=["plan", "test", "apply"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source", help="where the folder is kept; pages link to it")
    parser.add_argument("--prune", action="store_true", help="delete what is managed and no longer in the folder")
    parser.add_argument("--confirm-empty", action="store_true", help="with --prune: no files mean delete everything")
    parser.add_argument("--take-over", action="store_true", help="take what is managed from another source")
    parser.add_argument("--junit", type=Path, help="write the results of `test` here, as JUnit XML")
    options = parser.parse_args()
    if options.command == "test" and options.junit is not None:
        # What an earlier run found would be taken for what this one did not.
        options.junit.unlink(missing_ok=True)
    body: dict[str, Any] = {
        "files": read_folder(options.folder, has_tests=options.command == "test"),
        "prune": options.prune,
        "confirm_empty": options.confirm_empty,
        "take_over": options.take_over,
    }
    if options.source is not None:
        body["source"] = options.source
    if options.command == "test":
        answer = post("test", body | {"junit": True})
        if options.junit is not None:
            options.junit.write_text(answer["junit"], encoding="utf-8")
        for result in answer["results"]:
            for failure in result["failures"]:
                sys.stdout.write(f"{result['file']}:{failure['line']}: {failure['message']}\n")
        sys.stdout.write(f"{answer['passed']} hold, {answer['failed']} fail.\n")
        return 1 if answer["failed"] else 0
    answer = post(options.command, body)
    if options.command == "plan":
        sys.stdout.write(f"{answer['text']}\n")
        return 2 if answer["changes"] else 0
    sys.stdout.writelines(f"{warning}\n" for warning in answer["warnings"])
    changed = [f"{change['action']}: {change['name']}" for change in answer["changes"]]
    sys.stdout.write("\n".join([*changed, f"The policies are at version {answer['policy_version']}."]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
