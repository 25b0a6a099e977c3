// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/map_reader.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

using namespace orrery::literals;

enum class Colour { red, green };
constexpr Choice<Colour> kColours[] = {{"red", Colour::red}, {"green", Colour::green}};

// Reads a map with `read` and returns all errors, one a line.
template <class Read>
std::string errors_of(const std::string& text, Read read) {
    const auto map = parse_yaml(text, "s.yaml");
    EXPECT_TRUE(map);
    Errors errors;
    MapReader reader{*map, "it", errors};
    read(reader);
    std::string lines;
    for (const Error& error : errors) {
        lines += error.to_string() + "\n";
    }
    return lines;
}

TEST(MapReader, FillsVariablesFromKeysAndKeepsTheOthers) {
    bool flag = false;
    std::int64_t number = 0;
    std::uint32_t small = 7;
    double share = 0;
    std::string word;
    Colour colour = Colour::red;
    Time time;
    Bytes bytes;
    std::vector<std::int64_t> list;
    EXPECT_EQ(
        errors_of("f: true\nn: -3\nx: 0.25\nw: text\nc: green\nt: 3 us\nb: 2 KiB\nl: [1, 2]\n",
                  [&](MapReader& reader) {
                      EXPECT_TRUE(reader.boolean("f", flag));
                      EXPECT_TRUE(reader.integer("n", number, {-5, 5}));
                      EXPECT_FALSE(reader.integer("absent", small));
                      EXPECT_TRUE(reader.real("x", share, 0, 1));
                      EXPECT_TRUE(reader.word("w", word));
                      EXPECT_TRUE(reader.choice("c", colour, kColours));
                      EXPECT_TRUE(reader.quantity("t", time));
                      EXPECT_TRUE(reader.quantity("b", bytes));
                      EXPECT_TRUE(reader.integers("l", list, {1, 2}));
                      reader.finish();
                  }),
        "");
    EXPECT_TRUE(flag);
    EXPECT_EQ(number, -3);
    EXPECT_EQ(small, 7U);
    EXPECT_EQ(share, 0.25);
    EXPECT_EQ(word, "text");
    EXPECT_EQ(colour, Colour::green);
    EXPECT_EQ(time, 3_us);
    EXPECT_EQ(bytes, 2_KiB);
    EXPECT_EQ(list, (std::vector<std::int64_t>{1, 2}));
}

TEST(MapReader, AWholeNumberOfMoreThan64BitsIsOutOfRange) {
    std::int64_t number = 42;
    EXPECT_EQ(errors_of("a: 9223372036854775808\nb: -99999999999999999999\nc: 1e30\n",
                        [&](MapReader& reader) {
                            EXPECT_FALSE(reader.integer("a", number, {1, 5}));
                            EXPECT_FALSE(reader.integer("b", number, {1, 5}));
                            EXPECT_FALSE(reader.integer("c", number, {1, 5}));
                        }),
              "s.yaml:1:4: error: it.a is '9223372036854775808', out of range (hint: 1 to 5)\n"
              "s.yaml:2:4: error: it.b is '-99999999999999999999', out of range (hint: 1 to 5)\n"
              "s.yaml:3:4: error: it.c must be a whole number, not '1e30' (hint: 1 to 5)\n");
    EXPECT_EQ(number, 42);
}

TEST(MapReader, BadValuesLeaveTheVariableAndNameTheirPlace) {
    std::int64_t number = 42;
    double share = 0.5;
    Colour colour = Colour::red;
    std::vector<std::int64_t> list{9};
    EXPECT_EQ(errors_of("n: 6\nx: 1.5\nc: blue\nl: [1, 3]\nq: '5'\n",
                        [&](MapReader& reader) {
                            EXPECT_FALSE(reader.integer("n", number, {1, 5}));
                            EXPECT_FALSE(reader.real("x", share, 0, 1));
                            EXPECT_FALSE(reader.choice("c", colour, kColours));
                            EXPECT_FALSE(reader.integers("l", list, {1, 2}));
                            EXPECT_FALSE(reader.integer("q", number));
                        }),
              "s.yaml:1:4: error: it.n is 6, out of range (hint: 1 to 5)\n"
              "s.yaml:2:4: error: it.x is 1.5, out of range (hint: 0 to 1)\n"
              "s.yaml:3:4: error: it.c can't be 'blue' (hint: one of red, green)\n"
              "s.yaml:4:8: error: it.l must be a list of whole numbers from 1 to 2, not '3'\n"
              "s.yaml:5:4: error: it.q must be a whole number, not '5', in quotes\n");
    EXPECT_EQ(number, 42);
    EXPECT_EQ(share, 0.5);
    EXPECT_EQ(colour, Colour::red);
    EXPECT_EQ(list, std::vector<std::int64_t>{9});
}

TEST(MapReader, ListsOfWordsHaveEachOnce) {
    std::vector<Colour> colours{Colour::red};
    EXPECT_EQ(errors_of("c: [green, red, green]\nd: green\n",
                        [&](MapReader& reader) {
                            EXPECT_TRUE(reader.choices("c", colours, kColours));
                            EXPECT_EQ(colours, (std::vector{Colour::green, Colour::red}));
                            EXPECT_TRUE(reader.choices("d", colours, kColours));
                            EXPECT_EQ(colours, std::vector{Colour::green});
                            EXPECT_FALSE(reader.choices("absent", colours, kColours));
                        }),
              "");
    EXPECT_EQ(errors_of("c: [green, blue]\nd: []\n",
                        [&](MapReader& reader) {
                            EXPECT_FALSE(reader.choices("c", colours, kColours));
                            EXPECT_FALSE(reader.choices("d", colours, kColours));
                        }),
              "s.yaml:1:12: error: it.c can't be 'blue' (hint: a list out of red, green)\n"
              "s.yaml:2:1: error: it.d is empty (hint: a list out of red, green)\n");
    EXPECT_EQ(colours, std::vector{Colour::green});
}

TEST(MapReader, NumbersAreWholeTextsAndFinite) {
    for (const char* text :
         {"1x", "0x10", "1 2", "nan", "inf", "1e400", "--1", "+1", ".", "1_000"}) {
        double real = 0;
        std::int64_t number = 0;
        const std::string source = std::string{"n: "} + text + "\n";
        EXPECT_NE(errors_of(source, [&](MapReader& r) { r.real("n", real, -1e308, 1e308); }), "")
            << text;
        EXPECT_NE(errors_of(source, [&](MapReader& r) { r.integer("n", number); }), "") << text;
    }
}

TEST(MapReader, RequiredKeysUnknownKeysAndRefusedKeysAreErrors) {
    std::int64_t number = 0;
    EXPECT_EQ(errors_of("nubmer: 1\nlater: 2\nother: 3\n",
                        [&](MapReader& reader) {
                            reader.integer("number", number, {}, Presence::required);
                            reader.refuse("later", "'later' is not supported yet", "remove it");
                            reader.refuse("absent", "no", "no");
                            reader.finish();
                        }),
              "s.yaml:1:1: error: 'it' lacks the key 'number' (hint: add 'number: …')\n"
              "s.yaml:2:1: error: 'later' is not supported yet (hint: remove it)\n"
              "s.yaml:1:1: error: unknown key 'nubmer' in 'it' (hint: did you mean 'number'?)\n"
              "s.yaml:3:1: error: unknown key 'other' in 'it' (hint: one of number)\n");
}

TEST(MapReader, ComplainsAtTheKeyOrAtTheMap) {
    EXPECT_EQ(errors_of("a: 1\nb: 2\n",
                        [&](MapReader& reader) {
                            reader.complain("b", "is odd", "make it even");
                            reader.complain("c", "is missed");
                        }),
              "s.yaml:2:1: error: is odd (hint: make it even)\n"
              "s.yaml:1:1: error: is missed\n");
}

}  // namespace
}  // namespace orrery
