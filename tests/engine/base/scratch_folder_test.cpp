// SPDX-License-Identifier: Apache-2.0
#include "engine/base/scratch_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

namespace orrery {
namespace {

namespace fs = std::filesystem;

// TMPDIR for the length of a test.
class TemporaryFiles {
public:
    explicit TemporaryFiles(const fs::path& folder) {
        if (const char* before = getenv("TMPDIR")) {
            before_ = before;
        }
        setenv("TMPDIR", folder.c_str(), 1);
    }
    ~TemporaryFiles() { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
    TemporaryFiles(const TemporaryFiles&) = delete;
    TemporaryFiles& operator=(const TemporaryFiles&) = delete;

private:
    std::optional<std::string> before_;
};

void put_file(const fs::path& path) {
    std::ofstream{path} << "text";
    ASSERT_TRUE(fs::is_regular_file(path));
}

std::ptrdiff_t entries(const fs::path& folder) {
    return std::distance(fs::directory_iterator{folder}, fs::directory_iterator{});
}

TEST(ScratchFolder, IsNewAndEmptyAmongTheTemporaryFilesAndGoesWithItsContents) {
    const auto place = ScratchFolder::make("orrery-test");
    ASSERT_TRUE(place) << place.error().to_string();
    EXPECT_EQ(place->path().parent_path(), fs::temp_directory_path());
    const TemporaryFiles here{place->path()};
    {
        const auto one = ScratchFolder::make("one");
        const auto other = ScratchFolder::make("one");
        ASSERT_TRUE(one && other);
        EXPECT_NE(one->path(), other->path());
        for (const ScratchFolder* made : {&*one, &*other}) {
            EXPECT_EQ(made->path().parent_path(), place->path());
            EXPECT_TRUE(made->path().filename().string().starts_with("one-"));
            EXPECT_TRUE(fs::is_empty(made->path()));
        }
        fs::create_directories(one->path() / "a" / "b");
        put_file(one->path() / "a" / "b" / "file");
        EXPECT_EQ(entries(place->path()), 2);
    }
    EXPECT_EQ(entries(place->path()), 0);
}

TEST(ScratchFolder, AGivenFolderIsMadeAndStays) {
    const auto place = ScratchFolder::make("orrery-test");
    ASSERT_TRUE(place);
    const fs::path parent = place->path() / "not" / "yet";
    {
        const auto made = ScratchFolder::make_in(parent, "probe");
        ASSERT_TRUE(made) << made.error().to_string();
        EXPECT_EQ(made->path().parent_path(), parent);
        put_file(made->path() / "file");
    }
    EXPECT_TRUE(fs::is_directory(parent));
    EXPECT_EQ(entries(parent), 0);
}

TEST(ScratchFolder, IsMovedButNeverCopied) {
    static_assert(!std::is_copy_constructible_v<ScratchFolder>);
    static_assert(!std::is_copy_assignable_v<ScratchFolder>);
    ScratchFolder kept;
    EXPECT_TRUE(kept.path().empty());
    fs::path first;
    fs::path second;
    {
        auto made = ScratchFolder::make("orrery-test");
        ASSERT_TRUE(made);
        first = made->path();
        kept = std::move(*made);
    }
    EXPECT_EQ(kept.path(), first);
    EXPECT_TRUE(fs::is_directory(first));
    {
        auto made = ScratchFolder::make("orrery-test");
        ASSERT_TRUE(made);
        second = made->path();
        kept = std::move(*made);
    }
    EXPECT_FALSE(fs::exists(first));
    EXPECT_TRUE(fs::is_directory(second));
    { const ScratchFolder last{std::move(kept)}; }
    EXPECT_FALSE(fs::exists(second));
}

TEST(ScratchFolder, OneThatCannotBeMadeIsAnErrorThatSaysWhatToDo) {
    const auto place = ScratchFolder::make("orrery-test");
    ASSERT_TRUE(place);
    put_file(place->path() / "file");
    const auto inside_a_file = ScratchFolder::make_in(place->path() / "file", "probe");
    ASSERT_FALSE(inside_a_file);
    EXPECT_EQ(inside_a_file.error(),
              (Error{(place->path() / "file").string(),
                     "no folder can be made here",
                     "a folder that you may write to"}));
    const TemporaryFiles nowhere{place->path() / "nowhere"};
    const auto without_a_place = ScratchFolder::make("one");
    ASSERT_FALSE(without_a_place);
    EXPECT_EQ(without_a_place.error(),
              (Error{"", "there is no folder for temporary files", "set TMPDIR"}));
}

}  // namespace
}  // namespace orrery
