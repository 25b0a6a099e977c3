// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/import.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "scenarios/format/catalogue/catalogue_entry.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/megatron_command.h"
#include "scenarios/format/import/nccl_tests.h"
#include "scenarios/format/import/training_log.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/plan_key.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

int write_text(const ImportArguments& arguments, const std::string& text) {
    if (arguments.output.empty()) {
        return print_output(text);
    }
    const Result<void> written = OutputFile::write(arguments.output, text);
    return written ? kExitOk : report_error(written.error());
}

void tell(const char* what, const std::vector<std::string>& list) {
    for (const std::string& one : list) {
        fmt::print(stderr, "{}: {}\n", what, one);
    }
}

std::uint32_t number_of_node(const std::string& node, const char* key, std::uint32_t otherwise) {
    const auto nodes = read_catalogue_section(default_catalogue(), "nodes");
    for (const CatalogueEntry& entry : nodes ? *nodes : std::vector<CatalogueEntry>{}) {
        if (entry.name == node && !entry.value_of(key).empty()) {
            return static_cast<std::uint32_t>(std::stoul(entry.value_of(key)));
        }
    }
    return otherwise;
}

std::uint32_t gpus_of(const std::string& node) {
    return number_of_node(node, "gpus_per_node", 8);
}

std::string fabric_of_scenario(const ImportArguments& arguments) {
    return arguments.fabric.empty() ? "ndr400-rail" : arguments.fabric;
}

// A script, a pasted command line, or the words of one.
ResultOrErrors<LaunchCommand> launch_of(const ImportArguments& arguments) {
    std::error_code ignored;
    if (arguments.words.size() == 1) {
        const std::string& only = arguments.words.front();
        if (!fs::is_regular_file(only, ignored)) {
            return launch_command(only, "command line");
        }
        const auto text = read_text_file(only);
        return text ? launch_command(*text, only)
                    : ResultOrErrors<LaunchCommand>{unexpected<Errors>({text.error()})};
    }
    LaunchCommand launch;
    for (const std::string& word : arguments.words) {
        launch.words.push_back({word, fmt::format("word {}", launch.words.size() + 1)});
    }
    return launch;
}

int megatron(const ImportArguments& arguments) {
    const auto launch = launch_of(arguments);
    if (!launch) {
        return report_errors(launch.error());
    }
    tell("not followed", launch->passed_over);
    const auto imported = import_megatron(launch->words,
                                          {.node = arguments.node,
                                           .fabric = fabric_of_scenario(arguments),
                                           .nodes = arguments.nodes,
                                           .gpus_per_node = gpus_of(arguments.node),
                                           .trays = number_of_node(arguments.node, "trays", 1),
                                           .software = arguments.software});
    if (!imported) {
        return report_errors(imported.error());
    }
    tell("switched off, as Megatron-LM does", imported->changed);
    tell("not known, and left out", imported->unknown);
    tell("left out, as the step does not depend on them", imported->without_effect);
    tell("not in the command line", imported->assumed);
    // What was understood but does not make a scenario is told at the words that it comes from.
    const auto scenario =
        read_scenario_document(imported->document, arguments.words.front(), fs::current_path());
    return scenario ? write_text(arguments, imported->yaml) : report_errors(scenario.error());
}

Result<std::string> the_file(const ImportArguments& arguments) {
    if (arguments.words.size() != 1) {
        return fail("orrery import " + arguments.format, "needs one file", "see orrery import -h");
    }
    return read_text_file(arguments.words.front());
}

// A model's configuration does not say what trains it.
std::string unknown_software(const Scenario& scenario) {
    const char* what = "software: which one trains the model (--software NAME)";
    const auto table =
        read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    if (!table) {
        return what;
    }
    const StepEfficiency step{*table, scenario.device};
    const double known = table->value_or("step.residual", scenario.device.generation, "*", 0);
    return fmt::format(
        "{}; an answer is uncertain by {:.0f} %, and by {:.0f} % for software whose "
        "steps were fitted",
        what,
        100 * step.residual({}, scenario.plan.precision).sigma,
        100 * known);
}

int hugging_face(const ImportArguments& arguments) {
    if (arguments.words.size() != 1) {
        return report_error({"orrery import hf", "needs one file", "a config.json"});
    }
    const std::string& file = arguments.words.front();
    const auto model = read_hf_config(file);
    if (!model) {
        return report_errors(model.error());
    }
    const bool longest = arguments.seq_length == 0;
    const std::string length =
        longest ? model->section.find("seq_length")->text : fmt::format("{}", arguments.seq_length);
    std::vector<std::string> given;
    if (!longest) {
        given.emplace_back("seq_length");
    }
    // The document's comment and the terminal say the same.
    std::vector<std::string> notes = remarks_on(*model, given);
    const fs::path to = fs::path{arguments.output}.parent_path();
    const fs::path folder = to.empty() ? fs::path{"."} : to;
    std::error_code ignored;
    const std::uint32_t nodes = std::max(1U, arguments.nodes);
    DocumentNode scenario;
    const auto set = [&](const std::string& key, std::string value, const char* where) {
        put(scenario, key, scalar_node(std::move(value), "", where));
    };
    set("kind", "scenario", file.c_str());
    set("cluster.nodes", fmt::format("{}", nodes), "--nodes");
    set("cluster.node", arguments.node, "--node");
    if (nodes > 1) {
        set("cluster.fabric", fabric_of_scenario(arguments), "--fabric");
    }
    const fs::path config = fs::relative(file, folder, ignored);
    set("model.hf_config", config.empty() ? file : config.string(), file.c_str());
    put(scenario,
        "model.seq_length",
        scalar_node(length, longest ? "the longest that the model takes" : "", "--seq-length"));
    set(plan_key<&ParallelPlan::micro_batch_size>(), "1", "--nodes");
    set(plan_key<&ParallelPlan::global_batch_size>(),
        fmt::format("{}", nodes * gpus_of(arguments.node)),
        "--nodes");
    if (!arguments.software.empty()) {
        set("software", arguments.software, "--software");
    }
    const auto read = read_scenario_document(scenario, file, folder);
    if (!read) {
        return report_errors(read.error());
    }
    if (arguments.software.empty()) {
        notes.push_back("not in the file: " + unknown_software(*read));
    }
    for (const std::string& line : notes) {
        fmt::print(stderr, "{}\n", line);
    }
    if (!model->without_effect.empty()) {
        notes.push_back(fmt::format("left out, as the step does not depend on them: {}",
                                    fmt::join(model->without_effect, ", ")));
    }
    notes.insert(notes.begin(),
                 "A model of Hugging Face: choose a cluster and a plan (orrery search finds one).");
    return write_text(arguments, to_yaml(scenario, notes));
}

int nccl_tests(const ImportArguments& arguments) {
    const auto text = the_file(arguments);
    if (!text) {
        return report_error(text.error());
    }
    NcclTestsImport options{.device = arguments.device, .ranks = arguments.ranks};
    if (!arguments.collective.empty()) {
        options.collective = transfer_named(arguments.collective);
        if (!options.collective) {
            return report_error({"--collective",
                                 fmt::format("'{}' is not one", arguments.collective),
                                 "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast "
                                 "or send_recv"});
        }
    }
    const auto imported = import_nccl_tests(*text, arguments.words.front(), options);
    if (!imported) {
        return report_errors(imported.error());
    }
    tell("left out", imported->left_out);
    const std::string provenance =
        "nccl-tests: " + fs::path{arguments.words.front()}.filename().string();
    return write_text(arguments, profile_csv(imported->profile, provenance));
}

int training_logs(const ImportArguments& arguments) {
    Errors errors;
    std::vector<ImportedLog> logs;
    for (const std::string& file : arguments.words) {
        const Result<std::string> text = read_text_file(file);
        if (!text) {
            errors.push_back(text.error());
            continue;
        }
        auto log = import_training_log(*text,
                                       file,
                                       {.gpu = arguments.device,
                                        .software = arguments.software,
                                        .fabric = arguments.fabric,
                                        .nic_gbps = arguments.nic_gbps,
                                        .gpus_per_node = arguments.gpus_per_node});
        if (!log) {
            errors.insert(errors.end(), log.error().begin(), log.error().end());
            continue;
        }
        tell("not in the log, and assumed", log->assumed);
        logs.push_back(std::move(*log));
    }
    return errors.empty() ? write_text(arguments, case_table(logs)) : report_errors(errors);
}

}  // namespace

int import_command(const ImportArguments& arguments) {
    if (arguments.format == "megatron") {
        return megatron(arguments);
    }
    if (arguments.format == "hf") {
        return hugging_face(arguments);
    }
    if (arguments.format == "nccl-tests") {
        return nccl_tests(arguments);
    }
    if (arguments.format == "log") {
        return training_logs(arguments);
    }
    return report_error({"orrery import",
                         fmt::format("'{}' is not a format", arguments.format),
                         "one of megatron, hf, nccl-tests, log; Chakra and SimAI: orrery replay"});
}

Command describe_import() {
    const auto arguments = std::make_shared<ImportArguments>();
    const CommandOption device{"--gpu",
                               &arguments->device,
                               "nccl-tests: the catalogue's device; log: as tables name it",
                               "NAME"};
    return {
        .name = "import",
        .help = "Make a scenario or a profile from the files of other programs",
        .options =
            {{"format", &arguments->format, "megatron, hf, nccl-tests or log", "FORMAT", true},
             {"words",
              &arguments->words,
              "A file; of megatron also the command line itself, behind --",
              "FILE",
              true},
             {"-o,--output",
              &arguments->output,
              "File to write; standard output if absent",
              "FILE"},
             {"--node", &arguments->node, "megatron, hf: the catalogue's node", "NAME"},
             {"--fabric",
              &arguments->fabric,
              "megatron, hf: the catalogue's fabric; log: the column's words",
              "NAME"},
             {"--nic-gbps", &arguments->nic_gbps, "log: network bandwidth of a GPU, Gbit/s", "N"},
             {.names = "--gpus-per-node",
              .target = &arguments->gpus_per_node,
              .help = "log: GPUs of a server",
              .type_name = "N",
              .least = 1,
              .most = 1024},
             {"--nodes", &arguments->nodes, "megatron, hf: how many", "N"},
             {"--software",
              &arguments->software,
              "megatron, hf: what runs the job (\"nemo-24.05\"), if the command line does not say",
              "NAME"},
             {"--seq-length",
              &arguments->seq_length,
              "hf: tokens of a sequence; as many as the model takes if absent",
              "N"},
             device,
             old_option("--device", "--gpu", device),
             {"--collective", &arguments->collective, "nccl-tests: all_reduce, …", "KIND"},
             {"--ranks", &arguments->ranks, "nccl-tests: of the group", "N"}},
        .examples =
            {"import megatron -o run.yaml --nodes 16 -- pretrain_gpt.py --num-layers 32 ...",
             "import megatron run.sh -o run.yaml",
             "import hf config.json --nodes 4 --seq-length 8192",
             "import nccl-tests all_reduce.txt -o nccl.csv",
             "import log run.log --gpu h100-80g -o mine.csv"},
        .run = [arguments] { return import_command(*arguments); },
    };
}

}  // namespace orrery
