# SPDX-License-Identifier: Apache-2.0
"""Hooks of mkdocs that add pages from elsewhere, the reference, sources and notebooks.

The reference is made from the source, which is not imported: a page for each package, with every
public name of it. A name that is not documented fails the build.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import diagrams
import llms
import notebooks

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fastrec"

# Pages that are elsewhere in the repository, with their names in the site.
ELSEWHERE = {
    "README.md": "index.md",
    "csrc/format/FORMAT.md": "format.md",
    "benchmarks/README.md": "performance.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    **{
        f"examples/{path.name}": f"example-{path.stem.replace('_', '-')}.md"
        for path in sorted((ROOT / "examples").glob("*.py"))
    },
    "examples": "examples.md",
}
TITLES = {
    "records": "Records", "features": "Features", "parsing": "Parsing", "encoding": "Encoding",
    "images": "Images in batches", "batches": "Batches", "columns": "Columns", "errors": "Errors",
    "tables": "Tables", "bench": "Versions", "_core": "Checksums",
}  # fmt: skip
SOURCES: dict[str, str] = {}
"""Markdown of each page, by its name in the site."""

DRAWING = re.compile(r'<img [^>]*src="(diagrams/[\w-]+\.svg)"[^>]*>')
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


# -- The public names, from the source ------------------------------------------------------------


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def listed(tree: ast.Module) -> list[str]:
    """The names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def homes() -> dict[str, str]:
    """The module of every public name of the package itself."""
    tree = tree_of(PACKAGE / "__init__.py")
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            found.update({alias.name: node.module for alias in node.names})
    missing = [name for name in listed(tree) if name not in found]
    if missing:
        raise PluginError(f"no module is known for fastrec.{', fastrec.'.join(missing)}")
    return {name: found[name] for name in listed(tree)}


def modules() -> list[str]:
    """The public modules: those that the package imports as a whole."""
    tree = tree_of(PACKAGE / "__init__.py")
    return sorted(
        {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level and node.module is None
            for alias in node.names
        }
    )


def reference() -> Iterator[tuple[str, str, str]]:
    """Yield page, title and text of the reference."""
    pages: dict[str, list[str]] = {}
    for name, module in sorted(homes().items(), key=lambda each: each[0].lower()):
        package = module.split(".")[0]
        text = native(name) if package == "_core" else f"::: fastrec.{module}.{name}\n"
        pages.setdefault(package, []).append(text)
    for package, texts in sorted(pages.items(), key=lambda each: TITLES.get(each[0], each[0])):
        title = TITLES.get(package, package.capitalize())
        yield f"api-{package.strip('_')}.md", title, f"# {title}\n\n" + "\n".join(texts)
    for module in modules():
        path = PACKAGE / f"{module}.py"
        tree = tree_of(path if path.exists() else PACKAGE / module / "__init__.py")
        title = f"fastrec.{module}"
        yield f"api-{module}.md", title, f"# `{title}`\n\n" + "\n".join(members(module, tree))


def members(module: str, tree: ast.Module) -> Iterator[str]:
    """The names of a public module; a package's are where it imports them from."""
    doc = ast.get_docstring(tree) or ""
    yield doc.split("\n\n>>>")[0] + "\n"
    origin = {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    is_package = (PACKAGE / module).is_dir()
    for name in listed(tree):
        home = f"fastrec.{module}"
        if name in origin:
            source = origin[name]
            home = source if source.startswith("fastrec.") else (
                f"fastrec.{module}.{source}" if is_package else f"fastrec.{source}"
            )  # fmt: skip
        if module == "train":
            yield f"## `{name}`\n\n`tensorflow.{name}` of protobuf: the message of that name.\n"
        elif is_package and (PACKAGE / module / f"{name}.py").exists():
            yield f"::: fastrec.{module}.{name}\n"
        else:
            yield f"::: {home}.{name}\n"


def native(name: str) -> str:
    """A function of the extension: its signature from the stub, its text from the source."""
    stub = (PACKAGE / "_core.pyi").read_text(encoding="utf-8")
    signature = re.search(rf"^def ({name}\(.*?\)[^:\n]*):", stub, re.MULTILINE)
    for path in sorted((PACKAGE / "native").glob("*.pxi")):
        text = path.read_text(encoding="utf-8")
        doc = re.search(rf'^def {name}\(.*?:\n    """(.*?)"""', text, re.MULTILINE | re.DOTALL)
        if doc and signature:
            return f"## `{name}`\n\n```python\n{signature[1]}\n```\n\n{prose(doc[1])}\n"
    raise PluginError(f"fastrec.{name} has no docstring")


def prose(doc: str) -> str:
    """A docstring of the extension, which mkdocstrings does not see, as Markdown."""
    text = re.sub(r"^    ", "", doc, flags=re.MULTILINE).replace("``", "`")
    text = re.sub(r"^(\w+)\n-+$", r"**\1:**\n", text, flags=re.MULTILINE)
    text = re.sub(
        r"^(\w+)(?: : (.*))?\n    (.*)$",
        lambda found: f"- `{found[1]}`{f' (`{found[2]}`)' if found[2] else ''} - {found[3]}",
        text,
        flags=re.MULTILINE,
    )
    return re.sub(r"((?:^>>> .*\n.*\n?)+)", r"```pycon\n\1\n```\n", text, flags=re.MULTILINE)


def drawing(found: re.Match[str]) -> str:
    """A drawing of docs/diagrams, without its own colours; narrow screens scroll over it."""
    path = ROOT / "docs" / found[1]
    source = path.with_suffix(".dot").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    if diagrams.digest(source) not in text:
        raise PluginError(f"docs/{found[1]} is not that of its text: run python docs/diagrams.py")
    text = re.sub(r"<style>.*?</style>", "", text)
    text = text.replace("<svg ", '<svg style="min-width:460px" ', 1)
    return f'<div style="overflow-x:auto">{text}</div>'


# -- What mkdocs calls ----------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Fill in the reference, and under Guides the pages that the navigation does not name."""
    nav = {next(iter(each)): each for each in config.nav}
    nav["API reference"]["API reference"] = [
        "api.md",
        *({title: page} for page, title, _ in reference()),
    ]
    known = str(config.nav)
    for path in sorted((ROOT / "docs").glob("*.md")):
        if f"'{path.name}'" not in known:
            title = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
            nav["Guides"]["Guides"].append({title: path.name})
    examples = [page for page in ELSEWHERE.values() if page.startswith("example-")]
    nav["Start"]["Start"] = ["start.md", {"Examples": ["examples.md", *examples]}]
    nav["Format and internals"]["Format and internals"].append({"Licence": "license.md"})
    return config


def on_files(files: Any, config: Any) -> Any:
    for path, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=elsewhere(path)))
    for page, _, text in reference():
        files.append(File.generated(config, page, content=text))
    return files


def elsewhere(path: str) -> str:
    """The text of a page that is not in docs/."""
    if path == "examples":
        rows = [f"- [{name}]({page})" for name, page in ELSEWHERE.items() if "example-" in page]
        return "# Examples\n\nWhole programs, which the tests run.\n\n" + "\n".join(rows) + "\n"
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".py"):
        doc = ast.get_docstring(ast.parse(text)) or ""
        return f"# {Path(path).name}\n\n{doc}\n\n```python\n{text}```\n"
    return text if path != "LICENSE" else f"# Licence\n\n```text\n{text}\n```\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links are those of the repository, where the pages are elsewhere than in the site."""
    back = {page: path for path, page in ELSEWHERE.items()}
    here = back.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder = posixpath.dirname(here)

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        name = ELSEWHERE.get(target, target.removeprefix("docs/"))
        return f"{found[1]}{name}{found[3] or ''}{found[4]}"

    parts = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    text = "".join(parts)
    if here == "README.md":
        text = text.replace('"docs/speed-', '"speed-')  # the chart is HTML, not Markdown
    SOURCES[page.file.src_uri] = text
    return text


def on_post_build(config: Any, **_: Any) -> None:
    """Add the Markdown sources, their list, and the notebooks."""
    site = Path(config["site_dir"])
    llms.write(site, dict(sorted(SOURCES.items())))
    notebooks.write(site / "notebooks")


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things by roles, such as :class:, which are shown as code.

    Drawings become part of the page, so that they have its colours when these are switched.
    """
    html = DRAWING.sub(drawing, html)
    html = html.replace("::</p>", ":</p>")  # of the text before an indented block
    html = re.sub(r":(?:mod|class):`([\w.]+)`", r"\1", html)  # within the type of a parameter
    role = r":(?:class|func|meth|mod|attr|data):<code>~?(?:fastrec\.)?([^<]*)"
    return re.sub(role, r"<code>\1", html)
