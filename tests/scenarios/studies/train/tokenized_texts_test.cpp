// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/train/tokenized_texts.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(TokenizedTexts, StandOneAfterAnotherInTheFile) {
    const TestFolder folder;
    TokenizeSpec spec;
    spec.texts = {folder.write("a", "to be"), folder.write("b", " or not")};
    spec.output = (folder / "tokens").string();
    const auto tokens = tokenize_texts(spec);
    ASSERT_TRUE(tokens) << tokens.error().to_string();
    EXPECT_EQ(tokens->size(), 12);
    const auto again = Tokens::open(spec.output);
    ASSERT_TRUE(again);
    EXPECT_EQ((*again)[11], 't');
    spec.vocabulary = 300;
    spec.tokenizer = folder.path().string();
    EXPECT_EQ(tokenize_texts(spec).error().where, "--bpe");
}

}  // namespace
}  // namespace orrery
