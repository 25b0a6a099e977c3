// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/replay_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/json_text.h"

namespace orrery {

std::string replay_report(const std::string& name, const ReplayAnswer& answer) {
    const auto line = [&](const char* what, Time time) {
        return fmt::format("  {:<26}{:>10} {:>6.1f} %\n",
                           what,
                           to_short_text(time),
                           answer.step > Time{} ? time / answer.step * 100 : 0);
    };
    return fmt::format("{}: {} ranks, {} operations, {} flows\n\n",
                       name,
                       thousands(answer.ranks),
                       thousands(answer.ops),
                       thousands(answer.flows)) +
           line("step", answer.step) + "\nAlong the critical path\n\n" +
           line("compute", answer.compute) + line("collectives", answer.collectives) +
           line("messages", answer.messages) + line("shared links", answer.contention) + "\n" +
           line("compute, mean of the ranks", answer.compute_mean) +
           fmt::format("  rank {} ends last\n", index(answer.slowest));
}

std::string replay_json(const std::string& name, const ReplayAnswer& answer) {
    const nlohmann::ordered_json json{{"name", name},
                                      {"ranks", answer.ranks},
                                      {"operations", answer.ops},
                                      {"flows", answer.flows},
                                      {"step_s", answer.step.seconds()},
                                      {"critical_path_s",
                                       {{"compute", answer.compute.seconds()},
                                        {"collectives", answer.collectives.seconds()},
                                        {"messages", answer.messages.seconds()},
                                        {"network_contention", answer.contention.seconds()}}},
                                      {"compute_mean_s", answer.compute_mean.seconds()},
                                      {"slowest_rank", index(answer.slowest)}};
    return json_text(json);
}

}  // namespace orrery
