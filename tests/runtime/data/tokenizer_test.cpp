// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokenizer.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(Tokenizer, ByBytesIdsAreBytes) {
    const Tokenizer tokenizer;
    EXPECT_EQ(tokenizer.encode("a\xFF"), (std::vector<std::int32_t>{97, 255}));
    EXPECT_EQ(tokenizer.decode({{97, 255, 256, -1}}), "a\xFF");
    EXPECT_EQ(tokenizer.vocabulary(), 256);
}

TEST(Tokenizer, IsTheFirstThatAFolderHas) {
    const TestFolder folder;
    const std::vector<std::filesystem::path> folders{folder / "none", folder.path()};
    EXPECT_TRUE(Tokenizer::find(folders)->by_bytes());
    const Tokenizer encoding{BytePairEncoding::train("aa aa aa", 300)};
    ASSERT_TRUE(encoding.save(folder.path()));
    const Result<Tokenizer> found = Tokenizer::find(folders);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->by_bytes());
    EXPECT_EQ(found->vocabulary(), encoding.vocabulary());
    EXPECT_EQ(found->decode(found->encode("aa bb")), "aa bb");
    write_text(folder / "merges.txt", "nonsense\n");
    EXPECT_FALSE(Tokenizer::find(folders));
}

}  // namespace
}  // namespace orrery
