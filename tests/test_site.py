"""The documentation site: what its own code makes of docstrings and links."""

import runpy

from .conftest import ROOT

SITE = ROOT / "docs" / "_site"
DOCSTRING = """Recognize entities. See also: nothing.

nlp (Language): The pipeline.
labels (Tuple[str, ...]): The types, in an order
    that stays.
**changes: Settings, such as {"a": 1}.
other (str): No parameter.
RETURNS (List[Span]): Those found,
    if any.

EXAMPLE:
    >>> recognize(nlp)
"""


def test_docstrings_are_read_as_parameters_and_results():
    convert = runpy.run_path(str(SITE / "docstrings.py"))["to_google_form"]
    assert convert(DOCSTRING, {"nlp", "labels", "changes"}) == (
        "Recognize entities. See also: nothing.\n"
        "\n"
        "Args:\n"
        "    nlp: The pipeline.\n"
        "    labels: The types, in an order\n"
        "        that stays.\n"
        '    **changes: Settings, such as {"a": 1}.\n'
        "other (str): No parameter.\n"
        "\n"
        "Returns:\n"
        "    Those found,\n"
        "        if any.\n"
        "\n"
        "Examples:\n"
        "    >>> recognize(nlp)\n"
    )
    assert convert("Get it. RETURNS (int): It.", set()) == (
        "Get it.\n\nReturns:\n    It."
    )


def test_links_between_files_become_links_between_pages():
    pages = runpy.run_path(str(SITE / "pages.py"))
    assert pages["to_page"]("README.md") == "index.md"
    assert pages["to_page"]("docs/research/speed.md") == "research/speed.md"
    find = pages["find_target"]
    assert find("docs/research/speed.md", "../safety.md") == "docs/safety.md"
    assert find("docs/project.md", "project.yml") == "project.yml"
    assert find("README.md", "docs/nothing.md") is None


def test_every_registered_function_has_documentation():
    page = runpy.run_path(str(SITE / "pages.py"))["list_registered"]()
    assert "### epnet_ner" in page
    assert "### spacy-epnet.EPNet.v1" in page


def test_every_command_has_documentation():
    page = runpy.run_path(str(SITE / "pages.py"))["describe_commands"]()
    assert "## `spacy epnet adapt`" in page
