// SPDX-License-Identifier: Apache-2.0
// Step times of a scenario for several micro-batch sizes:
//   step_times SCENARIO.yaml SIZE...
// Answers are plain data with units as types, and errors are values.
#include <cstdio>
#include <string>

#include "scenarios/format/catalogue/use_catalogue.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace {

int refused(const orrery::Error& error) {
    std::fprintf(stderr, "%s\n", error.to_string().c_str());
    return 2;
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::fprintf(stderr, "step_times SCENARIO.yaml MICRO_BATCH_SIZE...\n");
        return 2;
    }
    orrery::use_catalogue(ORRERY_CATALOGUE);
    for (int i = 2; i < count; ++i) {
        orrery::ReadOptions options;
        options.overrides = {std::string{"plan.micro_batch_size="} + words[i]};
        const auto scenario = orrery::read_scenario(words[1], options);
        if (!scenario) {
            return refused(scenario.error().front());
        }
        const auto answer = orrery::simulate_scenario(*scenario);
        if (!answer) {
            return refused(answer.error());
        }
        std::printf("micro-batch %s: %.3f s, MFU %.1f %%, %s\n",
                    words[i],
                    answer->iteration.seconds(),
                    100 * answer->mfu,
                    answer->memory.fits ? "fits" : "does not fit");
    }
}
