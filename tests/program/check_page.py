#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of one page and compares the outputs that it shows: check_page.py PAGE [BUILD]

PAGE is a path from the root of the checkout, BUILD the folder of the build (build/).
"""
import difflib
import os
import sys
import time

sys.dont_write_bytecode = True
import pages  # noqa: E402


def differences(piece, output):
    shown, now = pages.masked(piece.shown), pages.masked(pages.block_of(output))
    if shown == now:
        return ""
    return "".join(difflib.unified_diff(shown.splitlines(keepends=True),
                                        now.splitlines(keepends=True), "the page", "now"))


def check(name, build):
    checkout = pages.Checkout(pages.built_program(build), build)
    run = pages.Run(checkout)
    failures = 0
    for piece in pages.pieces(pages.read(name)):
        place = f"{name}:{piece.line}"
        started = time.monotonic()
        wrong = ""
        if piece.commands is not None:
            if status := run.commands(piece):
                wrong = f"status {status} of\n{piece.commands}{run.printed}"
        elif not piece.measured:
            status, output = run.output(piece)
            if status:
                wrong = f"status {status} of {piece.head()}\n{output}"
            elif wrong := differences(piece, output):
                wrong = f"prints something else ({piece.head()}):\n{wrong}"
        print(f"{place}: {time.monotonic() - started:.1f} s", flush=True)
        if wrong:
            failures += 1
            print(f"{place}: {wrong}", flush=True)
    checkout.close()
    if failures:
        print("If the new outputs are right: tests/program/update_docs.py")
    return 1 if failures else 0


if __name__ == "__main__":
    build_folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(pages.ROOT, "build")
    sys.exit(check(sys.argv[1], os.path.abspath(build_folder)))
