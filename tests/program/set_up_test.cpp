// SPDX-License-Identifier: Apache-2.0
// The script `orrery` in a checkout whose path has a space, with tools that only note how they were
// called: what it installs, builds and says, and that it does nothing twice.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class SetUp : public ::testing::Test {
protected:
    SetUp() {
        fs::create_directories(tools());
        fs::create_directories(root() / "scenarios");
        fs::copy_file(fs::path{ORRERY_SOURCE_DIR} / "orrery", root() / "orrery");
        // Everything is installed but what the file `lacking` names.
        tool("dpkg-query",
             "for p; do case $p in -*) ;; *) grep -qsx \"$p\" \"$STATE/lacking\" ||"
             " echo \"installed $p\";; esac; done");
        tool("apt-get",
             "echo apt-get \"$@\" >>\"$STATE/calls\"; [ ! -e \"$STATE/offline\" ] || "
             "{ echo Could not resolve; exit 100; };"
             // A browser is only got while something is built, or after that.
             " case \"$*\" in *chromium*) for i in 1 2 3 4 5 6 7 8 9; do"
             " [ -e \"$STATE/built\" ] || sleep 1; done;"
             " [ -e \"$STATE/built\" ] || exit 100;; esac;"
             " for p; do sed -i \"/^$p\\$/d\" \"$STATE/lacking\"; done");
        tool("sudo", "echo sudo >>\"$STATE/calls\"; [ \"$1\" != -n ] || shift; exec \"$@\"");
        tool("cmake",
             "echo cmake \"$@\" >>\"$STATE/calls\"; s=; t=; while [ $# -gt 0 ]; do"
             " case $1 in -S) s=$2;; -D) t=$2;; esac; shift; done; mkdir -p \"$s/build\";"
             " touch \"$s/build/build.ninja\"; printf '%s\\n' \"CMAKE_HOME_DIRECTORY:INTERNAL=$s\""
             " \"ORRERY_TESTS:BOOL=${t#*=}\" >\"$s/build/CMakeCache.txt\"");
        tool("ninja",
             "b=$2; shift 2; if [ \"$1\" = -f ]; then shift 2; elif [ \"$1\" = -n ]; then"
             " echo '[1/2] Re-running CMake...'; exit 0; fi;"  // a dry run ends at the globs
             " if [ \"$1\" = -n ]; then [ ! -e \"$STATE/built\" ] ||"
             " echo 'ninja: no work to do.'; exit 0; fi; echo ninja \"$@\" >>\"$STATE/calls\";"
             " echo '[1/1] Building'; if [ -e \"$STATE/broken\" ]; then"
             " echo 'FAILED: a.o'; echo 'a.cpp:1: error: no'; exit 1; fi;"
             " mkdir -p \"$b/bin\"; touch \"$STATE/built\"; printf '%s\\n' '#!/bin/sh'"
             " 'echo \"ran in $PWD:\" \"$@\"; exit 7' >\"$b/bin/orrery\"; chmod +x "
             "\"$b/bin/orrery\"");
        tool("ctest", "echo ctest \"$@\" >>\"$STATE/calls\"; echo '100% tests passed'");
    }

    fs::path root() const { return folder_.path() / "a checkout"; }
    fs::path tools() const { return folder_.path() / "tools"; }
    void tool(const std::string& name, const std::string& body) {
        write_text(tools() / name, "#!/bin/sh\n" + body + "\n");
        fs::permissions(tools() / name, fs::perms::owner_all);
    }
    void state(const std::string& name, const std::string& text = "") {
        write_text(folder_.path() / name, text);
    }
    // Runs the script in the folder scenarios/, and returns it with the calls of tools meanwhile. A
    // setting of the build that runs these tests is none of the script's.
    Ran run(const std::string& arguments) {
        fs::remove(folder_.path() / "calls");
        const Ran ran = run_shell(
            "export STATE='" + folder_.path().string() + "' PATH='" + tools().string() +
                ":/usr/bin:/bin' CI=true\nunset ORRERY_UNITY_SIZE\n" + "../orrery " + arguments,
            root() / "scenarios");
        calls = read_text(folder_.path() / "calls");
        return ran;
    }
    bool called(const std::string& call) const { return calls.find(call) != std::string::npos; }

    std::string calls;

private:
    TestFolder folder_;
};

TEST_F(SetUp, BuildsOnFirstUseAndBecomesTheProgramWhereItWasCalled) {
    const Ran ran = run("simulate 'my file.yaml' --json");
    EXPECT_EQ(ran.status, 7) << ran.err;
    EXPECT_EQ(ran.out,
              "ran in " + fs::canonical(root() / "scenarios").string() +
                  ": simulate my file.yaml --json\n");
    EXPECT_TRUE(called("cmake --fresh")) << calls;
    EXPECT_TRUE(called("ORRERY_TESTS=OFF")) << calls;
    EXPECT_TRUE(called(" orrery\n")) << "builds more than the program: " << calls;
    EXPECT_FALSE(called("apt-get")) << calls;
}

TEST_F(SetUp, SaysAndDoesNothingWhenNothingChanged) {
    run("simulate a.yaml");
    const Ran again = run("simulate a.yaml");
    EXPECT_EQ(again.status, 7);
    EXPECT_EQ(again.err, "");
    EXPECT_EQ(calls, "");
}

TEST_F(SetUp, InstallsOnlyThePackagesThatAreMissing) {
    state("lacking", "libfmt-dev\nninja-build\nlibgtest-dev\n");
    const Ran ran = run("simulate a.yaml");
    EXPECT_EQ(ran.status, 7) << ran.err;
    EXPECT_TRUE(called("install --no-install-recommends ninja-build libfmt-dev\n")) << calls;
    EXPECT_EQ(ran.out.find("ran in"), 0u) << "standard output belongs to the program";
}

TEST_F(SetUp, WithoutANetworkItSaysWhatToInstall) {
    state("lacking", "libfmt-dev\n");
    state("offline");
    const Ran ran = run("simulate a.yaml");
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("Could not resolve"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("apt-get install --no-install-recommends libfmt-dev"), std::string::npos)
        << ran.err;
}

TEST_F(SetUp, AFailedBuildShowsTheEndOfItsLog) {
    state("broken");
    const Ran ran = run("simulate a.yaml");
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("a.cpp:1: error: no"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("build/build.log"), std::string::npos) << ran.err;
}

TEST_F(SetUp, TestsAreAddedToTheSameBuild) {
    run("simulate a.yaml");
    const Ran ran = run("test -R Mesh");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "100% tests passed\n");
    EXPECT_TRUE(called("ORRERY_TESTS=ON")) << calls;
    EXPECT_FALSE(called("--fresh")) << calls;
    EXPECT_TRUE(called(" all\n")) << calls;
    EXPECT_TRUE(called("-R Mesh\n")) << calls;
    run("simulate a.yaml");
    EXPECT_EQ(calls, "") << "the program was not rebuilt";
}

TEST_F(SetUp, WhatTestsCallIsInstalledBesideTheBuildAndBeforeThem) {
    state("lacking", "chromium\nlibgtest-dev\n");
    const Ran ran = run("test");
    EXPECT_EQ(ran.status, 0) << ran.err;
    const std::size_t built_with = calls.find("install --no-install-recommends libgtest-dev\n");
    const std::size_t called_by = calls.find("install --no-install-recommends chromium\n");
    EXPECT_LT(built_with, calls.find("cmake"));
    EXPECT_LT(called_by, calls.find("ctest"));
    EXPECT_LT(calls.find("cmake"), calls.find("ctest"));
    // It failed, or was removed: it is installed again though nothing is to be built.
    state("lacking", "chromium\n");
    EXPECT_EQ(run("test").status, 0);
    EXPECT_TRUE(called("chromium\n")) << calls;
    EXPECT_FALSE(called("ninja")) << calls;
}

TEST_F(SetUp, SanitizersRunWithWhatTestsNeed) {
    state("lacking", "libgtest-dev\n");
    fs::create_directories(root() / "tests");
    write_text(root() / "tests/sanitizers.sh",
               "#!/bin/sh\n[ \"$JOBS\" -ge 1 ] && echo sanitizers \"$@\"\n");
    fs::permissions(root() / "tests/sanitizers.sh", fs::perms::owner_all);
    const Ran ran = run("sanitize");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "sanitizers\n");
    EXPECT_TRUE(called("install --no-install-recommends libgtest-dev\n")) << calls;
    EXPECT_FALSE(called("ninja")) << calls;
}

TEST_F(SetUp, AMovedCheckoutIsConfiguredAfresh) {
    run("simulate a.yaml");
    const fs::path cache = root() / "build/CMakeCache.txt";
    write_text(cache, "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n");
    run("simulate a.yaml");
    EXPECT_TRUE(called("cmake --fresh")) << calls;
}

}  // namespace
}  // namespace orrery
