// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/common_options.h"
#include "scenarios/program/gpu_bench.h"
#include "scenarios/program/unread_keys.h"

namespace orrery {

std::vector<CommandOption> gpu_bench_options(GpuBenchArguments& arguments) {
    GpuBenchSpec* const spec = &arguments.spec;
    const CommandOption from{"--from-stage",
                             &spec->from,
                             "Begin at this stage: checks, train:NAME, torch:NAME or profile",
                             "STAGE"};
    return joined(
        {{{"files", &spec->files, "Scenario files of one GPU; none: the GPT-2 ones", "FILE"},
          override_option(spec->overrides, keys_of_training()),
          {"-o,--output", &spec->folder, "Where profiles and steps.csv are written", "FOLDER"},
          number_option("--steps",
                        spec->steps,
                        "Steps that are timed, of each scenario (10)",
                        "N",
                        1,
                        100000),
          number_option("--limit",
                        spec->limit_s,
                        "Seconds after which a training is given up (300)",
                        "S",
                        1,
                        86400),
          from,
          old_option("--from", "--from-stage", from),
          {"--only",
           &spec->only,
           "Run 'checks', or 'train' of one scenario, in this process",
           "STAGE"},
          {"--comparison",
           &spec->first_comparison,
           "Comparisons that --only checks skips at its start",
           "N"},
          device_option(spec->device, "cuda (if not given), or cpu for a rehearsal without a GPU"),
          {"--checks-only", &spec->checks_only, "Check the kernels, train nothing"},
          {"!--no-torch", &spec->torch, "Don't compare with PyTorch"},
          {"--torch-eager", &spec->torch_eager, "PyTorch without torch.compile"},
          {"!--no-profile",
           &spec->profile,
           "Don't measure kernels and NCCL's collectives on 1, 2, 4, ... GPUs at the end "
           "(machine.csv)"}},
         view_options(arguments, {})});
}

}  // namespace orrery
