// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/gpu_bench.h"

#include <cstdio>
#include <memory>

#include "runtime/cuda/devices.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/show_output.h"
#include "scenarios/report/stages_report.h"

namespace orrery {
namespace {

void print_at_once(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

// Prints results as they arrive, on standard error if the answer has another form.
void print_beside(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

int run_checks(const GpuBenchSpec& spec) {
    const Result<int> wrong = run_checks_stage(spec, print_at_once);
    if (!wrong) {
        print_at_once("failed: " + wrong.error().what + "\n");
        return report_error(wrong.error());
    }
    return *wrong > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace

int gpu_bench_command(const GpuBenchArguments& arguments) {
    const GpuBenchSpec& spec = arguments.spec;
    const bool on_cpu = spec.device == "cpu";
    if (!on_cpu && spec.device != "cuda") {
        return report_error({"--device", "'" + spec.device + "' is no device", "cuda or cpu"});
    }
    const auto devices = cuda_devices();
    if (!on_cpu && !devices) {
        return report_error({"gpu-bench", devices.error().what, devices.error().hint});
    }
    if (spec.only == "checks") {
        return run_checks(spec);
    }
    if (spec.only == "train" && spec.files.size() == 1) {
        const Errors errors = run_training_stage(spec, print_at_once);
        return errors.empty() ? kExitOk : report_errors(errors);
    }
    if (!spec.only.empty()) {
        return report_error({"--only", "is 'checks', or 'train' and one scenario", ""});
    }
    const bool table = output_format(arguments) == OutputFormat::table;
    const auto print = table ? print_at_once : print_beside;
    print(on_cpu ? "A rehearsal on the CPU\n" : bench_machine_text(*devices));
    const auto outcomes = run_bench(spec, print);
    if (!outcomes) {
        return report_errors(outcomes.error());
    }
    return show_output(arguments,
                       {.report = stages_sections(*outcomes),
                        .json = stages_json(*outcomes),
                        .provenance = provenance_of("gpu-bench"),
                        .status = bench_is_well(*outcomes) ? kExitOk : kExitCheckFailed});
}

Command describe_gpu_bench() {
    const auto arguments = std::make_shared<GpuBenchArguments>();
    return {
        .name = "gpu-bench",
        .group = CommandGroup::measure,
        .help = "Check this machine's GPU kernels, train on it, and compare with the prediction",
        .options = gpu_bench_options(*arguments),
        .examples = {"gpu-bench scenarios/gpt2-124m-1gpu.yaml"},
        .run = [arguments] { return gpu_bench_command(*arguments); },
    };
}

}  // namespace orrery
