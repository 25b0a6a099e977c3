# SPDX-License-Identifier: Apache-2.0
"""The sentences of a Markdown page, for the rules of docs/style.md that a machine can hold."""
import re
import statistics

# Words that style.md rules out, because a reader has to look for what they mean.
UNCLEAR = re.compile(
    r"\b(those that|who|whom|so many|(is|are) told|the how-manieth|nobody)\b", re.I)
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|et al|vs|Fig|Sec|No)\.")


def without_code(text):
    """The page without fenced blocks, comments, tables, headings and pictures."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", "\n", text, flags=re.S | re.M)
    lines = [line for line in text.split("\n")
             if not re.match(r"\s*(\||#|!\[|<|---$|!!!|===)", line)]
    return "\n".join(lines)


def paragraphs(text):
    """Runs of prose: a paragraph or one item of a list each."""
    text = re.sub(r"^\s*([-*+]|\d+\.)\s+", "\n\n", without_code(text), flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text):
    found = []
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "code", paragraph)
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
        plain = ABBREVIATIONS.sub(lambda match: match.group(1), plain)
        plain = plain.replace("**", "").replace("*", "")
        found += [s for s in re.split(r"(?<=[.?!:])[)\"”]*\s+", plain) if re.search(r"\w", s)]
    return found


def lengths(text):
    return [len(sentence.split()) for sentence in sentences(text)]


def median_length(text):
    """In words; 0 without sentences."""
    counts = lengths(text)
    return statistics.median(counts) if counts else 0


def unclear_words(text):
    """The words that docs/style.md rules out, with their sentence."""
    return [(match.group(0), sentence) for sentence in sentences(text)
            for match in [UNCLEAR.search(sentence)] if match]
