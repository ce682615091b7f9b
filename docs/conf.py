"""The documentation site: ``sphinx-build -W docs site`` (extra ``docs``).

Sphinx with the PyData theme is what scikit-learn, SciPy and NumPy use: kept well, with search and
all assets in the built folder, so that the site works offline. (Material for MkDocs, the other
candidate, ends in May 2027.) Pages are Markdown (MyST); the reference is made from the code.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import visualwords

project = "visualwords"
author = "the visualwords developers"
version = release = visualwords.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
]
exclude_patterns: list[str] = []
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # pages of results begin their tables at the second level
    "toc.not_included",
]

numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_typehints = "none"  # docstrings say them, with shapes
autodoc_default_options = {"members": True, "inherited-members": False, "show-inheritance": False}

html_theme = "pydata_sphinx_theme"
html_title = "visualwords"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "collapse_navigation": True,  # its arrows have no names for screen readers
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
}
html_sidebars = {"index": []}


def setup(app: Any) -> None:
    """Write the generated pages before Sphinx reads any, and mend links out of the site."""
    import reference_pages

    reference_pages.write(Path(app.srcdir) / "reference")
    app.connect("source-read", reference_pages.without_links_outside)
    app.connect("autodoc-skip-member", reference_pages.is_routing)
