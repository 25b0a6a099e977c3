#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shell on another machine, over the network, for tests that have no ssh.

    far_shell.py serve              runs commands that come in, each with its connection as its
                                    input and output, until it is killed
    far_shell.py MACHINE WORD …     runs the words there, with this input and output
"""
import os
import socket
import subprocess
import sys
import threading

PORT = 2022


def serve() -> None:
    with socket.create_server(("", PORT)) as server:
        while True:
            connection, _ = server.accept()
            words = b""
            while not words.endswith(b"\0"):
                words += connection.recv(1)
            subprocess.Popen(["sh", "-c", words[:-1].decode()], stdin=connection,
                             stdout=connection)
            connection.close()


def pass_on(read, write, end) -> None:
    while data := read(65536):
        write(data)
    end()


def ask(machine: str, words: str) -> None:
    with socket.create_connection((machine, PORT), timeout=5) as connection:
        connection.settimeout(None)
        connection.sendall(words.encode() + b"\0")
        threading.Thread(target=pass_on, daemon=True, args=(
            lambda most: os.read(0, most), connection.sendall,
            lambda: connection.shutdown(socket.SHUT_WR))).start()
        pass_on(connection.recv, lambda data: os.write(1, data), lambda: None)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        try:
            ask(sys.argv[1], " ".join(sys.argv[2:]))
        except OSError as error:
            sys.exit(f"far_shell.py: {sys.argv[1]}: {error}")
