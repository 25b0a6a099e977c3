// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/export.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/state/training_state.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/facts_report.h"

namespace orrery {

int export_command(const ExportArguments& arguments) {
    const bool fp32 = arguments.dtype == "fp32";
    if (!fp32 && arguments.dtype != "bf16" && arguments.dtype != "fp16") {
        return report_error({"--dtype",
                             fmt::format("'{}' is no type of weights", arguments.dtype),
                             "fp32, bf16 or fp16"});
    }
    if (arguments.target == "-") {
        return report_error({"--output", "weights can't be standard output", "the name of a file"});
    }
    const char* type = fp32 ? "F32" : (arguments.dtype == "bf16" ? "BF16" : "F16");
    const std::filesystem::path file = arguments.target;
    const Result<ExportedWeights> exported = export_weights(arguments.checkpoint, file, type);
    if (!exported) {
        return report_error(exported.error());
    }
    const std::string config = (file.parent_path() / "config.json").string();
    const std::string sentence = fmt::format("{} and {}: {} tensors, {} parameters, of step {}",
                                             file.string(),
                                             config,
                                             exported->tensors,
                                             exported->parameters,
                                             exported->step);
    const std::vector<Fact> facts{{"file", file.string(), Unit::words},
                                  {"config", config, Unit::words},
                                  {"tensors", exported->tensors},
                                  {"parameters", exported->parameters},
                                  {"step", exported->step}};
    return show_output(arguments,
                       {.report = facts_report(sentence, facts),
                        .json = facts_json(facts),
                        .provenance = provenance_of("export"),
                        .text = sentence + "\n"});
}

Command describe_export() {
    const auto arguments = std::make_shared<ExportArguments>();
    return {
        .name = "export",
        .group = CommandGroup::train,
        .help = "Write a checkpoint's weights and config.json for Hugging Face transformers",
        .options =
            joined({{{"checkpoint",
                      &arguments->checkpoint,
                      "A run's job.checkpoint_folder, or a step",
                      "FOLDER",
                      true},
                     {"-o,--output", &arguments->target, "safetensors file to write", "FILE", true},
                     {"--dtype", &arguments->dtype, "fp32 (if not given), bf16 or fp16", "TYPE"}},
                    view_options(*arguments, {})}),
        .examples = {"export build/run -o build/run/model.safetensors"},
        .run = [arguments] { return export_command(*arguments); },
    };
}

}  // namespace orrery
