"""The merged search: pages of the web and of the company's own site about a question; internal only."""
