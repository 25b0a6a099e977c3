// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/import.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"

namespace orrery {

int import_command(const ImportArguments& arguments) {
    if (arguments.format == "megatron") {
        return import_megatron_command(arguments);
    }
    if (arguments.format == "hf") {
        return import_hf_command(arguments);
    }
    if (arguments.format == "nccl-tests") {
        return import_nccl_tests_command(arguments);
    }
    if (arguments.format == "log") {
        return import_log_command(arguments);
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
        .group = CommandGroup::exchange,
        .help = "Make a scenario or a profile from the files of other programs",
        .options =
            {{"format", &arguments->format, "megatron, hf, nccl-tests or log", "FORMAT", true},
             {"words",
              &arguments->words,
              "A file; of megatron also the command line itself, behind --; '-' is standard input",
              "FILE",
              true},
             output_option(arguments->output, "File to write; standard output if absent"),
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
