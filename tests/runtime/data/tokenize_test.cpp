// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tokenize.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace orrery {
namespace {

TEST(Tokenize, BytesAreTokens) {
    const Tokens tokens = tokenize_bytes("a\xFF\n");
    ASSERT_EQ(tokens.size(), 3);
    EXPECT_EQ(tokens[0], 97);
    EXPECT_EQ(tokens[1], 255);
    EXPECT_EQ(tokens[2], 10);
    EXPECT_EQ(tokens.vocabulary(), 256);
}

TEST(Tokenize, TextsFollowEachOtherAndTokenFilesStandAlone) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("orrery-tokenize-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::ofstream{folder / "a"} << "ab";
    std::ofstream{folder / "b"} << "c";
    const Result<Tokens> both = load_tokens({folder / "a", folder / "b"});
    ASSERT_TRUE(both);
    EXPECT_EQ(both->size(), 3);
    EXPECT_EQ((*both)[2], 'c');
    ASSERT_TRUE(write_token_file(folder / "t", *both));
    EXPECT_EQ(load_tokens({folder / "t"})->size(), 3);
    EXPECT_FALSE(load_tokens({folder / "a", folder / "t"}));
    EXPECT_FALSE(load_tokens({folder / "nothing"}));
    EXPECT_FALSE(load_tokens({folder}));
    std::filesystem::remove_all(folder);
}

// Neither waits for a writer of a pipe nor reads for ever.
TEST(Tokenize, PipesAndDevicesAreNoFiles) {
    const auto pipe =
        std::filesystem::temp_directory_path() / ("orrery-pipe-" + std::to_string(::getpid()));
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const std::filesystem::path& path : {pipe, std::filesystem::path{"/dev/zero"}}) {
        const Result<Tokens> tokens = load_tokens({path});
        ASSERT_FALSE(tokens);
        EXPECT_EQ(tokens.error().where, path.string());
        EXPECT_FALSE(load_tokens({path, path}));
    }
    std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace orrery
