"""The language model and the embedding models: ports, runtimes, clients of servers, downloads."""

from __future__ import annotations

import os

# llama.cpp's threads sleep while they wait for each other, instead of taking the cores from whatever else runs: beside
# one busy process a mail takes 20% less time, alone 3% more. It is read once, when the library is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
