"""Publish the site: push it, and nothing else, to a branch of a Git repository, such as GitHub Pages serves.

The commit is made by ghp-import in a repository of its own, so neither the project's branches nor its index are
touched, and the remote's earlier commits on the branch stay.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attention_scaling.errors import UserError
from attention_scaling.ledger.judging import unexpected
from attention_scaling.ledger.verdicts import read_verdicts
from attention_scaling.site.check import check

VERDICTS = Path("_generated", "downloads", "verdicts.parquet")
"""The verdicts that the site itself offers: what is judged is what is published."""

UNPUBLISHED = ".rendered"
"""The workflow's own mark in the site."""

IDENTITY = re.compile(r"(?P<name>.*) <(?P<email>.*)> \d+ [+-]\d+")


def publish(site: Path, remote: str, branch: str, provenance: Path) -> str:
    """Push the folder `site` to `branch` of `remote`, a remote's name, a path or a URL. Says what was done.

    Raises UserError, and pushes nothing, for a site that its check finds fault with, for verdicts that are not
    the expected ones, and for a remote that does not take it.
    """
    _require_publishable(site)
    source = _source(provenance)
    for warning in _warnings(provenance):
        print(f"WARNING: {warning}", file=sys.stderr)
    address = _address(remote)
    with tempfile.TemporaryDirectory(prefix="attention-scaling-") as folder:
        repository = Path(folder, "repository")
        _git("init", "--quiet", repository)
        before = _fetch(repository, address, branch)
        copy = Path(folder, "site")
        shutil.copytree(site, copy, ignore=shutil.ignore_patterns(UNPUBLISHED))
        tree = _commit(repository, copy, branch, f"Site of {source}")
        if tree == before:
            return f"{remote}, {branch}: has this site already"
        _git("push", "--quiet", address, branch, folder=repository)
        files = len(_git("ls-tree", "-r", "--name-only", branch, folder=repository).splitlines())
    return f"{remote}, {branch}: {files} files of {source}"


def _require_publishable(site: Path) -> None:
    if problems := check(site):
        raise UserError(f"{site}: not published: {len(problems)} problems, first: {problems[0]}")
    if not (site / VERDICTS).is_file():
        raise UserError(f"{site}: not published: offers no {VERDICTS}")
    surprises = unexpected(read_verdicts(site / VERDICTS))
    if len(surprises):
        claims = ", ".join(sorted(set(surprises["claim"])))
        raise UserError(f"{site}: not published: unexpected verdicts on {claims}")


def _study(provenance: Path) -> dict:
    try:
        return json.loads(provenance.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _source(provenance: Path) -> str:
    """What the site was made from, in a few words."""
    study = _study(provenance)
    if study.get("commit") is None:
        return "an unknown commit"
    return f"commit {study['commit'][:12]}" + (
        "" if study["clean"] else " with uncommitted changes"
    )


def _warnings(provenance: Path) -> list[str]:
    """Why nobody could make this site again from what is committed."""
    study = _study(provenance)
    if study.get("commit") is None:
        return [f"{provenance} names no commit: nobody can tell what made this site"]
    warnings = []
    if not study["clean"]:
        warnings.append("the numbers of this site were made with uncommitted changes")
    try:
        changed = _git("status", "--porcelain").splitlines()
        head = _git("rev-parse", "HEAD")
    except UserError:
        return [*warnings, "this folder is no Git repository any more"]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        warnings.append(f"not committed: {changed[0][3:]}{more}")
    if head != study["commit"]:
        warnings.append(f"its numbers are of commit {study['commit'][:12]}, not of {head[:12]}")
    return warnings


def _address(remote: str) -> str:
    """A remote's name resolved here, since another repository pushes there."""
    if Path(remote).exists():
        return str(Path(remote).resolve())
    try:
        return _git("remote", "get-url", "--push", remote)
    except UserError:
        if not re.search("[:/]", remote):
            raise UserError(
                f"remote {remote!r}: neither a remote of this repository nor an address"
            ) from None
        return remote


def _fetch(repository: Path, address: str, branch: str) -> str | None:
    """Take the branch as the remote has it; its tree, or None where there is no such branch."""
    if not _git("ls-remote", "--heads", address, f"refs/heads/{branch}", folder=repository):
        return None
    _git(
        "fetch",
        "--quiet",
        "--depth=1",
        address,
        f"refs/heads/{branch}:refs/heads/{branch}",
        folder=repository,
    )
    return _git("rev-parse", f"{branch}^{{tree}}", folder=repository)


def _commit(repository: Path, site: Path, branch: str, message: str) -> str:
    """Commit the folder's files as all that the branch holds; the tree of the commit."""
    if importlib.util.find_spec("ghp_import") is None:
        raise UserError("ghp-import is not installed: `make publish` installs it")
    try:
        identity = IDENTITY.fullmatch(_git("var", "GIT_COMMITTER_IDENT"))
    except UserError as error:
        raise UserError(
            f"{error}; git config user.name and user.email say who publishes"
        ) from error
    command = ["-m", "ghp_import", "--no-jekyll", "--branch", branch, "--message", message, site]
    _run(
        [sys.executable, *command],
        repository,
        GIT_COMMITTER_NAME=identity["name"],
        GIT_COMMITTER_EMAIL=identity["email"],
    )
    committed = _git("ls-tree", "-r", "-z", "--name-only", branch, folder=repository)
    expected = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    if set(committed.split("\0")) - {""} != expected:
        raise UserError("ghp-import did not commit the site's files, and only those")
    return _git("rev-parse", f"{branch}^{{tree}}", folder=repository)


def _git(*arguments: str | Path, folder: Path | None = None) -> str:
    return _run(["git", *arguments], folder)


def _run(command: list[str | Path], folder: Path | None, **variables: str) -> str:
    """What the command prints; UserError with the last line of its complaint where it fails."""
    try:
        run = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | variables,
        )
    except OSError as error:
        raise UserError(f"{command[0]}: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        complaint = (error.stderr or error.stdout).strip().splitlines()
        blamed = [line for line in complaint if line.startswith(("fatal:", "error:"))]
        said = (blamed or complaint or ["failed"])[0]
        raise UserError(f"{' '.join(map(str, command[:2]))}: {said}") from error
    return run.stdout.rstrip()
