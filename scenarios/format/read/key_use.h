// SPDX-License-Identifier: Apache-2.0
// Which commands read which keys of a scenario. One file may serve several commands, so a file may
// hold a section that a command does not read. A change by --set that the command does not read
// would have no effect, and is an error. Each command declares its keys beside its option --set
// (program/command.h). Faults have a table of their own (fault_use.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

// A section or a key that a command reads, with all keys below it.
struct KeyUse {
    std::string_view keys;          // "campaign", "job.steps"; empty: the whole file
    std::string_view when{};        // the condition: "with --supervise"; empty: always
    std::function<bool()> holds{};  // whether this call meets the condition
};
using KeyUses = std::vector<KeyUse>;

struct KeyReader {
    std::string command;
    KeyUses uses;
};

// The error, without its place, of a change of the key at `path` ("campaign.repair.time") that
// `reader` does not read. `what` is empty if it reads the key, or a key below it. The hint names
// the commands among `all` that do.
Error unread_key(const KeyReader& reader, std::string_view path, std::span<const KeyReader> all);

}  // namespace orrery
