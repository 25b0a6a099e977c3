// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "runtime/supervisor/member.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/train.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/train/training_attempt.h"
#include "scenarios/studies/train/training_run.h"

namespace orrery {

int train_member(const TrainArguments& arguments) {
    const ResultOrErrors<Scenario> scenario =
        read_scenario(arguments.file, {.overrides = arguments.overrides, .for_training = true});
    if (!scenario) {
        return report_errors(scenario.error());
    }
    const Result<Tokens> tokens = dataset_of(*scenario);
    if (!tokens) {
        return report_error(tokens.error());
    }
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    const auto member = Member::join();
    if (!member) {
        return report_error(member.error());
    }
    const auto line = [&](const std::string& text) {
        if (!arguments.quiet) {
            print_output(text + "\n");
        }
    };
    const MemberSpec spec{.file = arguments.file,
                          .overrides = arguments.overrides,
                          .device = arguments.device,
                          .line = line,
                          .note = print_note};
    for (;;) {
        const Order order = (*member)->next_order();
        if (order.kind == OrderKind::quit) {
            return kExitOk;
        }
        carry_out(**member, *scenario, *tokens, order, spec);
    }
}

}  // namespace orrery
