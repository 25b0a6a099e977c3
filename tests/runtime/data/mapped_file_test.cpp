// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/mapped_file.h"

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(MappedFile, HasTheBytesOfTheFile) {
    const TestFolder folder;
    write_text(folder / "a", "bytes");
    const auto file = MappedFile::open(folder / "a");
    ASSERT_TRUE(file);
    const auto bytes = (*file)->bytes();
    EXPECT_EQ((std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()}), "bytes");
}

TEST(MappedFile, TellsWhyAFileCannotBeMapped) {
    const TestFolder folder;
    write_text(folder / "empty", "");
    EXPECT_EQ(MappedFile::open(folder / "empty").error().what, "is empty");
    EXPECT_EQ(MappedFile::open(folder.path()).error().what, "is not a file");
    const Error missing = MappedFile::open(folder / "none").error();
    EXPECT_EQ(missing.where, (folder / "none").string());
    EXPECT_NE(missing.what.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace orrery
