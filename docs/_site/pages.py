"""Add pages to the site that are written, or generated, from somewhere else."""

import re
import tomllib
from os.path import relpath
from pathlib import Path, PurePosixPath
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Pages that stand beside the package, as one finds them in a repository.
FROM_ROOT = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}
LINK = re.compile(r"\[(?P<text>[^]\n]+)\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)]*)?\)")
GROUPS = {
    "spacy_factories": "Components",
    "spacy_architectures": "Model architectures",
    "spacy_misc": "Assignment and overlaps",
    "thinc_optimizers": "Optimizers",
    "spacy_readers": "Corpus readers",
    "spacy_callbacks": "Callbacks",
    "spacy_loggers": "Loggers",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that aren't in the folder `docs`."""
    for page, path in FROM_ROOT.items():
        text = (ROOT / path).read_text(encoding="utf8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "commands.md", content=describe_commands()))
    files.append(File.generated(config, "registered.md", content=list_registered()))
    return files


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Let links between files of the repository lead from page to page."""
    page_path = page.file.src_uri
    origin = FROM_ROOT.get(page_path, f"docs/{page_path}")

    def rewrite(link: re.Match[str]) -> str:
        target = find_target(origin, link["path"])
        if target is None:
            return link[0]
        place = to_page(target)
        if files.get_file_from_path(place) is None:
            return f"`{target}`"
        path = relpath(place, str(PurePosixPath(page_path).parent))
        return f"[{link['text']}]({path}{link['anchor'] or ''})"

    return LINK.sub(rewrite, markdown)


def find_target(origin: str, path: str) -> str | None:
    """Find what a file links to. spaCy's own page has links from the root."""
    beside = normpath(str(PurePosixPath(origin).parent / path))
    return next((t for t in (beside, path) if (ROOT / t).exists()), None)


def to_page(path: str) -> str:
    """Get the page that a file of the repository becomes."""
    pages = {name: page for page, name in FROM_ROOT.items()}
    return pages.get(path, path.removeprefix("docs/"))


def describe_commands() -> str:
    """Describe all commands, as their `--help` does."""
    import typer
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from spacy_epnet.cli import epnet_cli

    group = get_command(epnet_cli)
    context = typer.Context(group)
    text = "# Commands\n\n"
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        title = f"spacy epnet {name}"
        text += get_docs_for_click(obj=command, ctx=context, indent=1, name=title)
    return text


def list_registered() -> str:
    """List the functions that configs can name, with their documentation."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        entry_points = tomllib.load(file)["project"]["entry-points"]
    text = "# Registered functions\n\nThe names that a config can use.\n"
    for group, title in GROUPS.items():
        text += f"\n## {title}\n"
        for name, place in entry_points[group].items():
            text += f"\n### {name}\n\n::: {place.replace(':', '.')}\n"
            text += "    options: {heading_level: 4, show_root_toc_entry: false}\n"
    return text
