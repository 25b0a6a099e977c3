// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/output_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tests/test_folder.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(OutputFile, AppearsWholeWhenItIsCommitted) {
    const TestFolder folder;
    const fs::path path = folder / "out";
    auto file = OutputFile::open(path);
    ASSERT_TRUE(file);
    (*file)->stream() << "some";
    (*file)->stream().flush();
    EXPECT_FALSE(fs::exists(path));
    (*file)->stream() << "thing";
    ASSERT_TRUE((*file)->commit());
    EXPECT_EQ(folder.text("out"), "something");
    EXPECT_EQ(folder.num_files(), 1U);
}

TEST(OutputFile, TakesWhatIsWrittenToAStream) {
    const TestFolder folder;
    ASSERT_TRUE(OutputFile::write(folder / "out", [](std::ostream& out) { out << "some" << 1; }));
    EXPECT_EQ(folder.text("out"), "some1");
    EXPECT_FALSE(OutputFile::write(folder / "no" / "out", [](std::ostream&) { FAIL(); }));
}

TEST(OutputFile, IsWrittenForOneOptionOnly) {
    const TestFolder folder;
    auto file = OutputFile::open(folder / "out");
    ASSERT_TRUE(file);
    const auto other = OutputFile::open(folder / "out");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().what, "two options name this file");
    file->reset();
    EXPECT_TRUE(OutputFile::open(folder / "out"));
}

TEST(OutputFile, LeavesNothingAndChangesNothingIfItIsNotCommitted) {
    const TestFolder folder;
    folder.write("out", "old");
    {
        auto file = OutputFile::open(folder / "out");
        ASSERT_TRUE(file);
        (*file)->stream() << "half";
    }
    EXPECT_EQ(folder.text("out"), "old");
    EXPECT_EQ(folder.num_files(), 1U);
}

TEST(OutputFile, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
    const TestFolder folder;
    folder.write("target", "old");
    fs::create_symlink("target", folder / "link");
    fs::create_symlink("absent", folder / "dangling");
    for (const char* name : {"link", "dangling"}) {
        auto file = OutputFile::open(folder / name);
        ASSERT_TRUE(file) << name;
        (*file)->stream() << "new";
        ASSERT_TRUE((*file)->commit());
        EXPECT_TRUE(fs::is_symlink(folder / name));
    }
    EXPECT_EQ(folder.text("target"), "new");
    EXPECT_EQ(folder.text("absent"), "new");
    EXPECT_EQ(folder.num_files(), 4U);
}

TEST(OutputFile, ACircleOfLinksIsAnErrorNotALoop) {
    const TestFolder folder;
    fs::create_symlink("b", folder / "a");
    fs::create_symlink("a", folder / "b");
    EXPECT_FALSE(OutputFile::open(folder / "a"));
}

TEST(OutputFile, TellsUnwritablePlacesWhenItIsOpened) {
    const TestFolder folder;
    folder.write("file", "");
    for (const fs::path& path : {fs::path{},
                                 folder.path(),
                                 folder / "no/such/folder",
                                 folder / "file/below",
                                 fs::path{"/proc/nothing"}}) {
        const auto file = OutputFile::open(path);
        ASSERT_FALSE(file) << path;
        EXPECT_EQ(file.error().where, path.string());
        EXPECT_NE(file.error().hint, "");
    }
    EXPECT_EQ(folder.num_files(), 1U);
}

TEST(OutputFile, TellsAFullDisk) {
    auto file = OutputFile::open("/dev/full");
    ASSERT_TRUE(file);
    (*file)->stream() << std::string(100'000, 'x');
    const Result<void> written = (*file)->commit();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().to_string(),
              "/dev/full: error: can't be written (hint: is the disk full?)");
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(OutputFile, ASignalLeavesNoTemporaryFile) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const TestFolder folder;
        const pid_t child = fork();
        if (child == 0) {
            const auto kept = OutputFile::open(folder / "kept");
            (*kept)->stream() << "whole";
            const bool committed = (*kept)->commit().has_value();
            const auto cut = OutputFile::open(folder / "cut");
            (*cut)->stream() << "half";
            raise(signal);
            _exit(committed ? 1 : 2);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
        EXPECT_EQ(WTERMSIG(status), signal);
        EXPECT_EQ(folder.num_files(), 1U);
        EXPECT_EQ(folder.text("kept"), "whole");
    }
}

}  // namespace
}  // namespace orrery
