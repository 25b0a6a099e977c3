// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <string>
#include <vector>

#include "runtime/world.h"
#include "scenarios/program/command_words.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/serve.h"

namespace orrery {

std::vector<std::string> words_of_ranks(ServeArguments arguments) {
    return command_words("serve", serve_options(arguments), {});
}

int start_serving_ranks(const ServeArguments& arguments, std::int64_t num_ranks) {
    const Result<int> status =
        run_ranks(static_cast<std::uint32_t>(num_ranks), words_of_ranks(arguments));
    if (!status) {
        return report_error(status.error());
    }
    // Rank 0 may end by the signal before it handles it.
    const int signal = *status - 128;
    if (signal > 0 && signal != SIGINT && signal != SIGTERM) {
        report_error({arguments.file,
                      fmt::format("a rank was ended by signal {}", signal),
                      "nothing is served without it; start the command again"});
    }
    return *status;
}

}  // namespace orrery
