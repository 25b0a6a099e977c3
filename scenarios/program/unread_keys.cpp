// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/unread_keys.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "scenarios/program/exit_status.h"

namespace orrery {
namespace {

using KeyReaders = std::vector<KeyReader>;

KeyReaders readers_among(const std::vector<Command>& commands) {
    KeyReaders readers;
    for (const Command& command : commands) {
        KeyReader reader{.command = command.name, .uses = {}};
        for (const CommandOption& option : command.options) {
            reader.uses.insert(reader.uses.end(), option.reads.begin(), option.reads.end());
        }
        if (!reader.uses.empty()) {
            readers.push_back(std::move(reader));
        }
    }
    return readers;
}

const KeyReader& reader_called(const KeyReaders& readers, const std::string& command) {
    static const KeyReader nothing;
    const auto found = std::ranges::find(readers, command, &KeyReader::command);
    return found == readers.end() ? nothing : *found;
}

}  // namespace

KeyUses joined_uses(std::initializer_list<KeyUses> lists) {
    KeyUses all;
    for (const KeyUses& list : lists) {
        all.insert(all.end(), list.begin(), list.end());
    }
    return all;
}

KeyUses every_key() {
    return {{""}};
}

KeyUses keys_of_network() {
    return {{"kind"}, {"name"}, {"cluster"}, {"network"}, {"faults"}};
}

// Of the campaign, a step with faults reads where they stand and what they wait for.
KeyUses keys_of_step() {
    return joined_uses({keys_of_network(),
                        {{"software"},
                         {"stack"},
                         {"model"},
                         {"plan"},
                         {"jobs"},
                         {"job.steps"},
                         {"job.seed"},
                         {"campaign.domains"},
                         {"campaign.detection.collective_timeout"},
                         {"campaign.flap_timeout"},
                         {"campaign.flap_retries"}}});
}

KeyUses keys_of_training() {
    return joined_uses({keys_of_step(), {{"job"}}});
}

KeyUses keys_of_load() {
    return {{"kind"}, {"name"}, {"cluster"}, {"model"}, {"faults"}, {"serving"}, {"workload"}};
}

void check_overrides_first(std::vector<Command>& commands) {
    const auto readers = std::make_shared<const KeyReaders>(readers_among(commands));
    for (Command& command : commands) {
        const auto option = std::ranges::find(command.options, "--set", &CommandOption::names);
        if (option == command.options.end()) {
            continue;
        }
        const auto* overrides = *std::get_if<std::vector<std::string>*>(&option->target);
        command.run = [overrides, readers, name = command.name, run = std::move(command.run)] {
            Errors errors;
            for (const std::string& change : *overrides) {
                const std::string path = change.substr(0, change.find('='));
                Error error = unread_key(reader_called(*readers, name), path, *readers);
                if (!error.what.empty()) {
                    error.where = "--set " + path;
                    errors.push_back(std::move(error));
                }
            }
            return errors.empty() ? run() : report_errors(errors);
        };
    }
}

Error unread_in_study(std::string_view key) {
    const KeyReaders readers = readers_among(all_commands());
    return unread_key(reader_called(readers, "sweep"), key, readers);
}

}  // namespace orrery
