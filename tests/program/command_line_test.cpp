// SPDX-License-Identifier: Apache-2.0
// The program as its users meet it: exit statuses, and what goes to which stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

const std::string kSmall = "scenarios/laptop-2gpu.yaml";

TEST(CommandLine, VersionIsTheProjects) {
    const Ran ran = run_orrery("--version");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out.substr(0, ran.out.find('\n')), "orrery " ORRERY_VERSION);
    for (const char* line : {"\nsources   ", "\ncatalogue ", "\ncompiler  "}) {
        EXPECT_NE(ran.out.find(line), std::string::npos) << line << ran.out;
    }
    EXPECT_EQ(ran.err, "");
}

TEST(CommandLine, HelpNamesTheCommands) {
    const Ran ran = run_orrery("--help");
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out.find("simulate"), std::string::npos);
    EXPECT_NE(ran.out.find("validate"), std::string::npos);
}

TEST(CommandLine, WithoutACommandTheHelpIsAnError) {
    const Ran ran = run_orrery("");
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, run_orrery("--help").out);
}

TEST(CommandLine, AMissingArgumentComesAfterAWrongOption) {
    EXPECT_EQ(run_orrery("diff").err,
              "command line: error: 'before' is missing. Scenario (YAML), or result (JSON) (hint: "
              "for example: orrery diff scenarios/megatron-175b-1024.yaml "
              "scenarios/megascale-175b-1024.yaml; see orrery diff --help)\n");
    EXPECT_NE(run_orrery("diff --jsn").err.find("unknown option '--jsn'"), std::string::npos);
}

TEST(CommandLine, HelpOfACommandIsTheSameInBothSpellings) {
    const Ran ran = run_orrery("help simulate");
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out.find("Usage: orrery simulate [OPTIONS] [file]"), std::string::npos);
    EXPECT_EQ(ran.out, run_orrery("simulate --help").out);
}

TEST(CommandLine, ADashIsStandardInputAndOutput) {
    const TestFolder folder;
    const Ran ran =
        run_shell("$ORRERY init --model gpt-2-124m --node laptop-2gpu | $ORRERY simulate - --csv -",
                  folder.path());
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out.substr(0, 14), "scenario,gpus,") << ran.out;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 2);
    const Ran old = run_orrery("init - --model gpt-2-124m --node laptop-2gpu");
    EXPECT_NE(old.err.find("file is now --output; "), std::string::npos) << old.err;
    const Ran wrong = run_shell("echo 'cluster: {nodse: 1}' | $ORRERY check -", folder.path());
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find("standard input:1:11: error: "), std::string::npos) << wrong.err;
    const Ran appended = run_shell(
        "echo first > all.yaml; $ORRERY init --model gpt-2-124m --node laptop-2gpu >> all.yaml; "
        "head -2 all.yaml",
        folder.path());
    EXPECT_EQ(appended.out.substr(0, 7), "first\n#") << appended.out;
}

TEST(CommandLine, ATableComesThroughAPipeAndAProductGoesThroughOne) {
    const TestFolder folder;
    const std::string table = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/collectives.csv";
    const std::string csv = "validate - --format csv";
    const Ran piped = run_shell("$ORRERY " + csv + " < '" + table + "'", folder.path());
    EXPECT_EQ(piped.status, 0) << piped.err;
    EXPECT_EQ(piped.out, run_orrery("validate '" + table + "' --format csv").out);
    const Ran wrong = run_shell("echo a,b | $ORRERY validate -", folder.path());
    EXPECT_EQ(wrong.status, 2);
    EXPECT_EQ(wrong.err.find("standard input:1: error: "), 0u) << wrong.err;
    const Ran best = run_shell("$ORRERY search " ORRERY_SOURCE_DIR "/" + kSmall +
                                   " --set search.simulations=4 -o - | $ORRERY check -",
                               folder.path());
    EXPECT_EQ(best.status, 0) << best.err;
    EXPECT_EQ(best.out.find("-: scenario: "), 0u) << best.out;
}

TEST(CommandLine, AnOldKeyWorksAndSaysSo) {
    const std::string set =
        "simulate " + kSmall + " --csv - --set cluster.slow_node_share=1 --set ";
    const Ran old = run_orrery(set + "cluster.slow_node_slowdown=0.5");
    EXPECT_EQ(old.status, 0) << old.err;
    EXPECT_NE(old.err.find("cluster.slow_node_slowdown is now cluster.slow_node_factor: 1.5"),
              std::string::npos)
        << old.err;
    const Ran now = run_orrery(set + "cluster.slow_node_factor=1.5");
    EXPECT_EQ(now.err, "");
    EXPECT_EQ(now.out, old.out);
    EXPECT_EQ(run_orrery(set + "plan.micro_batch_size=2").status, 2);
}

TEST(CommandLine, AReaderThatHasSeenEnoughIsNoError) {
    const TestFolder folder;
    const Ran ran = run_shell(
        "trap '' PIPE; { $ORRERY catalogue --json; echo $? > status; } | "
        "true; cat status",
        folder.path());
    EXPECT_EQ(ran.out, "0\n");
    EXPECT_EQ(ran.err, "");
}

TEST(CommandLine, AnOldSpellingWorksAndSaysSo) {
    const Ran ran = run_orrery(
        "network scenarios/network-clos-64.yaml --size 1MiB --write-nccl-topology /dev/null");
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err,
              "orrery: --write-nccl-topology is now --export-nccl-topology; the old spelling will "
              "go with the next release\n");
}

TEST(CommandLine, WrongUseEndsWithStatusTwoAndNothingOnStandardOutput) {
    for (const char* arguments : {"",
                                  "no_such_command",
                                  "simulate",
                                  "simulate --no-such-option scenarios/laptop-2gpu.yaml",
                                  "simulate no/such/file.yaml",
                                  "simulate scenarios",
                                  "simulate /dev/null",
                                  "simulate scenarios/laptop-2gpu.yaml --set plan.precision",
                                  "simulate scenarios/laptop-2gpu.yaml --set plan.no_such_key=1",
                                  "validate no/such/file.csv"}) {
        const Ran ran = run_orrery(arguments);
        EXPECT_EQ(ran.status, 2) << arguments << "\n" << ran.err;
        EXPECT_EQ(ran.out, "") << arguments;
        EXPECT_NE(ran.err, "") << arguments;
    }
}

// It is signalled when its simulations have begun, long before the million of them.
TEST(CommandLine, ASignalEndsASearchWithTheBestPlanSoFar) {
    for (const char* signal : {"INT", "TERM"}) {
        const TestFolder folder;
        const Ran ran = run_shell(
            "set -m\n"  // or the shell has it ignore SIGINT
            "$ORRERY search '" ORRERY_SOURCE_DIR
            "/scenarios/llama3-8b-h100.yaml' --json --jobs 1 -v "
            "-o best.yaml --set search.simulations=1000000 2> said & search=$!\n"
            "until grep -q 'plans are listed' said; do "
            "kill -0 $search || exit 99; sleep 0.02; done\n"
            "kill -" +
                std::string{signal} +
                " $search; status=0; wait $search || status=$?; cat said >&2; exit $status",
            folder.path());
        EXPECT_EQ(ran.status, 130) << signal << ran.err;
        EXPECT_NE(ran.err.find("interrupted"), std::string::npos) << ran.err;
        const auto json = nlohmann::json::parse(ran.out);
        EXPECT_EQ(json["interrupted"], true);
        EXPECT_GE(json["best"].size(), 1u);
        EXPECT_GT(json["pruned"]["interrupted"], 0);
        EXPECT_NE(read_text(folder.path() / "best.yaml"), "");
    }
}

// A space of 1.5 million plans takes seconds to list.
TEST(CommandLine, ASignalEndsTheListingOfASearch) {
    const TestFolder folder;
    const Ran ran = run_shell(
        "set -m\n"  // or the shell has it ignore SIGINT
        "$ORRERY search '" ORRERY_SOURCE_DIR
        "/scenarios/search-175b-1024-a100.yaml' --jobs 1 -v --set network=analytic "
        "-o best.yaml & search=$!\n"
        "until grep -q '^SigBlk:.*4003$' /proc/$search/status; do "
        "kill -0 $search || exit 99; sleep 0.02; done\n"
        "sleep 0.5; kill -INT $search; wait $search",
        folder.path());
    EXPECT_EQ(ran.status, 130) << ran.err;
    EXPECT_NE(ran.out.find("of the first"), std::string::npos) << ran.out;
    EXPECT_NE(read_text(folder.path() / "best.yaml"), "");
}

// The signal ends the run on its way, and no other one begins.
TEST(CommandLine, ASignalEndsAProfile) {
    const TestFolder folder;
    const Ran ran = run_shell(
        "set -m\n"  // or the shell has it ignore SIGINT
        "$ORRERY profile --device cpu --nproc 1 -o p.csv & profile=$!\n"
        "until grep -q . /proc/$profile/task/$profile/children; do "
        "kill -0 $profile || exit 99; sleep 0.02; done\n"
        "kill -INT $profile; wait $profile",
        folder.path());
    EXPECT_EQ(ran.status, 130) << ran.err;
    EXPECT_NE(ran.out.find("interrupted: the other runs are missing"), std::string::npos)
        << ran.out << ran.err;
}

// What is printed does not get into a file that took the number of the closed output.
TEST(CommandLine, AClosedOutputIsAnErrorOfAnyCommand) {
    const TestFolder folder;
    for (const std::string command : {"search", "simulate"}) {
        const Ran ran = run_shell("$ORRERY " + command +
                                      " '" ORRERY_SOURCE_DIR
                                      "/scenarios/laptop-2gpu.yaml' --html page.html >&-",
                                  folder.path());
        EXPECT_EQ(ran.status, 2) << command;
        EXPECT_NE(ran.err.find("standard output: error: can't be written (hint: it is closed)"),
                  std::string::npos)
            << command << ": " << ran.err;
        EXPECT_TRUE(read_text(folder.path() / "page.html").ends_with("</html>\n")) << command;
    }
}

// A database, tokens, weights and folders: no file called '-' is made.
TEST(CommandLine, WhatNoPipeTakesIsNotWrittenToStandardOutput) {
    const TestFolder folder;
    const std::string scenarios = "'" ORRERY_SOURCE_DIR "/scenarios/'";
    for (const std::string& command :
         {"sweep " + scenarios + "sweep-70b-plans.yaml -o -",
          "tokenize " + scenarios + "train-tiny.txt -o -",
          std::string{"export . -o -"},
          "train " + scenarios + "train-tiny-cpu.yaml --record -",
          "simulate " + scenarios + "laptop-2gpu.yaml --export-chakra -"}) {
        const Ran ran = run_shell("$ORRERY " + command, folder.path());
        EXPECT_EQ(ran.status, 2) << command;
        EXPECT_NE(ran.err.find("standard output"), std::string::npos) << command << ran.err;
        EXPECT_FALSE(std::filesystem::exists(folder.path() / "-")) << command;
    }
    EXPECT_EQ(run_shell("timeout 60 $ORRERY validate /dev/zero", folder.path()).status, 2);
    EXPECT_EQ(run_shell("timeout 60 $ORRERY replay /dev/zero x.yaml", folder.path()).status, 2);
    EXPECT_EQ(
        run_shell("$ORRERY init --model gpt-2-124m --node laptop-2gpu > /dev/full", folder.path())
            .err,
        "standard output: error: can't be written (hint: is the disk full?)\n");
}

TEST(CommandLine, AnErrorInAFileNamesItsPlace) {
    const TestFolder folder;
    write_text(folder.path() / "typo.yaml", "cluster:\n  nodse: 1\n");
    const Ran ran = run_orrery("simulate " + (folder.path() / "typo.yaml").string());
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.err.find("typo.yaml:2:3: error: "), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("nodes"), std::string::npos) << "no near name in: " << ran.err;
}

TEST(CommandLine, JsonIsOneObjectAndNothingElse) {
    const Ran ran = run_orrery("simulate " + kSmall + " --json");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << ran.out;
    for (const char* key : {"iteration_s",
                            "tokens_per_s",
                            "mfu",
                            "hfu",
                            "model_flops_per_step",
                            "peak_memory_bytes",
                            "fits",
                            "memory",
                            "lost_mfu",
                            "network",
                            "cost_sources",
                            "uncertainty",
                            "ranks",
                            "simulated_ops",
                            "wall_s",
                            "fold_classes",
                            "flows",
                            "distinct_paths",
                            "rate_solves",
                            "peak_rss_bytes",
                            "seed",
                            "version"}) {
        EXPECT_TRUE(json.contains(key)) << key;
    }
    EXPECT_GT(json.value("iteration_s", 0.0), 0.0);
    EXPECT_EQ(json.value("ranks", 0), 2);
}

TEST(CommandLine, TheReportFitsAHundredColumns) {
    const Ran ran = run_orrery("simulate " + kSmall);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::size_t columns = 0;
    for (const char c : ran.out) {
        columns = c == '\n' ? 0 : columns + ((static_cast<unsigned char>(c) & 0xc0u) != 0x80u);
        ASSERT_LE(columns, 100u) << ran.out;
    }
}

TEST(CommandLine, ASettingChangesTheAnswer) {
    const auto seconds = [](const std::string& setting) {
        const Ran ran = run_orrery("simulate " + kSmall + " --json" + setting);
        EXPECT_EQ(ran.status, 0) << ran.err;
        return nlohmann::json::parse(ran.out, nullptr, false).value("iteration_s", 0.0);
    };
    EXPECT_GT(seconds(" --set plan.global_batch_size=64"), 1.5 * seconds(""));
}

TEST(CommandLine, JsonHasTheKindOfEveryKeyThatProgramsRead) {
    const Ran ran = run_orrery("simulate " + kSmall + " --json");
    const auto json = nlohmann::json::parse(ran.out);
    for (const char* key : {"iteration_s", "tokens_per_s", "mfu", "hfu", "uncertainty", "wall_s"}) {
        EXPECT_TRUE(json[key].is_number_float()) << key;
        EXPECT_GT(json[key], 0) << key;
    }
    for (const char* key : {"peak_memory_bytes",
                            "ranks",
                            "simulated_ops",
                            "peak_rss_bytes",
                            "seed",
                            "fold_classes",
                            "flows",
                            "distinct_paths",
                            "rate_solves"}) {
        EXPECT_TRUE(json[key].is_number_integer()) << key;
        EXPECT_GE(json[key], 0) << key;
    }
    EXPECT_TRUE(json["fits"].is_boolean());
    EXPECT_TRUE(json["version"].is_string());
    double memory = 0;
    for (const auto& kind : json["memory"]) {
        memory += kind.get<double>();
    }
    EXPECT_EQ(memory, json["memory_peak"]["in_use_bytes"].get<double>());
    EXPECT_LE(memory, json["peak_memory_bytes"].get<double>());
    double all = json["mfu"];
    for (const auto& lost : json["lost_mfu"]) {
        all += lost.get<double>();
    }
    EXPECT_NEAR(all, 1, 1e-9);
    EXPECT_EQ(json["lost_mfu"]["exposed_tensor"], 0);  // one rank a replica: all causes have keys
    EXPECT_EQ(json["lost_s"].size(), json["lost_mfu"].size());
    double path = 0;
    for (const auto& part : json["critical_path_s"]) {
        path += part.get<double>();
    }
    EXPECT_NEAR(path, json["iteration_s"].get<double>(), 1e-9);
    for (const auto& use : json["network"]) {
        EXPECT_LE(use["mean"].get<double>(), use["max"].get<double>() + 1e-12);
    }
    const auto& sources = json["cost_sources"];
    EXPECT_NEAR(sources["measured"].get<double>() + sources["interpolated"].get<double>() +
                    sources["roofline"].get<double>(),
                1,
                1e-12);
}

TEST(CommandLine, BrokenTablesEndValidateWithStatusTwo) {
    const TestFolder folder;
    const std::string file = (folder.path() / "cases.csv").string();
    for (const std::string& text : {std::string{},
                                    std::string{"case,family\nA,b\n"},
                                    std::string("\x7f\x45\x4c\x46\0\0\xff\xfe\n", 9)}) {
        write_text(file, text);
        const Ran ran = run_orrery("validate --json " + file);
        EXPECT_EQ(ran.status, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_NE(ran.err.find("cases.csv"), std::string::npos) << ran.err;
    }
}

// Where messages can't be written, the status still tells how a run ended.
TEST(CommandLine, MessagesThatNobodyTakesChangeNoStatus) {
    for (const char* nowhere : {" 2>/dev/full", " 2>&-"}) {
        EXPECT_EQ(run_orrery(std::string{"simulate nowhere.yaml"} + nowhere).status, 2) << nowhere;
        EXPECT_EQ(run_orrery("simulate " + kSmall + " --no-such-option" + nowhere).status, 2);
        EXPECT_EQ(run_orrery("simulate " + kSmall + " -v" + nowhere).status, 0) << nowhere;
    }
}

TEST(CommandLine, AFullDiskOrAnUnwritableTraceIsAnError) {
    EXPECT_EQ(run_orrery("simulate " + kSmall + " --json >/dev/full").status, 2);
    const TestFolder folder;
    const std::string trace = (folder.path() / "no/such/folder/t.trace").string();
    const Ran ran = run_orrery("simulate " + kSmall + " --trace " + trace);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("t.trace"), std::string::npos) << ran.err;
}

TEST(CommandLine, ATraceIsWrittenWhole) {
    const TestFolder folder;
    const std::string trace = (folder.path() / "step.trace").string();
    const Ran ran = run_orrery("simulate " + kSmall + " --trace " + trace);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_GT(std::filesystem::file_size(trace), 100u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder.path()}, {}), 1);
}

}  // namespace
}  // namespace orrery
