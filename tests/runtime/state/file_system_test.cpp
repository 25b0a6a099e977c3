// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/file_system.h"

#include "tests/test_folder.h"

namespace orrery {
namespace {

FileSystem::Pieces pieces_of(const std::string& text) {
    return {std::as_bytes(std::span{text})};
}

TEST(Disk, WritesRenamesAndRemoves) {
    const TestFolder folder;
    EXPECT_TRUE(disk().create_folder(folder / "a/b"));
    EXPECT_TRUE(disk().create_folder(folder / "a/b"));
    const std::string one = "one ";
    const std::string two = "two";
    EXPECT_TRUE(
        disk().write_file(folder / "a/b/file", {pieces_of(one).front(), pieces_of(two).front()}));
    EXPECT_TRUE(disk().rename(folder / "a/b", folder / "a/c"));
    EXPECT_EQ(read_text(folder / "a/c/file"), "one two");
    EXPECT_TRUE(disk().write_file(folder / "a/c/file", pieces_of(two)));
    EXPECT_EQ(read_text(folder / "a/c/file"), "two");
    EXPECT_TRUE(disk().remove(folder / "a"));
    EXPECT_TRUE(disk().remove(folder / "a"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(Disk, FailuresAreErrorsThatNameThePath) {
    const TestFolder folder;
    write_text(folder / "file", "x");
    EXPECT_EQ(disk().create_folder(folder / "file/b").error().where, (folder / "file/b").string());
    EXPECT_EQ(disk().write_file(folder / "none/file", {}).error().where,
              (folder / "none/file").string());
    EXPECT_EQ(disk().rename(folder / "none", folder / "b").error().where, (folder / "b").string());
}

// Linux's /dev/full takes nothing.
TEST(Disk, AFullDiskIsAnError) {
    const std::string text = "x";
    const auto written = disk().write_file("/dev/full", pieces_of(text));
    ASSERT_FALSE(written);
    EXPECT_NE(written.error().what.find("No space left"), std::string::npos);
    EXPECT_EQ(written.error().hint, "free some space on the disk");
}

}  // namespace
}  // namespace orrery
