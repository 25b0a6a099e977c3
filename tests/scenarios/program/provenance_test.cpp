// SPDX-License-Identifier: Apache-2.0
// Every command with --json says what its answer is an answer to, and simulate repeats one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/format/provenance/version.h"
#include "scenarios/program/command.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/made_up_run.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::string kScenarios = ORRERY_SOURCE_DIR "/scenarios/";

void set_option(const CommandOption& option, const std::string& word) {
    std::visit(
        [&](auto* target) {
            using Value = std::remove_pointer_t<decltype(target)>;
            if constexpr (std::is_same_v<Value, bool>) {
                *target = !option.names.starts_with('!');
            } else if constexpr (std::is_same_v<Value, std::string>) {
                *target = word;
            } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
                target->push_back(word);
            } else {
                *target = static_cast<Value>(std::stod(word));
            }
        },
        option.target);
}

bool has_name(const CommandOption& option, const std::string& name) {
    return ("," + option.names.substr(option.names.starts_with('!') ? 1 : 0) + ",")
               .find("," + name + ",") != std::string::npos;
}

// As the command line does it, for words without mistakes.
CommandRun run_words(const std::vector<std::string>& words) {
    const std::vector<Command> commands = all_commands();
    const auto command = std::ranges::find(commands, words[0], &Command::name);
    EXPECT_NE(command, commands.end()) << words[0];
    std::vector<const CommandOption*> places;
    for (const CommandOption& option : command->options) {
        if (option.names.find('-') == std::string::npos) {
            places.push_back(&option);
        }
    }
    std::size_t place = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (!words[i].starts_with('-')) {
            set_option(*places.at(place), words[i]);
            place += place + 1 < places.size() ? 1 : 0;
            continue;
        }
        const auto option = std::ranges::find_if(
            command->options,
            [&](const CommandOption& candidate) { return has_name(candidate, words[i]); });
        EXPECT_NE(option, command->options.end()) << words[i];
        const bool flag = std::holds_alternative<bool*>(option->target);
        set_option(*option, flag ? "" : words.at(i + 1));
        i += flag ? 0 : 1;
    }
    return run_command(command->run);
}

struct Case {
    std::vector<std::string> words;
    bool page = false;     // has --html, too
    bool scenario = true;  // is of one scenario
};

class ProvenanceOfCommands : public ::testing::Test {
protected:
    ProvenanceOfCommands() {
        const std::string rest =
            "model: {num_layers: 2, hidden_size: 256, num_attention_heads: 4, seq_length: 256, "
            "vocab_size: 1024}\n"
            "plan: {micro_batch_size: 1, global_batch_size: 8}\n";
        const std::string cluster =
            "cluster: {nodes: 1, node: {base: dgx-a100-80g, gpus_per_node: 2}}\n";
        small_ = folder_.write("small.yaml", cluster + rest);
        search_ = folder_.write("search.yaml",
                                cluster + rest + "search: {schedule: [1f1b], simulations: 4}\n");
        study_ = folder_.write("study.yaml",
                               "scenario: small.yaml\ngrid: {plan.micro_batch_size: [1, 2]}\n");
        weeks_ = folder_.write("weeks.yaml",
                               cluster + rest +
                                   "faults: [{process: exponential, kind: gpu_lost, at: gpu:*, "
                                   "mtbf: 20 d}]\n"
                                   "recovery: {policies: [in_place]}\n"
                                   "campaign: {days: 3, seeds: 2, step_time: 6 s}\n");
        workload_ = folder_.write(
            "work.txt",
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 ga: 1 "
            "all_gpus: 2 checkpoints: 0 checkpoint_initiates: 0\n1\n"
            "layer -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 1048576 100\n");
        table_ = folder_.write("table.csv", first_rows());
        write_made_up_run(folder_, 1, 1.0);
        run_ = (folder_ / "run").string();
    }

    // The columns and the first rows of a published table.
    static std::string first_rows() {
        std::ifstream file{kScenarios + "catalogue/published/collectives.csv"};
        std::string rows;
        int taken = 0;
        for (std::string line; taken < 4 && std::getline(file, line);) {
            if (!line.starts_with('#')) {
                rows += line + "\n";
                ++taken;
            }
        }
        return rows;
    }

    std::vector<Case> cases() const {
        const std::string network = kScenarios + "network-clos-64.yaml";
        return {
            {{"simulate", small_, "--set", "plan.micro_batch_size=2"}, true},
            {{"network", network, "--pattern", "all_reduce", "--size", "1MiB"}, true},
            {{"topology", network, "--to-rank", "9"}, true},
            {{"explain", small_, "--keep", "1"}},
            {{"search", search_}, true},
            {{"sweep", study_, "-r", (folder_ / "r.sqlite").string(), "-j", "1"}, true},
            {{"campaign", weeks_, "--jobs", "1"}, true},
            {{"validate", table_}, false, false},
            {{"calibrate", run_, "-o", (folder_ / "c.csv").string()}},
            {{"compare", run_}, true},
            {{"diagnose", run_}, true},
            {{"diagnose", small_}, true},
            {{"discover", "--device", "cpu"}, false, false},
            {{"replay", workload_, small_}},
            {{"catalogue", "dgx-h100"}, false, false},
            {{"keys", "plan"}, false, false},
        };
    }

    TestFolder folder_;
    std::string small_, search_, study_, weeks_, workload_, table_, run_;
};

void expect_block(const Json& block, const Case& one) {
    EXPECT_EQ(block["command"], one.words[0]);
    EXPECT_EQ(block["build"]["version"], kVersion);
    EXPECT_EQ(block["catalogue"].get<std::string>().size(), 32u);
    EXPECT_EQ(block.contains("scenario"), one.scenario);
    if (one.scenario) {
        EXPECT_TRUE(block["scenario"]["effective"]["cluster"]["node"].is_object());
        EXPECT_TRUE(block["overrides"].is_array());
        const std::string file = block["scenario"]["file"];
        EXPECT_EQ(file.find('/'), std::string::npos) << file;
    }
}

TEST_F(ProvenanceOfCommands, IsInTheJsonAndOnThePageOfEach) {
    for (const Case& one : cases()) {
        SCOPED_TRACE(one.words[0]);
        std::vector<std::string> words = one.words;
        words.emplace_back("--json");
        const std::string page = (folder_ / "page.html").string();
        if (one.page) {
            words.insert(words.end(), {"--html", page});
        }
        const CommandRun run = run_words(words);
        ASSERT_LE(run.status, 1) << run.err;
        const Json json = Json::parse(run.out, nullptr, false);
        ASSERT_TRUE(json.is_object()) << run.out;
        ASSERT_TRUE(json.contains("provenance")) << run.out;
        expect_block(json["provenance"], one);
        // No folder of this machine: the same from any checkout.
        EXPECT_EQ(json["provenance"].dump().find(folder_.path().string()), std::string::npos);
        if (one.page) {
            const std::string html = folder_.text("page.html");
            EXPECT_NE(html.find("<details class=\"provenance\">"), std::string::npos);
            EXPECT_NE(html.find("\"catalogue\": \""), std::string::npos);
        }
    }
}

// profile trains in processes of its own program: tests/program/measured_runs_test.cpp.
TEST_F(ProvenanceOfCommands, CoversEveryCommandThatHasJson) {
    // tests/program/schemas_test.py runs these; gpu-bench needs a GPU.
    std::vector<std::string> tested{"profile",
                                    "check",
                                    "show",
                                    "diff",
                                    "serve",
                                    "reproduce",
                                    "explain-error",
                                    "fit",
                                    "merge",
                                    "tokenize",
                                    "generate",
                                    "export",
                                    "gpu-bench"};
    for (const Case& one : cases()) {
        tested.push_back(one.words[0]);
    }
    for (const Command& command : all_commands()) {
        const bool json = std::ranges::any_of(command.options, [](const CommandOption& option) {
            return has_name(option, "--json");
        });
        if (json) {
            EXPECT_NE(std::ranges::find(tested, command.name), tested.end()) << command.name;
        }
    }
}

// Without what a run costs.
std::string without_costs(const std::string& text) {
    Json json = Json::parse(text, nullptr, false);
    EXPECT_TRUE(json.is_object()) << text;
    json.erase("wall_s");
    json.erase("peak_rss_bytes");
    return json.dump(1);
}

class RepeatedResult : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(RepeatedResult, IsTheSameToTheByte) {
    const TestFolder folder;
    std::vector<std::string> words = GetParam();
    words[0] = kScenarios + words[0];
    words.insert(words.begin(), "simulate");
    words.emplace_back("--json");
    const CommandRun first = run_words(words);
    ASSERT_EQ(first.status, kExitOk) << first.err;
    const std::string file = folder.write("result.json", first.out);
    const CommandRun again = run_words({"simulate", "--from", file, "--json"});
    ASSERT_EQ(again.status, kExitOk) << again.err;
    EXPECT_EQ(again.err, "");
    EXPECT_EQ(without_costs(again.out), without_costs(first.out));
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios,
    RepeatedResult,
    ::testing::Values(
        std::vector<std::string>{"laptop-2gpu.yaml"},
        std::vector<std::string>{"laptop-2gpu.yaml",
                                 "--set",
                                 "plan.micro_batch_size=1",
                                 "--set",
                                 "job.seed=9",
                                 "--no-fold"},
        std::vector<std::string>{"llama3-8b-h100.yaml",
                                 "--set",
                                 "cluster.nodes=2",
                                 "--set",
                                 "cluster.fabric=ndr400-rail",
                                 "--set",
                                 "plan.global_batch_size=64"},
        std::vector<std::string>{
            "gpt2-124m-1gpu.yaml", "--set", "model=gpt-2-350m", "--set", "network=analytic"},
        std::vector<std::string>{"train-tiny-cpu-4.yaml",
                                 "--set",
                                 "faults=[{kind: slow_gpu, at: \"gpu:1\", factor: 1.5}]"}));

TEST(RepeatedResultTrouble, IsToldOnStandardErrorOrRefused) {
    const TestFolder folder;
    const std::string scenario = kScenarios + "laptop-2gpu.yaml";
    const BuildIdentity today = build_identity();
    set_build_identity({.version = "0.0.9", .sources = "0123456789abcdef"});
    const CommandRun first = run_words({"simulate", scenario, "--json"});
    set_build_identity(today);
    const std::string file = folder.write("result.json", first.out);
    const CommandRun again = run_words({"simulate", "--from", file});
    EXPECT_EQ(again.status, kExitOk);
    EXPECT_NE(again.err.find("it was made by Orrery 0.0.9, sources 0123456789ab"),
              std::string::npos)
        << again.err;
    EXPECT_EQ(run_words({"simulate", "--from", file, scenario}).status, kExitUserError);
    EXPECT_EQ(run_words({"simulate"}).status, kExitUserError);
    folder.write("other.json", R"({"mfu": 1})");
    const CommandRun none = run_words({"simulate", "--from", (folder / "other.json").string()});
    EXPECT_EQ(none.status, kExitUserError);
    EXPECT_NE(none.err.find("has no provenance"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace orrery
