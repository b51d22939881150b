"""Publishing: the checked site and nothing else, to a branch of a repository that lies here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attention_scaling.ledger.verdicts import read_verdicts, write_verdicts

SITE = "reports/_site"
PROVENANCE = "results/provenance.json"


def git(folder: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", "-C", folder, *arguments], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.fixture
def project(workspace):
    """The finished study in a repository of its own, all committed; its site says so."""
    identity = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in {"NAME": "A", "EMAIL": "a@example.org"}.items()
    }
    workspace.environment |= {"PYTHONPATH": str(workspace.path("workflow")), **identity}
    git(workspace.folder, "init", "--quiet", "--initial-branch=main")
    git(workspace.folder, "add", "--all")
    signed = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    git(workspace.folder, *signed, "commit", "--quiet", "-m", "All of it")
    study = json.loads(workspace.path(PROVENANCE).read_text())
    study |= {"commit": git(workspace.folder, "rev-parse", "HEAD"), "clean": True}
    workspace.path(PROVENANCE).write_text(json.dumps(study))
    return workspace


@pytest.fixture
def remote(tmp_path) -> Path:
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", folder)
    return folder


def publish(project, remote) -> subprocess.CompletedProcess:
    return project.call(
        [sys.executable, "-m", "attention_scaling", "publish", "--remote", str(remote)]
    )


def published(remote: Path, tmp_path: Path) -> dict[str, bytes]:
    """All files of the branch, by path."""
    folder = tmp_path / "published"
    git(tmp_path, "clone", "--quiet", "--branch", "gh-pages", remote, folder)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def change(project) -> None:
    """Another site, as sound as the one before."""
    page = project.path(f"{SITE}/method.html")
    page.write_text(page.read_text().replace("</body>", "<p>More.</p></body>"))
    project.path(f"{SITE}/assets/site.css").with_name("unused.css").write_text("")


def test_the_site_and_nothing_else_is_pushed(project, remote, tmp_path):
    git(project.folder, "push", "--quiet", str(remote), "main")
    before = git(project.folder, "for-each-ref"), git(remote, "rev-parse", "main")
    run = publish(project, remote)
    assert run.returncode == 0, run.stdout
    assert "WARNING" not in run.stdout
    assert published(remote, tmp_path) == project.contents(SITE) | {".nojekyll": b""}
    assert (git(project.folder, "for-each-ref"), git(remote, "rev-parse", "main")) == before


def test_the_same_site_changes_nothing_and_another_takes_its_place(project, remote, tmp_path):
    change(project)
    for said in (" files of commit ", "has this site already"):
        run = publish(project, remote)
        assert run.returncode == 0, run.stdout
        assert said in run.stdout
        assert git(remote, "rev-list", "--count", "gh-pages") == "1"

    project.path(f"{SITE}/assets/unused.css").unlink()
    run = publish(project, remote)
    assert run.returncode == 0, run.stdout
    assert git(remote, "rev-list", "--count", "gh-pages") == "2"
    assert published(remote, tmp_path) == project.contents(SITE) | {".nojekyll": b""}


def test_a_site_with_a_fault_is_refused(project, remote):
    page = project.path(f"{SITE}/method.html")
    page.write_text(page.read_text().replace("</body>", '<a href="nowhere.html">x</a></body>'))
    run = publish(project, remote)
    assert run.returncode == 2
    assert "dead link" in one_line(run.stdout)
    assert not git(remote, "for-each-ref")


def test_unexpected_verdicts_are_refused(project, remote):
    path = project.path(f"{SITE}/_generated/downloads/verdicts.parquet")
    verdicts = read_verdicts(path)
    verdicts.loc[0, "expected"] = False
    write_verdicts(verdicts, path)
    run = publish(project, remote)
    assert run.returncode == 2
    assert f"unexpected verdicts on {verdicts.loc[0, 'claim']}" in one_line(run.stdout)
    assert not git(remote, "for-each-ref")


def test_what_is_not_committed_is_warned_of(project, remote):
    page = project.path("reports/method.qmd")
    page.write_text(page.read_text() + "\nEdited.\n")
    run = publish(project, remote)
    assert run.returncode == 0
    assert "WARNING: not committed: reports/method.qmd" in run.stdout


def test_numbers_made_with_uncommitted_changes_are_warned_of_and_marked(project, remote):
    study = json.loads(project.path(PROVENANCE).read_text())
    project.path(PROVENANCE).write_text(json.dumps(study | {"clean": False}))
    run = publish(project, remote)
    assert run.returncode == 0
    assert "WARNING: the numbers of this site were made with uncommitted changes" in run.stdout
    subject = git(remote, "log", "-1", "--format=%s", "gh-pages")
    assert subject.endswith("with uncommitted changes")


def test_a_remote_that_is_none(project):
    run = publish(project, "nowhere")
    assert run.returncode == 2
    assert one_line(run.stdout).startswith("error: remote 'nowhere'")


def one_line(output: str) -> str:
    """The only line of the output."""
    (line,) = output.strip().splitlines()
    return line
