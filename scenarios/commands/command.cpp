// SPDX-License-Identifier: Apache-2.0
#include "scenarios/commands/command.h"

#include "scenarios/commands/calibrate.h"
#include "scenarios/commands/compare.h"
#include "scenarios/commands/diagnose.h"
#include "scenarios/commands/discover.h"
#include "scenarios/commands/campaign.h"
#include "scenarios/commands/catalogue.h"
#include "scenarios/commands/completion.h"
#include "scenarios/commands/explain.h"
#include "scenarios/commands/explain_error.h"
#include "scenarios/commands/export.h"
#include "scenarios/commands/fit.h"
#include "scenarios/commands/generate.h"
#include "scenarios/commands/gpu_bench.h"
#include "scenarios/commands/import.h"
#include "scenarios/commands/network.h"
#include "scenarios/commands/search.h"
#include "scenarios/commands/profile.h"
#include "scenarios/commands/replay.h"
#include "scenarios/commands/simulate.h"
#include "scenarios/commands/sweep.h"
#include "scenarios/commands/tokenize.h"
#include "scenarios/commands/train.h"
#include "scenarios/commands/validate.h"

namespace orrery {

std::vector<Command> all_commands() {
    return {
        describe_simulate(),
        describe_network(),
        describe_explain(),
        describe_search(),
        describe_sweep(),
        describe_merge(),
        describe_campaign(),
        describe_validate(),
        describe_explain_error(),
        describe_fit(),
        describe_train(),
        describe_tokenize(),
        describe_generate(),
        describe_export(),
        describe_gpu_bench(),
        describe_discover(),
        describe_profile(),
        describe_calibrate(),
        describe_compare(),
        describe_diagnose(),
        describe_import(),
        describe_replay(),
        describe_catalogue(),
        describe_completion(),
    };
}

CommandOption override_option(std::vector<std::string>& overrides) {
    return {"--set",
            &overrides,
            "Change one key, e.g. --set plan.micro_batch_size=2; can be repeated",
            "KEY=VALUE"};
}

}  // namespace orrery
