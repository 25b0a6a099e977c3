// SPDX-License-Identifier: Apache-2.0
// The script scenarios/gpu_bench/gpu_hour.sh with programs that only note how they were called,
// some of which fail or hang: what it runs, what it writes, and that nothing ends it early.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class GpuHour : public testing::Test {
protected:
    GpuHour() {
        fs::create_directories(root() / "scenarios");
        fs::copy(fs::path{ORRERY_SOURCE_DIR} / "scenarios" / "gpu_bench",
                 root() / "scenarios" / "gpu_bench");
        for (const char* file : {"gpt2-124m-1gpu.yaml", "gpt2-124m-h200.yaml"}) {
            write_text(root() / "scenarios" / file, "");
        }
        // The program writes what it is asked for, and does not end where the state says so.
        program(root() / "bin" / "orrery",
                "out=; steps=; for w; do case $p in -o) out=$w;; esac; p=$w; done\n"
                "case \" $* \" in\n"
                "*' --only train '*) mkdir -p \"$out\"; printf '%s\\n' scenario,device,without"
                " \"gpt2,GPU,$ORRERY_CUDA_WITHOUT\" >\"$out/steps.csv\";"
                " echo times >\"$out/gpt2-124m-1gpu.csv\"; echo a >\"$ORRERY_GEMM_ALGORITHMS\";;\n"
                "*' profile '*) echo profile >\"$out\";;\n"
                "esac\n");
        program(root() / "bin" / "kernel_check",
                "for w; do case $p in --csv) echo \"kernel,$*\" >\"$w\";; esac; p=$w; done\n");
        for (const char* tool : {"nvidia-smi", "python3", "compute-sanitizer"}) {
            program(tools() / tool, "");
        }
        program(tools() / "ncu",
                "for w; do case $p in --log-file) echo measured >\"$w\";; esac; p=$w; done\n");
        // The limit is noted, and is a second here.
        program(tools() / "timeout",
                "case $1 in --kill*) shift;; esac; shift; exec /usr/bin/timeout 1 \"$@\"\n");
    }

    fs::path root() const { return folder_.path() / "carried"; }
    fs::path tools() const { return folder_.path() / "tools"; }
    void program(const fs::path& file, const std::string& body) {
        const std::string name = file.filename().string();
        fs::create_directories(file.parent_path());
        write_text(file,
                   "#!/bin/sh\ncall=\"" + name + " $*\"\necho \"" + name +
                       " [$ORRERY_CUDA_WITHOUT] $*\" >>\"$STATE/calls\"\n"
                       "is() { [ -e \"$STATE/$1\" ] || return 1; while read -r p; do"
                       " case $call in $p) return 0;; esac; done <\"$STATE/$1\"; return 1; }\n"
                       "if is fails; then exit 134; fi\nif is hangs; then exec sleep 60; fi\n" +
                       body);
        fs::permissions(file, fs::perms::owner_all);
    }
    // Calls with words like these, a pattern a line.
    void let(const std::string& what, const std::string& pattern) {
        write_text(folder_.path() / what, pattern);
    }
    Ran run(const std::string& stages) {
        const Ran ran = run_shell("export STATE='" + folder_.path().string() + "' PATH='" +
                                      tools().string() + ":/usr/bin:/bin'\n" +
                                      "carried/scenarios/gpu_bench/gpu_hour.sh -o out " + stages,
                                  folder_.path());
        calls = read_text(folder_.path() / "calls");
        return ran;
    }
    std::string file(const std::string& name) const {
        return read_text(folder_.path() / "out" / name);
    }
    bool called(const std::string& call) const { return calls.find(call) != std::string::npos; }

    std::string calls;

private:
    TestFolder folder_;
};

TEST_F(GpuHour, RunsEveryStageIntoAtMostEightFiles) {
    const Ran ran = run("first second third");
    EXPECT_EQ(ran.status, 0) << ran.err;
    const std::string lines = file("stages.csv");
    for (const char* stage : {"machine",
                              "kernels",
                              "sanitizer",
                              "checks",
                              "124m",
                              "torch-124m",
                              "1558m",
                              "torch-1558m",
                              "sizes",
                              "torch-sizes",
                              "ranks",
                              "profile",
                              "ncu"}) {
        EXPECT_NE(lines.find(std::string{"\n"} + stage + ","), std::string::npos) << stage;
    }
    EXPECT_TRUE(called("orrery [] gpu-bench --checks-only")) << calls;
    EXPECT_TRUE(called("orrery [graphs] gpu-bench")) << calls;
    EXPECT_TRUE(called("--no-profile --from-stage torch:gpt2-124m-1gpu")) << calls;
    EXPECT_TRUE(called("kernel_check [] --only ^attention/warpgroups  --no-times")) << calls;
    const auto names = fs::directory_iterator(root().parent_path() / "out");
    EXPECT_EQ(std::distance(begin(names), end(names)), 8);
    for (const char* name : {"report.txt",
                             "stages.csv",
                             "kernels.csv",
                             "steps.csv",
                             "machine.csv",
                             "profiles.tar",
                             "gemm.txt",
                             "ncu.txt"}) {
        EXPECT_NE(file(name), "") << name;
    }
    // The columns once.
    const std::string steps = file("steps.csv");
    EXPECT_EQ(steps.find("scenario,", 1), std::string::npos) << steps;
    EXPECT_GE(std::count(steps.begin(), steps.end(), '\n'), 7) << steps;
}

TEST_F(GpuHour, WhatFailsOrHangsCostsItsOwnTimeOnly) {
    let("fails", "orrery *--checks-only*\n");
    let("hangs", "orrery *job.steps=20*--device cuda*\norrery profile *\n");
    const Ran ran = run("checks ranks profile machine");
    EXPECT_EQ(ran.status, 0) << ran.err;
    const std::string lines = file("stages.csv");
    EXPECT_NE(lines.find("checks,executor,134,"), std::string::npos) << lines;
    EXPECT_NE(lines.find("ranks,tiny-cpu,0,"), std::string::npos) << lines;
    EXPECT_NE(lines.find("ranks,tiny-gpu,124,"), std::string::npos) << lines;
    EXPECT_NE(lines.find("ranks,124m-two-ranks,0,"), std::string::npos) << lines;
    EXPECT_NE(lines.find("profile,cases,124,"), std::string::npos) << lines;
    EXPECT_NE(lines.find("machine,gpu,0,"), std::string::npos) << lines;
    EXPECT_NE(file("report.txt").find("=== checks/executor: status 134"), std::string::npos);
}

// A tensor-core kernel that faults is not used by what follows.
TEST_F(GpuHour, LeavesOutAKernelThatFailedAlone) {
    let("fails", "kernel_check *warpgroups*\n");
    run("kernels 124m");
    EXPECT_TRUE(called("orrery [wgmma] gpu-bench")) << calls;
    EXPECT_TRUE(called("orrery [wgmma,graphs] gpu-bench")) << calls;
    EXPECT_NE(file("report.txt").find("from here on without wgmma"), std::string::npos);
}

TEST_F(GpuHour, TakesTheBatchesOfALargeGpu) {
    program(tools() / "nvidia-smi", "echo 143771\n");
    run("124m");
    EXPECT_TRUE(called("scenarios/gpt2-124m-h200.yaml --only train")) << calls;
    EXPECT_FALSE(called("gpt2-124m-1gpu.yaml")) << calls;
}

TEST_F(GpuHour, NamesItsStages) {
    for (const char* stages : {"", "machine everything"}) {
        const Ran ran = run(stages);
        EXPECT_EQ(ran.status, 2);
        EXPECT_NE(ran.err.find("torch-sizes ranks profile ncu"), std::string::npos) << ran.err;
        EXPECT_EQ(calls, "");
    }
    fs::remove(root() / "bin" / "orrery");
    const Ran none = run("machine");
    EXPECT_EQ(none.status, 2);
    EXPECT_NE(none.err.find("bundle.sh makes it"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace orrery
