"""What is inside files that others made (pdf, docx, html): read in a process of its own, as blocks of plain text."""
