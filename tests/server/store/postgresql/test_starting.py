"""A database that is only just starting when it is opened."""

import subprocess
import sys
from pathlib import Path

from explorer.server.store.postgresql import PostgresStore
from tests.postgres import Cluster

# In a process of its own: libpq's ping holds the interpreter. It refuses the first connection as a
# starting server does, and passes all others on.
_RELAY = r"""
import socket, struct, sys, threading

def passing(one, other):
    while data := one.recv(65_536):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)

listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
print("listening", flush=True)
first, _ = listening.accept()
first.recv(8_192)
told = b"SFATAL\0C57P03\0Mthe database system is not yet accepting connections\0\0"
first.sendall(b"E" + struct.pack("!I", len(told) + 4) + told)
first.close()
while True:
    caller, _ = listening.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[2])
    for pair in ((caller, server), (server, caller)):
        threading.Thread(target=passing, args=pair, daemon=True).start()
"""


def test_a_database_that_answers_right_after_it_refused_is_opened(
    postgres: Cluster, tmp_path: Path
) -> None:
    name = f".s.PGSQL.{postgres.port}"
    own, there = (str(one).replace("/", "%2F") for one in (tmp_path, postgres.folder))
    address = postgres.new_schema().replace(f"host={there}", f"host={own}")
    assert there not in address
    places = (str(tmp_path / name), str(postgres.folder / name))
    with subprocess.Popen(
        (sys.executable, "-c", _RELAY, *places), stdout=subprocess.PIPE, text=True
    ) as relay:
        try:
            assert relay.stdout is not None
            relay.stdout.readline()
            store = PostgresStore(address)
            try:
                assert store.catalog_id()
            finally:
                store.close()
        finally:
            relay.kill()
