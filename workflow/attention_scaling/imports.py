"""Which modules of this package a module uses, found by reading the code and running none of it.

The workflow takes the files of these modules as inputs of the stage that imports them, so an edit reruns
what it can change and nothing else. Found are all `import` statements, those inside functions too, except
under `if TYPE_CHECKING:`. A module that is imported by a computed name is not found: its user names it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = __name__.partition(".")[0]
FOLDER = Path(__file__).parent

# They only find the code that is asked for and compute nothing: a new experiment or a new option reruns
# none of the others.
DISPATCHERS = frozenset({f"{PACKAGE}.__main__", f"{PACKAGE}.cli", f"{PACKAGE}.experiments"})


def modules_of(*names: str) -> frozenset[str]:
    """The modules in `names` and all modules of this package that they import, directly or not.

    Names are dotted and full. Raises `ModuleNotFoundError` for a name that is no module of the package.
    """
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in DISPATCHERS:
            found.add(name)
            waiting.extend(_imported_by(name))
    return frozenset(found)


def files_of(*names: str) -> list[Path]:
    """The source files of `modules_of(*names)`, and what lies in the packages' folders beside Python; sorted."""
    files = {_file(name) for name in modules_of(*names)}
    folders = {file.parent for file in files if file.name == "__init__.py"}
    beside = (file for folder in folders for file in folder.iterdir() if file.is_file())
    return sorted(files.union(file for file in beside if file.suffix not in (".py", ".pyc")))


def code_digest(*names: str) -> str:
    """SHA-256 over `files_of(*names)`, hexadecimal: equal code, equal digest."""
    digest = hashlib.sha256()
    for file in files_of(*names):
        digest.update(f"{file.relative_to(FOLDER).as_posix()}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _is_module(name: str) -> bool:
    try:
        _file(name)
    except ModuleNotFoundError:
        return False
    return True


def _file(name: str) -> Path:
    head, *parts = name.split(".")
    path = FOLDER.joinpath(*parts)
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if head == PACKAGE and file.is_file():
            return file
    raise ModuleNotFoundError(f"no module {name} in the package {PACKAGE}")


@cache
def _imported_by(name: str) -> frozenset[str]:
    """The package's modules that importing and running `name` imports first-hand, its packages included."""
    file = _file(name)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    targets = set()
    for node in _run_time_statements(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            targets.add(base)
            targets.update(f"{base}.{alias.name}" for alias in node.names)
    modules = {target for target in targets if target.startswith(PACKAGE) and _is_module(target)}
    return frozenset(modules.union(*map(_packages_above, [*modules, name])))


def _packages_above(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts))}


def _run_time_statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements in `node`, nested ones too, but those that only a type checker sees."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, field, ()):
            yield statement
            yield from _run_time_statements(_without_type_checking(statement))


def _without_type_checking(statement: ast.AST) -> ast.AST:
    if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
        return ast.Module(statement.orelse, [])
    return statement
