"""Sections to one file: the auditor that a bundle carries is its sections, one after the other, in one text.

Covers: the order (a section after those it imports from, otherwise as `running` names them), one block of standard
library imports, no name twice. The text depends on the sections' bytes alone, so an auditor can be made again from
a bundle's packed sources. Does not cover: what the sections check.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Dict, List, Mapping, Tuple

PACKAGE = "kit.evidence.audit"
FOLDER = "kit/evidence/audit/"
ENTRY = "running"  # the section that calls the others; its docstring is the whole file's
NO_SECTION = "__init__"


class JoinError(ValueError):
    """The sections do not make one file; the message names the section."""


class Section:
    """One section taken apart: what it imports, what it defines, and the text below its imports."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.needs: List[str] = []  # sections, in the order they are imported
        self.imports: Dict[
            str, List[str]
        ] = {}  # standard library module -> names, none for the module itself
        self.defines: List[str] = []
        tree = ast.parse(text)
        self.title = ast.get_docstring(tree, clean=False) or ""
        last = 0
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.take_import(node)
            elif not is_docstring(node):
                self.defines += names_of(node)
                continue
            last = node.end_lineno or node.lineno
        self.body = "\n".join(text.split("\n")[last:]).strip("\n")

    def take_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.refuse(alias.asname is not None, "an import under another name")
                self.imports.setdefault(alias.name, [])
        elif isinstance(node, ast.ImportFrom):
            names, module = [alias.name for alias in node.names], node.module or ""
            self.refuse(
                bool(node.level) or any(alias.asname for alias in node.names), "an import under another name"
            )
            if module.startswith(PACKAGE + "."):
                self.needs.append(module[len(PACKAGE) + 1 :])
            elif module != "__future__":
                self.refuse(module.split(".")[0] == "kit", "an import from outside the auditor")
                self.imports.setdefault(module, []).extend(names)

    def refuse(self, wrong: bool, what: str) -> None:
        if wrong:
            raise JoinError("%s%s.py holds %s" % (FOLDER, self.name, what))


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def names_of(node: ast.AST) -> List[str]:
    """What a statement at the top of a section defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


@lru_cache(maxsize=128)
def taken_apart(name: str, text: str) -> Section:
    """A section, taken apart once: bundles that are audited one after the other mostly hold the same ones."""
    return Section(name, text)


def join(sections: Mapping[str, str]) -> str:
    """One Python file out of section name -> text. Raises JoinError, or SyntaxError for a section that is no Python."""
    parsed = {name: taken_apart(name, text) for name, text in sections.items() if name != NO_SECTION}
    ordered = in_order(parsed)
    for name in sorted(set(parsed) - set(ordered)):
        raise JoinError("%s%s.py is never reached from %s" % (FOLDER, name, ENTRY))
    owners: Dict[str, str] = {}
    for name in ordered:
        for defined in parsed[name].defines:
            if owners.setdefault(defined, name) != name:
                raise JoinError("%s is defined in %s and in %s" % (defined, owners[defined], name))
    head = [
        "#!/usr/bin/env python3",
        '"""%s"""' % parsed[ENTRY].title,
        "",
        "from __future__ import annotations",
        "",
    ]
    parts = ["\n".join(head + imports_of([parsed[name] for name in ordered]))]
    for name in ordered:
        title = parsed[name].title.split("\n")[0] if name != ENTRY else "From the command line."
        parts.append("# %s %s: %s\n\n%s" % ("-" * 16, name, title, parsed[name].body))
    return "\n\n\n".join(parts) + "\n"


def in_order(parsed: Mapping[str, Section]) -> List[str]:
    """Names of the sections that the entry needs, each after those it needs itself."""
    done: List[str] = []
    pending: List[Tuple[str, Tuple[str, ...]]] = [(ENTRY, ())]
    while pending:
        name, above = pending.pop()
        if name in above or name not in parsed:
            raise JoinError(
                "%s needs %s, which %s" % (above[-1:], name, "needs it" if name in above else "is missing")
            )
        missing = [need for need in parsed[name].needs if need not in done]
        if missing:
            pending += [(name, above), (missing[0], (*above, name))]
        elif name not in done:
            done.append(name)
    return done


def imports_of(sections: List[Section]) -> List[str]:
    """The import lines of all sections as one block."""
    modules = sorted({name for section in sections for name, names in section.imports.items() if not names})
    taken: Dict[str, List[str]] = {}
    for section in sections:
        for module, names in section.imports.items():
            taken.setdefault(module, []).extend(names)
    named = [
        "from %s import %s" % (module, ", ".join(sorted(set(names))))
        for module, names in sorted(taken.items())
        if names
    ]
    return ["import %s" % name for name in modules] + named
