// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/init.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/terminal.h"

namespace orrery {
namespace {

constexpr const char* kFabric = "ndr400-rail";
constexpr std::int64_t kMicroBatches = 16;  // of each replica, where no batch is given

// An answer from the terminal, or the usual one.
std::string asked(const std::string& question, const std::string& usual) {
    fmt::print(stderr, "{} [{}]: ", question, usual);
    std::string line;
    std::getline(std::cin, line);
    return line.empty() ? usual : line;
}

void ask(InitArguments& arguments) {
    if (isatty(STDIN_FILENO) == 0) {
        return;
    }
    if (arguments.model.empty()) {
        arguments.model = asked("Model (orrery catalogue models)", "llama-3-8b");
    }
    if (arguments.node.empty()) {
        arguments.node = asked("Server (orrery catalogue nodes)", "dgx-h100");
    }
    if (arguments.nodes == 0) {
        const std::string answer = asked("Number of servers", "1");
        arguments.nodes = static_cast<std::uint32_t>(std::strtoul(answer.c_str(), nullptr, 10));
    }
    if (arguments.tensor == 0) {
        const std::string answer = asked("Ranks that split each layer (tensor parallel)", "1");
        arguments.tensor = static_cast<std::uint32_t>(std::strtoul(answer.c_str(), nullptr, 10));
    }
}

std::string number(std::int64_t value) {
    return std::to_string(value);
}

DocumentNode document_of(const InitArguments& arguments, std::int64_t batch) {
    DocumentNode root;
    root.kind = DocumentNode::Kind::map;
    const std::uint32_t nodes = std::max(1U, arguments.nodes);
    put(root, "cluster.nodes", scalar_node(number(nodes)));
    put(root, "cluster.node", scalar_node(arguments.node, "orrery catalogue nodes"));
    if (nodes > 1) {
        put(root,
            "cluster.fabric",
            scalar_node(arguments.fabric.empty() ? kFabric : arguments.fabric,
                        "orrery catalogue fabrics"));
    }
    put(root, "model", scalar_node(arguments.model, "orrery catalogue models"));
    put(root,
        "plan.tensor_model_parallel_size",
        scalar_node(number(std::max(1U, arguments.tensor)), "ranks that split each layer"));
    put(root,
        "plan.pipeline_model_parallel_size",
        scalar_node(number(std::max(1U, arguments.pipeline)), "stages"));
    put(root, "plan.micro_batch_size", scalar_node("1", "sequences a rank computes at once"));
    put(root, "plan.global_batch_size", scalar_node(number(batch), "sequences of a step"));
    put(root, "plan.precision", scalar_node("bf16"));
    put(root,
        "plan.data_parallel_sharding_strategy",
        scalar_node("optim", "ZeRO 1: replicas share the optimizer's state"));
    put(root, "plan.overlap_grad_reduce", scalar_node("true"));
    put(root, "plan.overlap_param_gather", scalar_node("true"));
    return root;
}

}  // namespace

ResultOrErrors<std::string> first_scenario(const InitArguments& arguments) {
    const auto read = [&](std::int64_t batch, bool network_only) {
        const std::string text = to_yaml(document_of(arguments, batch),
                                         {"A first scenario, by orrery init. orrery keys lists "
                                          "every key.",
                                          "orrery check, simulate, explain and search take it."});
        ReadOptions options;
        options.network_only = network_only;
        return std::pair{text, read_scenario_text(text, "new scenario", "", options)};
    };
    const auto give_up = [](Errors errors) {
        for (Error& error : errors) {
            error.where = "init";  // the file with the place is not written
        }
        return unexpected<Errors>(std::move(errors));
    };
    std::int64_t batch = arguments.batch;
    if (batch == 0) {
        const auto cluster = read(kMicroBatches, true).second;
        if (!cluster) {
            return give_up(cluster.error());
        }
        const std::int64_t replica =
            std::int64_t{std::max(1U, arguments.tensor)} * std::max(1U, arguments.pipeline);
        batch = std::max<std::int64_t>(1, cluster->cluster.num_ranks() / replica) * kMicroBatches;
    }
    auto [text, scenario] = read(batch, false);
    if (!scenario) {
        return give_up(scenario.error());
    }
    return text;
}

int init_command(InitArguments arguments) {
    std::error_code ignored;
    if (!arguments.overwrite && arguments.file != "-" &&
        std::filesystem::exists(arguments.file, ignored)) {
        return report_error({arguments.file, "is there already", "--overwrite replaces it"});
    }
    ask(arguments);
    if (arguments.model.empty() || arguments.node.empty()) {
        return report_error({"init",
                             "a model and a server are missing",
                             "--model llama-3-8b --node dgx-h100; see orrery catalogue"});
    }
    const ResultOrErrors<std::string> text = first_scenario(arguments);
    if (!text) {
        return report_errors(text.error());
    }
    const auto file = OutputFile::open(arguments.file);
    if (!file) {
        return report_error(file.error());
    }
    (*file)->stream() << *text;
    if (const auto written = (*file)->commit(); !written) {
        return report_error(written.error());
    }
    print_note(fmt::format("wrote {}; next: orrery simulate {}", arguments.file, arguments.file));
    return kExitOk;
}

Command describe_init() {
    const auto arguments = std::make_shared<InitArguments>();
    const auto count = [](const char* name, std::uint32_t& target, const char* help) {
        return CommandOption{.names = name,
                             .target = &target,
                             .help = help,
                             .type_name = "N",
                             .least = 1,
                             .most = 1'000'000};
    };
    return {
        .name = "init",
        .help = "Write a first scenario, from options or by asking",
        .options =
            {{"file", &arguments->file, "File to write; '-' is standard output", "FILE", true},
             {"--model", &arguments->model, "The catalogue's model", "NAME"},
             {"--node", &arguments->node, "The catalogue's server", "NAME"},
             count("--nodes", arguments->nodes, "Number of servers (1)"),
             {"--fabric",
              &arguments->fabric,
              "The catalogue's network of several servers (ndr400-rail)",
              "NAME"},
             count("--tensor", arguments->tensor, "Tensor-parallel ranks (1)"),
             count("--pipeline", arguments->pipeline, "Pipeline stages (1)"),
             count("--batch", arguments->batch, "Sequences of a step (16 micro-batches a replica)"),
             {"--overwrite", &arguments->overwrite, "Replace a file that is there"}},
        .examples = {"init my.yaml",
                     "init my.yaml --model llama-3-70b --node dgx-h100 --nodes 16 "
                     "--tensor 8 --pipeline 4"},
        .run = [arguments] { return init_command(*arguments); },
    };
}

}  // namespace orrery
