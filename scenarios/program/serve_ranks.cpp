// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve_ranks.h"

#include <fmt/format.h>

#include <csignal>
#include <string>
#include <vector>

#include "runtime/world.h"
#include "scenarios/program/exit_status.h"

namespace orrery {

std::vector<std::string> words_of_ranks(const ServeArguments& arguments) {
    std::vector<std::string> again{"serve", arguments.file, "--real"};
    const auto pass_on = [&](const char* option, const std::string& value) {
        if (!value.empty()) {
            again.insert(again.end(), {option, value});
        }
    };
    for (const std::string& one : arguments.overrides) {
        pass_on("--set", one);
    }
    pass_on("--listen", arguments.listen);
    pass_on("--max-queue", std::to_string(arguments.max_queue));
    pass_on("--max-body", std::to_string(arguments.max_body));
    pass_on("--format", arguments.format);
    pass_on("--html", arguments.html_file);
    pass_on("--csv", arguments.csv_file);
    if (arguments.json) {
        again.emplace_back("--json");
    }
    return again;
}

int start_serving_ranks(const ServeArguments& arguments, std::int64_t num_ranks) {
    const Result<int> status =
        run_ranks(static_cast<std::uint32_t>(num_ranks), words_of_ranks(arguments));
    if (!status) {
        return report_error(status.error());
    }
    // Rank 0 may have been stopped before it noticed.
    const int signal = *status - 128;
    if (signal > 0 && signal != SIGINT && signal != SIGTERM) {
        report_error({arguments.file,
                      fmt::format("a rank was ended by signal {}", signal),
                      "nothing is served without it; start the command again"});
    }
    return *status;
}

}  // namespace orrery
