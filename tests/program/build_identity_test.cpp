// SPDX-License-Identifier: Apache-2.0
// cmake/build_identity.cmake: which changes of a source tree make another program.
#include <gtest/gtest.h>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

class BuildIdentityScript : public ::testing::Test {
protected:
    BuildIdentityScript() {
        std::filesystem::create_directories(folder_.path() / "tree/engine/base");
        std::filesystem::create_directories(folder_.path() / "tree/scenarios");
        write("CMakeLists.txt", "project(orrery)");
        write("engine/base/a.cpp", "int a;");
        write("scenarios/s.yaml", "name: s");
    }
    void write(const std::string& name, const std::string& text) const {
        write_text(folder_.path() / "tree" / name, text);
    }
    // The source that the script writes.
    std::string identity() const {
        const Ran ran = run_shell("'" ORRERY_CMAKE
                                  "' -D ROOT=$PWD/tree -D OUTPUT=out.cpp -D VERSION=1.2.3 -D "
                                  "COMPILER=c -D 'FEATURES=cuda 13.0,mpi' -P " ORRERY_SOURCE_DIR
                                  "/cmake/build_identity.cmake",
                                  folder_.path());
        EXPECT_EQ(ran.status, 0) << ran.err;
        return read_text(folder_.path() / "out.cpp");
    }
    Ran git(const std::string& words) const {
        return run_shell("git -c user.name=n -c user.email=e " + words, folder_.path() / "tree");
    }

    TestFolder folder_;
};

TEST_F(BuildIdentityScript, IsOfTheSourcesThatDecideResults) {
    const std::string first = identity();
    EXPECT_NE(first.find(".version = \"1.2.3\""), std::string::npos) << first;
    EXPECT_NE(first.find(".features = {\"cuda 13.0\", \"mpi\"}"), std::string::npos) << first;
    EXPECT_NE(first.find(".commit = \"\""), std::string::npos) << first;
    write("scenarios/s.yaml", "name: other");
    write("README.md", "words");
    EXPECT_EQ(identity(), first);
    write("engine/base/a.cpp", "int b;");
    const std::string second = identity();
    EXPECT_NE(second, first);
    write("engine/base/b.h", "");
    EXPECT_NE(identity(), second);
    write("CMakeLists.txt", "project(orrery) # -ffast-math");
    EXPECT_NE(identity(), second);
}

TEST_F(BuildIdentityScript, WritesNothingWhereNothingChanged) {
    identity();
    const auto written = std::filesystem::last_write_time(folder_.path() / "out.cpp");
    const auto past = written - std::chrono::hours{1};
    std::filesystem::last_write_time(folder_.path() / "out.cpp", past);
    identity();
    EXPECT_EQ(std::filesystem::last_write_time(folder_.path() / "out.cpp"), past);
}

TEST_F(BuildIdentityScript, NamesTheCommitOfItsOwnCloneOnly) {
    if (git("--version").status != 0) {
        GTEST_SKIP() << "git is not here";
    }
    ASSERT_EQ(run_shell("git init -q .", folder_.path()).status, 0);
    ASSERT_EQ(run_shell("git -c user.name=n -c user.email=e commit -q --allow-empty -m around",
                        folder_.path())
                  .status,
              0);
    // A tarball that was unpacked inside another repository.
    EXPECT_NE(identity().find(".commit = \"\""), std::string::npos);
    ASSERT_EQ(git("init -q . ").status, 0);
    ASSERT_EQ(git("add .").status, 0);
    ASSERT_EQ(git("commit -q -m first").status, 0);
    const std::string clean = identity();
    EXPECT_EQ(clean.find(".commit = \"\""), std::string::npos) << clean;
    EXPECT_NE(clean.find(".changed = false"), std::string::npos) << clean;
    write("engine/base/a.cpp", "int c;");
    EXPECT_NE(identity().find(".changed = true"), std::string::npos);
}

}  // namespace
}  // namespace orrery
