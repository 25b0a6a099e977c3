#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for all pages together: links, named files, sizes, prose, navigation."""
import contextlib
import glob
import io
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import pages  # noqa: E402
import prose  # noqa: E402
import update_docs  # noqa: E402

README_BYTES_MAX = 12_288
MEDIAN_WORDS_BELOW = 20
WORDS_MAX = 40  # of a sentence
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
# Inline code that names a file or folder of the checkout, perhaps with wildcards.
PLACE = re.compile(r"`((?:\.ci|cmake|docs|engine|kernels|models|network|runtime|scenarios|tests)/"
                   r"[\w./*{},-]*)`")


def slug(heading):
    """The anchor of a heading, as GitHub and Python-Markdown make it."""
    plain = re.sub(r"`|\*|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def text_without_blocks(text):
    return re.sub(r"^```.*?^```$", "", re.sub(r"<!--.*?-->", "", text, flags=re.S),
                  flags=re.S | re.M)


def anchors(text):
    return {slug(line.lstrip("# ")) for line in text_without_blocks(text).split("\n")
            if line.startswith("#")}


def dead_link(name, target):
    """Why this link of a page leads nowhere; None if it does not."""
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if not os.path.exists(os.path.join(pages.ROOT, file)):
        return f"{file} does not exist"
    if anchor and anchor not in anchors(pages.read(file)):
        return f"{file} has no heading #{anchor}"
    if name.startswith("docs/") and not file.startswith("docs/"):
        return f"{file} is not part of the site; name it as inline code"
    return None


def expanded(place):
    """`a/{b,c}.h` is a/b.h and a/c.h."""
    braces = re.search(r"\{([^}]*)\}", place)
    if not braces:
        return [place]
    return [result for word in braces.group(1).split(",")
            for result in expanded(place[:braces.start()] + word + place[braces.end():])]


class Links(unittest.TestCase):
    def test_lead_to_files_and_headings(self):
        for name in pages.page_names():
            for match in LINK.finditer(text_without_blocks(pages.read(name))):
                target = match.group(1) or match.group(2)
                with self.subTest(page=name, target=target):
                    self.assertIsNone(dead_link(name, target))

    def test_files_named_in_prose_exist(self):
        for name in pages.page_names():
            for match in PLACE.finditer(text_without_blocks(pages.read(name))):
                for place in expanded(match.group(1).replace("NAME", "*")):
                    with self.subTest(page=name, place=place):
                        self.assertTrue(glob.glob(os.path.join(pages.ROOT, place)))

    def test_a_dead_link_is_found(self):
        self.assertIsNone(dead_link("docs/index.md", "../docs/style.md"))
        self.assertIsNone(dead_link("README.md", "https://example.org/x"))
        self.assertIn("does not exist", dead_link("README.md", "docs/no.md"))
        self.assertIn("no heading", dead_link("README.md", "docs/style.md#no-such-heading"))
        self.assertIn("not part", dead_link("docs/index.md", "../README.md"))
        self.assertEqual(expanded("a/{b,c}.h"), ["a/b.h", "a/c.h"])
        self.assertEqual(slug("A `b` - and *c*: d?"), "a-b-and-c-d")


class Commands(unittest.TestCase):
    """Commands that are shown but not run name commands and options that exist."""

    @classmethod
    def setUpClass(cls):
        program = pages.built_program(BUILD)
        cls.help = {"": cls.printed(program, "--help")}
        listed = cls.help[""].split("\nExample")[0]
        for command in re.findall(r"^ {2}([a-z][\w-]*) {2,}\S", listed, re.M):
            cls.help[command] = cls.printed(program, command, "--help")

    @staticmethod
    def printed(*words):
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def test_are_read_from_the_help(self):
        self.assertGreater(len(self.help), 20)
        self.assertIn("--set", self.help["simulate"])

    def unknown(self, line):
        match = re.match(r"\s*(?:\S*\$ |srun [^;|]*|mpirun [^;|]*|[A-Z_]+=\S+ )*(?:\./)?orrery"
                         r"(?: ([a-z][\w-]*))?(.*)", line)
        if not match or match.group(1) in ("test", "sanitize", None):
            return None
        command, rest = match.groups()
        if command not in self.help:
            return f"orrery has no command {command}"
        rest = rest.split(" -- ")[0].split("|")[0]
        for option in re.findall(r"(?<=\s)(--?[a-z][\w-]*)", re.sub(r"'[^']*'", "", rest)):
            if not re.search(re.escape(option) + r"\b", self.help[command]):
                return f"orrery {command} has no option {option}"
        return None

    def test_that_are_not_run_exist(self):
        for name in pages.page_names():
            text = re.sub(r"<!-- (output|measured).*?<!-- end -->", "", pages.read(name),
                          flags=re.S)
            lines = [line for block in re.findall(r"^```text\n(.*?)^```$", text, re.S | re.M)
                     for line in block.replace("\\\n", "").split("\n")]
            prose_text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
            for line in lines + re.findall(r"`([^`\n]*orrery [^`]*)`", prose_text):
                with self.subTest(page=name, line=line):
                    self.assertIsNone(self.unknown(line.replace("\n", " ")))

    def test_an_unknown_one_is_found(self):
        self.assertIsNone(self.unknown("orrery simulate FILE --set a=b --json"))
        self.assertIn("no option", self.unknown("./orrery simulate FILE --jsonn"))
        self.assertIn("no command", self.unknown("orrery simulat FILE"))


class Readme(unittest.TestCase):
    def test_is_short(self):
        self.assertLessEqual(len(pages.read("README.md").encode()), README_BYTES_MAX)

    def test_shows_the_two_commands(self):
        commands = "".join(piece.commands or "" for piece in pages.pieces(pages.read("README.md")))
        self.assertIn("./orrery simulate ", commands)
        self.assertIn("./orrery test\n", commands)


class Prose(unittest.TestCase):
    def test_is_read_once(self):
        for name in pages.page_names():
            with self.subTest(page=name):
                self.assertLess(prose.median_length(pages.read(name)), MEDIAN_WORDS_BELOW)

    def test_has_no_sentence_without_end(self):
        for name in pages.page_names():
            for sentence in prose.sentences(pages.read(name)):
                with self.subTest(page=name, sentence=sentence):
                    self.assertLessEqual(len(sentence.split()), WORDS_MAX)

    def test_uses_no_unclear_words(self):
        for name in pages.page_names():
            if name != "docs/style.md":  # quotes them
                with self.subTest(page=name):
                    self.assertEqual(prose.unclear_words(pages.read(name)), [])

    def test_is_all_but_code_tables_and_headings(self):
        text = ("# A head\n\nOne two three. Four `a b c` six:\n\n```text\nno no\n```\n"
                "- Item one, e.g. this.\n- [Linked words](x.md) here\n\n| a | b |\n"
                "<!-- output: no -->\n")
        self.assertEqual(prose.sentences(text),
                         ["One two three.", "Four code six:", "Item one, e.g this.",
                          "Linked words here"])
        self.assertEqual(prose.median_length(text), 3)
        self.assertEqual(len(prose.unclear_words("Look at those that go.\n")), 1)


# "29 November 2026" or "2026-11-29".
DAY = (r"(?:\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November"
       r"|December) \d{4}|\d{4}-\d{2}-\d{2})")
FIGURES = re.compile(r"Figures are of Orrery (\d+\.\d+\.\d+), "
                     rf"(?:\d+ (?:\w+ (?:\d+ )?)?to )?{DAY}\.")


def releases():
    return re.findall(r"^## .*?(\d+\.\d+\.\d+)", pages.read("CHANGELOG.md"), re.M)


def without_release(name, text):
    """Whether a page has figures and does not say the version that they were measured with."""
    free = " ".join(re.sub(r"<!-- measured.*?<!-- end -->", "", text, flags=re.S).split())
    has_figures = (re.search(DAY, free) or "/explanation/accuracy" in name or name == "README.md")
    versions = FIGURES.findall(free)
    return bool(has_figures) and not (versions and set(versions) <= set(releases()))


class Figures(unittest.TestCase):
    """Figures say with which release, and when, they were measured."""

    def test_name_their_release(self):
        self.assertIn(pages.release(), releases())
        for name in pages.page_names():
            with self.subTest(page=name):
                self.assertFalse(without_release(name, pages.read(name)))

    def test_without_a_release_are_found(self):
        line = f"Figures are of Orrery {pages.release()}, 28 to 29 November\n2026."
        self.assertFalse(without_release("docs/x.md", "No figures here.\n"))
        self.assertTrue(without_release("docs/x.md", "It took 3 s (29 November\n2026).\n"))
        self.assertTrue(without_release("docs/x.md", "It took 3 s (2026-11-29).\n"))
        self.assertFalse(without_release("docs/x.md", f"3 s (29 November 2026).\n{line}\n"))
        self.assertTrue(without_release("README.md", "3.9 %\n"))
        self.assertTrue(without_release("README.md", line.replace(pages.release(), "99.0.0")))


def percent(cell):
    return float(cell.split()[0])


def column(text, head, index):
    """The percentages in a column of the table with this head, one for each family; without the
    row of all families."""
    rows = text[text.index(head):].split("\n\n")[0].split("\n")[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row]
    return [percent(row[index]) for row in cells if row[index] and not row[0].startswith("all,")]


def stated(text, pattern):
    return percent(re.search(pattern, " ".join(text.split())).group(1))


class Means(unittest.TestCase):
    """Means of families are those of the tables that they stand with, on every page."""

    def assert_mean(self, figure, figures):
        self.assertAlmostEqual(figure, sum(figures) / len(figures), delta=0.11)

    def test_of_other_software(self):
        text = pages.read("docs/explanation/accuracy-stacks.md")
        known = stated(text, r"mean of these \w+ medians is (\S+ %)")
        head = "| family | rows | median error | sign | constant MFU | ratios |"
        self.assert_mean(known, column(text, head, 2))
        self.assert_mean(stated(text, r"Ratios of two cases of a family are off by (\S+ %)"),
                         column(text, head, 5))
        blind = "| family | software and GPUs | rows | median error |"
        self.assert_mean(stated(text, r"first prediction's mean of these medians is (\S+ %)"),
                         column(text, blind, 3))
        self.assert_mean(stated(text, r"mean of \*now\* is (\S+ %)"), column(text, blind, 8))
        for page, row in (("README.md", "the same on other software"),
                          ("docs/explanation/accuracy.md", "dense steps of other software")):
            self.assertEqual(stated(pages.read(page), rf"\| {row}[^|]*\| (\S+ %)"), known)

    def test_of_steps_with_experts(self):
        text = pages.read("docs/guide/experts.md")
        all_families = re.search(r"^\| all, every family.*$", text, re.M).group(0).split("|")
        head = "| family | steps | median error | before |"
        for index in (2, 3, 4, 5):
            self.assert_mean(percent(all_families[index + 1].strip()), column(text, head, index))
        known = percent(all_families[3].strip())
        bare = stated(text, r"Without it the last row is (\S+ %)")
        summary = pages.read("docs/explanation/accuracy.md")
        self.assertEqual(stated(summary, r"\| training steps with experts \| (\S+ %)"), known)
        self.assertEqual(stated(summary, rf"{known} %, (\S+ %) without a shift"), bare)
        self.assertEqual(stated(pages.read("README.md"), r"\| steps with experts,[^|]*\| (\S+ %)"),
                         bare)


class Scenarios(unittest.TestCase):
    def test_every_yaml_says_what_kind_of_file_it_is(self):
        files = glob.glob(os.path.join(pages.ROOT, "scenarios", "**", "*.yaml"), recursive=True)
        self.assertGreater(len(files), 100)
        for file in files:
            with open(file, encoding="utf-8") as text:
                self.assertRegex(text.read(), r"(?m)^kind: \w+$", file)

    def test_every_file_is_listed_and_every_listed_file_exists(self):
        listed = re.findall(r"^\| `([\w.-]+)`", pages.read("scenarios/README.md"), re.M)
        files = [os.path.basename(file)
                 for file in glob.glob(os.path.join(pages.ROOT, "scenarios", "*.yaml"))]
        self.assertEqual(sorted(listed), sorted(files))


class Site(unittest.TestCase):
    def test_its_navigation_lists_every_page(self):
        with open(os.path.join(pages.ROOT, "mkdocs.yml"), encoding="utf-8") as file:
            navigation = file.read().split("\nnav:\n")[1]
        listed = re.findall(r": ([\w/.-]+\.md)$", navigation, re.M)
        files = [name[len("docs/"):] for name in pages.page_names() if name.startswith("docs/")]
        self.assertEqual(sorted(listed), sorted(files))


class Pages(unittest.TestCase):
    TEXT = ("a\n```sh\n$ echo one\necho two\n```\n\n```\nno\n```\n"
            "<!-- output -->\n```text\none\ntwo\n```\n<!-- end -->\n"
            "<!-- output | tail -n 1 -->\n```text\ntwo\n```\n<!-- end -->\n"
            "<!-- output: echo '| a: |' -->\n| a: |\n<!-- end -->\n"
            "<!-- measured 1 May 2026: date -->\n```text\nx\n```\n<!-- end -->\n")

    def test_are_commands_and_outputs(self):
        found = pages.pieces(self.TEXT)
        self.assertEqual(found[0].commands, "echo one\necho two\n")
        self.assertEqual(found[0].line, 2)
        self.assertEqual([(p.how, p.words, p.date) for p in found[1:]],
                         [(None, None, None), ("|", "tail -n 1", None),
                          (":", "echo '| a: |'", None), (":", "date", "1 May 2026")])
        self.assertEqual([piece.head() for piece in found[1:]],
                         ["<!-- output -->", "<!-- output | tail -n 1 -->",
                          "<!-- output: echo '| a: |' -->", "<!-- measured 1 May 2026: date -->"])
        self.assertEqual(found[1].shown, pages.block_of("one\ntwo\n"))

    def test_date_their_measurements(self):
        for name in pages.page_names():
            for piece in pages.pieces(pages.read(name)):
                if piece.measured:
                    with self.subTest(page=name, line=piece.line):
                        self.assertRegex(piece.shown, rf"\nMeasured on {piece.date} with Orrery "
                                                      r"\d+\.\d+\.\d+\.\n$")
                        self.assertIn(piece.shown.split()[-1].rstrip("."), releases())
        self.assertTrue(pages.block_of("x", "1 May 2026").endswith(
            f"\nMeasured on 1 May 2026 with Orrery {pages.release()}.\n"))

    def checkout(self):
        return pages.Checkout("/bin/true", "/nowhere")

    def test_are_updated_where_their_commands_print_something_else(self):
        def update(text, pattern=""):
            with contextlib.redirect_stderr(io.StringIO()):
                return update_docs.updated("x.md", text, re.compile(pattern), False,
                                           self.checkout)
        self.assertEqual(update(self.TEXT), self.TEXT)
        old = self.TEXT.replace("one\ntwo\n```", "1\n2\n```").replace("| a: |\n", "| b |\n")
        self.assertEqual(update(old), self.TEXT)
        self.assertEqual(update(old, "nothing of this"), old)
        self.assertIn("\n1\n", update(old, "a:"))
        self.assertNotIn("| b |", update(old, "a:"))

    def test_say_what_failed(self):
        run = pages.Run(self.checkout())
        self.assertEqual(run.commands(pages.pieces("```sh\necho no; exit 3\n```\n")[0]), 3)
        self.assertEqual(run.printed, "no\n")
        run.checkout.close()

    def test_end_what_takes_too_long(self):
        checkout = pages.Checkout("/bin/true", "/nowhere", limit_s=0.2)
        self.assertEqual(checkout.run("sleep 60 | sleep 60"), (124, "longer than 0.2 s\n"))
        checkout.close()

    def test_mask_what_an_answer_says_of_its_own_run(self):
        first = "Simulated 5 ops in 11.3 s and 148 MiB:"
        second = "Simulated 5 ops in 90 ms and 1 GiB:"
        self.assertEqual(pages.masked(first), pages.masked(second))
        self.assertNotEqual(pages.masked(first), pages.masked(first.replace("5", "6")))


BUILD = os.path.join(pages.ROOT, "build")
if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
