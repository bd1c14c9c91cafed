"""Mail: bytes in, bytes out. Knows nothing of models or of the company's documents."""
