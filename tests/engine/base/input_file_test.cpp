// SPDX-License-Identifier: Apache-2.0
#include "engine/base/input_file.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

TEST(InputFile, ReadsAFile) {
    auto file = open_input(std::string{ORRERY_SOURCE_DIR} + "/LICENSE");
    ASSERT_TRUE(file);
    std::string word;
    *file >> word;
    EXPECT_FALSE(word.empty());
}

// A process's memory is a file that can be opened and whose first byte can't be read.
TEST(InputFile, AllOfItOrAnError) {
    const auto licence = read_input(std::string{ORRERY_SOURCE_DIR} + "/LICENSE");
    ASSERT_TRUE(licence);
    EXPECT_EQ(licence->size(), std::filesystem::file_size(ORRERY_SOURCE_DIR "/LICENSE"));
    EXPECT_EQ(read_input("/proc/self/mem").error().what, "can't be read to its end");
    EXPECT_EQ(read_input("/nowhere").error().what, "there is no such file");
}

TEST(InputFile, SaysThatAFolderIsOne) {
    const auto folder = open_input(ORRERY_SOURCE_DIR);
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().where, ORRERY_SOURCE_DIR);
    EXPECT_EQ(folder.error().what, "is a folder, not a file");
    EXPECT_EQ(folder.error().hint, "name a file in it");
    EXPECT_EQ(open_input(ORRERY_SOURCE_DIR, "a profile").error().hint, "a profile");
}

TEST(InputFile, SaysThatALinkLeadsNowhere) {
    const std::filesystem::path link =
        std::filesystem::temp_directory_path() / "orrery-input-file-loop";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(link, link);
    EXPECT_EQ(open_input(link).error().what, "is a symbolic link that leads nowhere");
    std::filesystem::remove(link);
}

TEST(InputFile, SaysThatNothingIsThere) {
    const auto nothing = open_input("/nowhere/at/all");
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().what, "there is no such file");
    EXPECT_FALSE(nothing.error().hint.empty());
}

}  // namespace
}  // namespace orrery
