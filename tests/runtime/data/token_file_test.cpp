// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/token_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace orrery {
namespace {

class TokenFile : public testing::Test {
protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() /
                ("orrery-tokens-" + std::to_string(::getpid()));
    }
    void TearDown() override { std::filesystem::remove(path_); }
    std::string error() {
        const Result<Tokens> tokens = Tokens::open(path_);
        return tokens ? "" : tokens.error().what;
    }
    void overwrite(std::streamoff at, char byte) {
        std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(at);
        file.put(byte);
    }
    std::filesystem::path path_;
};

TEST_F(TokenFile, GivesBackWhatWasWritten) {
    for (const std::int64_t vocabulary : {300, 100'000}) {  // 2 and 4 bytes a token
        ASSERT_TRUE(write_token_file(path_, Tokens::of({1, 299, 0, 17}, vocabulary)));
        const Result<Tokens> tokens = Tokens::open(path_);
        ASSERT_TRUE(tokens);
        EXPECT_EQ(std::filesystem::file_size(path_), vocabulary == 300 ? 64U + 8U : 64U + 16U);
        EXPECT_EQ(tokens->size(), 4);
        EXPECT_EQ(tokens->vocabulary(), vocabulary);
        EXPECT_EQ((*tokens)[1], 299);
        EXPECT_EQ(tokens->part(1, 3)[2], 17);
        EXPECT_TRUE(is_token_file(path_));
    }
}

TEST_F(TokenFile, ThatIsBrokenIsAnError) {
    EXPECT_NE(error().find("can't be read"), std::string::npos);
    std::ofstream{path_} << "text";
    EXPECT_FALSE(is_token_file(path_));
    EXPECT_NE(error().find("not a token file"), std::string::npos);
    ASSERT_TRUE(write_token_file(path_, Tokens::of({1, 2, 3}, 256)));
    std::filesystem::resize_file(path_, 64 + 5);
    EXPECT_NE(error().find("cut short"), std::string::npos);
    ASSERT_TRUE(write_token_file(path_, Tokens::of({1, 2, 3}, 256)));
    overwrite(8, 2);
    EXPECT_NE(error().find("unknown version"), std::string::npos);
    overwrite(8, 1);
    overwrite(12, 3);
    EXPECT_NE(error().find("neither 2 nor 4"), std::string::npos);
}

TEST_F(TokenFile, InAFolderThatIsNotThereCannotBeWritten) {
    EXPECT_FALSE(write_token_file(path_ / "no" / "where", Tokens::of({1}, 256)));
}

}  // namespace
}  // namespace orrery
