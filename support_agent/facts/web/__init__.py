"""The merged search: what the web, or the company's own site, says about a question; for the inside alone."""
