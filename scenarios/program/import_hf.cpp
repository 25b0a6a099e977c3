// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/plan_key.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "scenarios/program/import_words.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

struct SequenceLength {
    std::string tokens;
    bool longest = false;  // no length was requested
};

SequenceLength length_of(const ImportArguments& arguments, const HfModel& model) {
    return arguments.seq_length == 0 ? SequenceLength{model.section.find("seq_length")->text, true}
                                     : SequenceLength{fmt::format("{}", arguments.seq_length)};
}

DocumentNode scenario_with(const ImportArguments& arguments,
                           const SequenceLength& length,
                           const fs::path& folder) {
    const std::string& file = arguments.words.front();
    const std::uint32_t nodes = std::max(1U, arguments.nodes);
    DocumentNode scenario;
    const auto set = [&](const std::string& key, std::string value, const char* where) {
        put(scenario, key, scalar_node(std::move(value), "", where));
    };
    set("kind", "scenario", file.c_str());
    set("cluster.nodes", fmt::format("{}", nodes), "--nodes");
    set("cluster.node", arguments.node, "--node");
    if (nodes > 1) {
        set("cluster.fabric", fabric_of_import(arguments), "--fabric");
    }
    std::error_code ignored;
    const fs::path config = fs::relative(file, folder, ignored);
    set("model.hf_config", config.empty() ? file : config.string(), file.c_str());
    put(scenario,
        "model.seq_length",
        scalar_node(length.tokens,
                    length.longest ? "the longest that the model takes" : "",
                    "--seq-length"));
    set(plan_key<&ParallelPlan::micro_batch_size>(), "1", "--nodes");
    set(plan_key<&ParallelPlan::global_batch_size>(),
        fmt::format("{}", nodes * gpus_of_node(arguments.node)),
        "--nodes");
    if (!arguments.software.empty()) {
        set("software", arguments.software, "--software");
    }
    return scenario;
}

}  // namespace

int import_hf_command(const ImportArguments& arguments) {
    if (arguments.words.size() != 1) {
        return report_error({"orrery import hf", "needs one file", "a config.json"});
    }
    const std::string& file = arguments.words.front();
    const auto model = read_hf_config(file);
    if (!model) {
        return report_errors(model.error());
    }
    const SequenceLength length = length_of(arguments, *model);
    // The document's comment and the terminal show the same notes.
    std::vector<std::string> notes = remarks_on(
        *model,
        length.longest ? std::vector<std::string>{} : std::vector<std::string>{"seq_length"});
    const fs::path to = fs::path{arguments.output}.parent_path();
    const fs::path folder = to.empty() ? fs::path{"."} : to;
    const DocumentNode scenario = scenario_with(arguments, length, folder);
    const auto read = read_scenario_document(scenario, file, folder);
    if (!read) {
        return report_errors(read.error());
    }
    if (arguments.software.empty()) {
        notes.push_back("not in the file: " + unknown_software(*read));
    }
    note_lines(notes);
    if (!model->without_effect.empty()) {
        notes.push_back(fmt::format("left out, as the step does not depend on them: {}",
                                    fmt::join(model->without_effect, ", ")));
    }
    notes.insert(notes.begin(),
                 "A model of Hugging Face: choose a cluster and a plan (orrery search finds one).");
    return write_imported(arguments, to_yaml(scenario, notes));
}

}  // namespace orrery
