// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/data/byte_pair_encoding.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(BytePairFiles, HaveTheFormOfHuggingFace) {
    const TestFolder folder;
    const BytePairEncoding encoding{
        {{byte_token(' '), byte_token('t')}, {byte_token('"'), byte_token('\n')}, {256, 257}}};
    ASSERT_TRUE(encoding.save(folder.path()));
    EXPECT_EQ(read_text(folder.path() / "merges.txt"), "#version: 0.2\nĠ t\n\" Ċ\nĠt \"Ċ\n");
    const std::string vocabulary = read_text(folder.path() / "vocab.json");
    EXPECT_TRUE(vocabulary.starts_with("{\"!\":0,\"\\\"\":1,\"#\":2,")) << vocabulary;
    EXPECT_TRUE(vocabulary.ends_with("\"Ġt\":256,\"\\\"Ċ\":257,\"Ġt\\\"Ċ\":258}\n")) << vocabulary;
}

TEST(BytePairFiles, ComeBackAsTheyWere) {
    const TestFolder folder;
    std::string text;
    for (int i = 0; i < 300; ++i) {
        text += "# über das Wetter " + std::to_string(i) + "\t\x80\n";
    }
    const BytePairEncoding encoding = BytePairEncoding::train(text, 500);
    ASSERT_TRUE(encoding.save(folder.path()));
    ASSERT_TRUE(encoding.save(folder.path()));  // the same once more
    const Result<BytePairEncoding> again = BytePairEncoding::open(folder.path());
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_EQ(again->merges(), encoding.merges());
    const Result<void> other = BytePairEncoding::train(text, 260).save(folder.path());
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().what.find("another vocabulary"), std::string::npos);
}

TEST(BytePairFiles, NameTheLineThatIsWrong) {
    const TestFolder folder;
    EXPECT_FALSE(BytePairEncoding::open(folder.path()));
    write_text(folder / "merges.txt", "#version: 0.2\na b\nab zz\n");
    const Result<BytePairEncoding> wrong = BytePairEncoding::open(folder.path());
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().where.find("merges.txt:3"), std::string::npos) << wrong.error().where;
}

}  // namespace
}  // namespace orrery
