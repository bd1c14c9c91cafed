"""Extracts blocks of plain text from untrusted files (pdf, docx, html), in a separate process."""
