#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills in the outputs that the pages show: update_docs.py [PATTERN] [--measured] [--build FOLDER]

Every page (README.md, docs/, ...) whose path, or one of whose commands, matches PATTERN is run from
top to bottom, and its outputs are replaced by what the commands print now (tests/program/pages.py
has the forms). With a pattern, only the outputs of matching pages or commands change. Measurements
are taken anew, and dated, with --measured alone.
"""
import argparse
import datetime
import os
import re
import sys

sys.dont_write_bytecode = True
import pages  # noqa: E402


def today():
    now = datetime.date.today()
    return f"{now.day} {now:%B %Y}"


def wanted(piece, block, whole_page, pattern, measured):
    """Whether this output is to be refreshed; `block` is the block of commands before it."""
    if piece.measured and not measured:
        return False
    words = (block.commands if block and piece.how != ":" else "") + (piece.words or "")
    return whole_page or bool(pattern.search(words))


def updated(name, text, pattern, measured, checkout):
    """The page with its wanted outputs as they are now."""
    whole_page = bool(pattern.search(name))
    plan, block = [], None
    for piece in pages.pieces(text):
        if piece.commands is not None:
            block = piece
        plan.append((piece, piece.commands is None
                     and wanted(piece, block, whole_page, pattern, measured)))
    if not any(refresh for _, refresh in plan):
        return text
    print(name, file=sys.stderr)
    run = pages.Run(checkout())
    result, end = [], 0
    for piece, refresh in plan:
        if piece.commands is not None:
            if status := run.commands(piece):
                print(f"{name}:{piece.line}: status {status}\n{run.printed}", file=sys.stderr)
            continue
        if not refresh:
            continue
        status, output = run.output(piece)
        if status:
            print(f"{name}:{piece.line}: status {status}, left as it was\n{output}",
                  file=sys.stderr)
            continue
        shown = pages.block_of(output, today() if piece.measured else None)
        if pages.masked(shown) == pages.masked(piece.shown):
            continue
        print(f"  line {piece.line}: {piece.head()}", file=sys.stderr)
        result += [text[end:piece.start], piece.head(today()), "\n", shown, "<!-- end -->"]
        end = piece.end
    run.checkout.close()
    return "".join(result) + text[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--measured", action="store_true")
    parser.add_argument("--build", default=os.path.join(pages.ROOT, "build"))
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    program = pages.built_program(build)
    for name in pages.page_names():
        text = pages.read(name)
        new = updated(name, text, re.compile(arguments.pattern), arguments.measured,
                      lambda: pages.Checkout(program, build))
        if new != text:
            with open(os.path.join(pages.ROOT, name), "w", encoding="utf-8") as file:
                file.write(new)


if __name__ == "__main__":
    main()
