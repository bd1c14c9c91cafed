"""The language model and the embedding models: ports, runtimes, clients of servers, downloads."""
