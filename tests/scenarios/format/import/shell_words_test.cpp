// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/shell_words.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

PlacedText placed(std::string_view text) {
    PlacedText result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        result.add(text[i], static_cast<std::uint32_t>(i));
    }
    return result;
}

class Words : public ::testing::Test {
protected:
    Words() {
        state_.source = "run.sh";
        state_.lines = {0};
        state_.assign("N", {placed("32")}, false);
        state_.assign("FLAGS", {placed("--a 1  --b")}, false);
        state_.assign("LIST", {placed("one"), placed("two words")}, false);
        state_.assign("EMPTY", {}, false);
    }
    std::vector<std::string> of(const std::string& text) {
        const PlacedText in = placed(text);
        ShellWords words{in, state_};
        std::vector<std::string> all;
        for (const ShellWord& word : words.word()) {
            all.push_back(readable(word.text.chars));
        }
        return all;
    }
    using Texts = std::vector<std::string>;
    ShellState state_;
};

TEST_F(Words, VariablesSplitOutsideOfQuotesOnly) {
    EXPECT_EQ(of("x${N}y$N"), Texts{"x32y32"});
    EXPECT_EQ(of("$FLAGS"), (Texts{"--a", "1", "--b"}));
    EXPECT_EQ(of("\"$FLAGS\""), Texts{"--a 1  --b"});
    EXPECT_EQ(of("'$FLAGS'"), Texts{"$FLAGS"});
    EXPECT_EQ(of("\\$N"), Texts{"$N"});
    EXPECT_EQ(of("a\\\nb"), Texts{"ab"});
    EXPECT_EQ(of("\"\""), Texts{""});
}

TEST_F(Words, ArraysAreOneWordAnElementInQuotes) {
    EXPECT_EQ(of("${LIST[@]}"), (Texts{"one", "two", "words"}));
    EXPECT_EQ(of("\"${LIST[@]}\""), (Texts{"one", "two words"}));
    EXPECT_EQ(of("\"<${LIST[@]}>\""), (Texts{"<one", "two words>"}));
    EXPECT_EQ(of("\"${LIST[*]}\""), Texts{"one two words"});
    EXPECT_EQ(of("$LIST"), Texts{"one"});
    EXPECT_EQ(of("${LIST[1]}"), (Texts{"two", "words"}));
    EXPECT_EQ(of("${#LIST[@]}${#N}"), Texts{"22"});
    EXPECT_EQ(of("${EMPTY[@]}"), Texts{});
    EXPECT_EQ(of("\"${EMPTY[@]}\""), Texts{});
}

TEST_F(Words, DefaultsStandInForWhatIsNotSet) {
    EXPECT_EQ(of("${M:-7}"), Texts{"7"});
    EXPECT_EQ(of("${M:-\"a $N\"}"), (Texts{"a", "32"}));
    EXPECT_EQ(of("\"${M:-a $N}\""), Texts{"a 32"});
    EXPECT_EQ(of("${N:-7}${N:+x}${M:+y}"), Texts{"32x"});
    EXPECT_EQ(of("${M:=9}$M"), Texts{"99"});
    EXPECT_EQ(of("${A:-${B:-${C:-3}}}"), Texts{"3"});
}

TEST_F(Words, ArithmeticOfVariables) {
    EXPECT_EQ(of("$((N*2))"), Texts{"64"});
    EXPECT_EQ(of("$(($N * ${N} / (2 + 2)))"), Texts{"256"});
    EXPECT_TRUE(state_.notes.empty());
}

TEST_F(Words, WhatOnlyAShellKnowsStaysAndIsNamed) {
    EXPECT_EQ(of("$NOBODY"), Texts{"${NOBODY}"});
    EXPECT_TRUE(state_.notes.empty());  // it may be irrelevant
    EXPECT_EQ(of("a$(ls \"x)\" | wc)"), Texts{"a$(ls \"x)\" | wc)"});
    EXPECT_EQ(of("`date`"), Texts{"`date`"});
    EXPECT_EQ(of("${N%%2}"), Texts{"${N%%2}"});
    EXPECT_EQ(of("$((NOBODY+1))"), Texts{"$((NOBODY+1))"});
    ASSERT_EQ(state_.notes.size(), 4u);
    EXPECT_EQ(state_.notes[0],
              "run.sh:1:2: the output of a command: only a shell knows $(ls \"x)\" | wc)");
    state_.assign("HOST", {placed("x")}, false);
    EXPECT_EQ(of("$HOST"), Texts{"x"});
}

TEST_F(Words, HostileTextsEndWithOneError) {
    for (const std::string& bad :
         {std::string{"'a"}, std::string{"\"a"}, std::string{"$(a"}, std::string{"${N:-a"}}) {
        state_.errors.clear();
        of(bad);
        ASSERT_EQ(state_.errors.size(), 1u) << bad;
        EXPECT_EQ(state_.errors[0].where.substr(0, 9), "run.sh:1:") << bad;
    }
    state_.errors.clear();
    std::string nested;
    for (int i = 0; i < 100'000; ++i) {
        nested += "${A:-";
    }
    of(nested);
    EXPECT_EQ(state_.errors.size(), 1u);
    state_.errors.clear();
    state_.assign("BIG", {placed(std::string(1 << 20, 'x'))}, false);
    of("$BIG$BIG$BIG$BIG$BIG");
    ASSERT_EQ(state_.errors.size(), 1u);
    EXPECT_NE(state_.errors[0].what.find("4 MiB"), std::string::npos);
}

}  // namespace
}  // namespace orrery
