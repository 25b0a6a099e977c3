// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/gpu_bench.h"

#include <cstdio>
#include <memory>

#include "runtime/cuda/devices.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

void print_at_once(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
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

int gpu_bench_command(const GpuBenchSpec& spec) {
    const bool on_cpu = spec.device == "cpu";
    if (!on_cpu && spec.device != "cuda") {
        return report_error(
            {"--device", "'" + spec.device + "' is no kind of device", "cuda or cpu"});
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
    print_at_once(on_cpu ? "A rehearsal on the CPU\n" : bench_machine_text(*devices));
    const auto outcomes = run_bench(spec, print_at_once);
    if (!outcomes) {
        return report_errors(outcomes.error());
    }
    const int printed = print_output(stages_report(*outcomes));
    return bench_is_well(*outcomes) ? printed : kExitCheckFailed;
}

Command describe_gpu_bench() {
    const auto spec = std::make_shared<GpuBenchSpec>();
    return {
        .name = "gpu-bench",
        .help = "Check this machine's GPU kernels, train on it, and compare with the prediction",
        .options =
            {{"files", &spec->files, "Scenario files of one GPU; none: the GPT-2 ones", "FILE"},
             override_option(spec->overrides),
             {"-o,--output", &spec->folder, "Where profiles and steps.csv are written", "FOLDER"},
             {"--steps",
              &spec->steps,
              "Steps that are timed, of each scenario (10)",
              "N",
              false,
              1,
              100000},
             {"--limit",
              &spec->limit_s,
              "Seconds after which a training is given up (300)",
              "S",
              false,
              1,
              86400},
             {"--from",
              &spec->from,
              "Begin at this stage: checks, train:NAME, torch:NAME or profile",
              "STAGE"},
             {"--only",
              &spec->only,
              "Run 'checks', or 'train' of one scenario, in this process",
              "STAGE"},
             {"--comparison",
              &spec->first_comparison,
              "Comparisons that --only checks leaves out at the begin",
              "N"},
             device_option(spec->device,
                           "cuda (if not given), or cpu for a rehearsal without a GPU"),
             {"--checks-only", &spec->checks_only, "Check the kernels, train nothing"},
             {"!--no-torch", &spec->torch, "Don't compare with PyTorch"},
             {"--torch-eager", &spec->torch_eager, "PyTorch without torch.compile"},
             {"!--no-profile",
              &spec->profile,
              "Don't measure kernels and NCCL's collectives on 1, 2, 4, ... GPUs at the end "
              "(machine.csv)"}},
        .examples = {"gpu-bench scenarios/gpt2-124m-1gpu.yaml"},
        .run = [spec] { return gpu_bench_command(*spec); },
    };
}

}  // namespace orrery
