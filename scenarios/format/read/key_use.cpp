// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "scenarios/format/read/scenario_keys.h"

namespace orrery {
namespace {

// The longest row that begins a path is the one of its key.
struct KeyUse {
    std::string_view keys;
    std::span<const std::string_view> commands;
};

constexpr std::string_view kSearchReaders[] = {"search"};
constexpr std::string_view kWeeksReaders[] = {"campaign", "search", "serve", "train"};
constexpr std::string_view kRecoveryReaders[] = {"campaign", "search", "train"};
constexpr std::string_view kTrainingReaders[] = {
    "train", "profile", "gpu-bench", "diagnose", "campaign"};
constexpr std::string_view kStepReaders[] = {"simulate",
                                             "explain",
                                             "search",
                                             "sweep",
                                             "campaign",
                                             "train",
                                             "profile",
                                             "gpu-bench",
                                             "diagnose"};

constexpr std::string_view kModelReaders[] = {"simulate",
                                              "explain",
                                              "search",
                                              "sweep",
                                              "campaign",
                                              "serve",
                                              "train",
                                              "profile",
                                              "gpu-bench",
                                              "diagnose"};

constexpr KeyUse kUses[] = {
    {"model", kModelReaders},
    {"plan", kStepReaders},
    {"jobs", kStepReaders},
    {"job", kTrainingReaders},
    {"job.steps", kStepReaders},
    {"job.seed", kStepReaders},
    {"search", kSearchReaders},
    {"recovery", kRecoveryReaders},
    {"campaign", kWeeksReaders},
    // A step with faults waits for these.
    {"campaign.detection.collective_timeout", kStepReaders},
    {"campaign.flap_timeout", kStepReaders},
    {"campaign.flap_retries", kStepReaders},
};

// These show the whole file.
constexpr std::string_view kInspectors[] = {"check", "show", "diff"};

// "a.b" begins "a.b", "a.b.c" and "a.b[0]".
bool begins(std::string_view path, std::string_view keys) {
    return path.starts_with(keys) &&
           (path.size() == keys.size() || path[keys.size()] == '.' || path[keys.size()] == '[');
}

// The commands that read the key at `path`, or some key below it. Empty: all may.
std::vector<std::string_view> readers_of(std::string_view path) {
    const KeyUse* of_path = nullptr;
    std::vector<std::string_view> readers;
    const auto add = [&](const KeyUse& use) {
        for (const std::string_view command : use.commands) {
            if (std::ranges::count(readers, command) == 0) {
                readers.push_back(command);
            }
        }
    };
    for (const KeyUse& use : kUses) {
        if (begins(path, use.keys) &&
            (of_path == nullptr || use.keys.size() > of_path->keys.size())) {
            of_path = &use;
        }
    }
    if (of_path == nullptr) {
        return {};
    }
    add(*of_path);
    for (const KeyUse& use : kUses) {
        if (begins(use.keys, path)) {
            add(use);
        }
    }
    return readers;
}

// The section and the key in it, without the numbers of items: "recovery.policies".
std::string first_two(std::string_view path) {
    std::string names;
    bool in_brackets = false;
    int dots = 0;
    for (const char c : path) {
        dots += c == '.' ? 1 : 0;
        in_brackets = (in_brackets || c == '[') && c != ']';
        if (dots == 2) {
            break;
        }
        if (!in_brackets && c != ']') {
            names += c;
        }
    }
    return names;
}

// The reader knows better what to say of another one.
bool is_a_key(std::string_view path) {
    const std::string names = first_two(path);
    return std::ranges::any_of(scenario_keys(),
                               [&](const ScenarioKey& key) { return first_two(key.key) == names; });
}

}  // namespace

Error unread_key(std::string_view command, std::string_view path) {
    const std::vector<std::string_view> readers = readers_of(path);
    if (readers.empty() || std::ranges::count(readers, command) > 0 ||
        std::ranges::count(kInspectors, command) > 0 || !is_a_key(path)) {
        return {};
    }
    std::string hint;
    for (const std::string_view reader : readers) {
        hint += fmt::format("{}orrery {}", hint.empty() ? "" : ", ", reader);
    }
    return {"",
            fmt::format("orrery {} does not read this key", command),
            fmt::format("leave it out; read by {}", hint)};
}

}  // namespace orrery
