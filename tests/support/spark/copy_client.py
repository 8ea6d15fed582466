"""Asks `serve_copies` (see `daemon`) for a copy, and ends with it. It imports little, so as to start at once."""

import json
import os
import socket

with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(os.environ["OSTINATO_COPIES"])
    asking.sendall(json.dumps(dict(os.environ)).encode() + b"\n")
    asking.recv(1)
