"""How Sphinx builds these pages: `make docs`, which fails at a link that leads nowhere."""

project = "support-agent"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = project
exclude_patterns = ["_build"]
myst_heading_anchors = 3
