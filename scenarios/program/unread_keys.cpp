// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/unread_keys.h"

#include <algorithm>
#include <utility>

#include "scenarios/format/read/key_use.h"
#include "scenarios/program/exit_status.h"

namespace orrery {

void check_overrides_first(Command& command) {
    const auto option = std::ranges::find(command.options, "--set", &CommandOption::names);
    if (option == command.options.end()) {
        return;
    }
    const auto* overrides = *std::get_if<std::vector<std::string>*>(&option->target);
    command.run = [overrides, name = command.name, run = std::move(command.run)] {
        Errors errors;
        for (const std::string& change : *overrides) {
            const std::string path = change.substr(0, change.find('='));
            if (Error error = unread_key(name, path); !error.what.empty()) {
                error.where = "--set " + path;
                errors.push_back(std::move(error));
            }
        }
        return errors.empty() ? run() : report_errors(errors);
    };
}

}  // namespace orrery
