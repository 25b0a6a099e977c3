// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <sstream>

#include "runtime/supervisor/member.h"

namespace orrery {
namespace {

constexpr std::uint32_t kMostNodes = 64;

struct Machine {
    std::string host;
    std::uint32_t nodes = 1;
};

Result<Machine> read_machine(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    Machine machine{.host = text.substr(0, colon)};
    bool good = !machine.host.empty() && machine.host.front() != '-';
    if (colon != std::string::npos) {
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, machine.nodes);
        good = good && error == std::errc{} && stop == end && machine.nodes >= 1 &&
               machine.nodes <= kMostNodes;
    }
    return good ? Result<Machine>{machine}
                : fail("--hosts",
                       fmt::format("'{}' is not a machine, or a machine and its nodes", text),
                       "one:2,two:2");
}

std::vector<std::string> words_of(const std::string& launch, const std::string& host) {
    constexpr std::string_view kHost = "{host}";
    std::vector<std::string> words;
    std::istringstream in{launch};
    for (std::string word; in >> word;) {
        if (const std::size_t at = word.find(kHost); at != std::string::npos) {
            word.replace(at, kHost.size(), host);
        }
        words.push_back(word);
    }
    return words;
}

std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) {
        text += c == '\'' ? std::string{"'\\''"} : std::string{c};
    }
    return text + "'";
}

}  // namespace

Result<Places> read_places(const std::string& hosts,
                           const std::string& launch,
                           std::uint32_t nodes) {
    Places places;
    if (hosts.empty()) {
        return places;
    }
    if (launch.find("{host}") == std::string::npos) {
        return fail("--launch", fmt::format("'{}' names no {{host}}", launch), "ssh {host}");
    }
    std::istringstream list{hosts};
    for (std::string text; std::getline(list, text, ',');) {
        const Result<Machine> machine = read_machine(text);
        if (!machine) {
            return unexpected<Error>(machine.error());
        }
        places.of_node.insert(
            places.of_node.end(), machine->nodes, words_of(launch, machine->host));
    }
    if (places.of_node.size() != nodes) {
        return fail("--hosts",
                    fmt::format("{} have {} nodes, and the job has {}, hot spares included",
                                hosts,
                                places.of_node.size(),
                                nodes),
                    "as many as the job has, each machine as MACHINE:NODES");
    }
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    places.address = name.data();
    return places;
}

std::string shell_command(const std::vector<std::string>& command,
                          const std::string& folder,
                          std::uint32_t node) {
    std::vector<std::string> words;
    for (const std::string& word : command) {
        words.push_back(quoted(word));
    }
    // Its input has the orders, its output the reports, and its error output everything it prints.
    return fmt::format("cd {} && {}=0,3 {}={} exec {} 3>&1 1>&2",
                       quoted(folder),
                       kMemberVariable,
                       kNodeVariable,
                       node,
                       fmt::join(words, " "));
}

}  // namespace orrery
