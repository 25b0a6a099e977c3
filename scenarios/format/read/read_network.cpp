// SPDX-License-Identifier: Apache-2.0
// The network section: a fidelity, or a map
//   fidelity     analytic | fluid | packet | simgrid
//   convergence  from a link's failure until switches avoid it
//   timeout      how long a flow may stand still before it gives up
//   batch        completions closer together than this are taken together
//   seed         of random patterns
//   events       a list of {link, at, state: down | up, bandwidth, for, one_way}, or of
//                {nic, at, state: paused | up, for}: a NIC that pauses its switch (PFC)
//   packet       PacketParameters                                     (read_packet.cpp)
//   window       of a step that moves as packets: {of, micro_batch, from, for, packets_max}
//   congestion   measured factors of a congestion control             (read_congestion.cpp)
#include <fmt/format.h>

#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {
namespace {

constexpr Choice<NetworkFidelity> kFidelities[] = {
    {"analytic", NetworkFidelity::analytic},
    {"fluid", NetworkFidelity::fluid},
    {"packet", NetworkFidelity::packet},
    {"simgrid", NetworkFidelity::simgrid},
};
constexpr Choice<StepTraffic> kTraffics[] = {
    {"all", StepTraffic::all},
    {"tensor", StepTraffic::tensor},
    {"context", StepTraffic::context},
    {"pipeline", StepTraffic::pipeline},
    {"gradients", StepTraffic::gradients},
    {"parameters", StepTraffic::parameters},
};
enum class LinkWord : std::uint8_t { down, up, paused };
constexpr Choice<LinkWord> kStates[] = {
    {"down", LinkWord::down}, {"up", LinkWord::up}, {"paused", LinkWord::paused}};

void read_event(const DocumentNode& map,
                const std::string& path,
                std::vector<LinkEvent>& events,
                Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          path + " must be a map, not " + map.describe(),
                          "{link: leaf 0 -> spine 1, at: 1 ms, state: down}"});
        return;
    }
    MapReader reader{map, path, errors};
    LinkEvent event;
    event.where = map.where();
    const bool of_nic = reader.word("nic", event.nic);
    reader.word("link", event.link, of_nic ? Presence::optional : Presence::required);
    reader.quantity("at", event.at, Presence::required);
    reader.boolean("one_way", event.one_way);
    LinkWord state = LinkWord::down;
    const bool has_state = reader.choice("state", state, kStates);
    const bool up = state == LinkWord::up;
    const bool has_bandwidth = reader.quantity("bandwidth", event.bandwidth);
    if (has_state == has_bandwidth && map.find("state") == nullptr &&
        map.find("bandwidth") == nullptr) {
        reader.complain("state",
                        path + " does not say what happens to the link",
                        "'state: down', 'state: up' or 'bandwidth: 100 Gbps'");
    } else if (has_state && has_bandwidth) {
        reader.complain("bandwidth", path + " has both a state and a bandwidth", "keep one");
    }
    if (has_state && !up && of_nic != (state == LinkWord::paused)) {
        reader.complain("state",
                        path + ": links go down, and NICs pause",
                        "{link: …, state: down} or {nic: node 3 nic 0, state: paused}");
    }
    event.restores = has_state && up;
    Time lasts;
    const bool ends = reader.quantity("for", lasts);
    if (ends && event.restores) {
        reader.complain("for", path + ": 'for' is how long a fault lasts", "state: down");
    }
    reader.finish();
    events.push_back(event);
    if (ends) {
        event.at += lasts;
        event.bandwidth = {};
        event.restores = true;
        events.push_back(event);
    }
}

void read_window(const DocumentNode& map, StepWindow& window, Errors& errors) {
    window.where = map.where();
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "network.window must be a map, not " + map.describe(),
                          "{from: 10 ms, for: 2 ms} or {of: gradients}"});
        return;
    }
    MapReader reader{map, "network.window", errors};
    reader.choice("of", window.of, kTraffics);
    std::int64_t micro_batch = -1;
    if (reader.integer("micro_batch", micro_batch, {0, 1'000'000'000})) {
        window.micro_batch = static_cast<std::int32_t>(micro_batch);
    }
    reader.quantity("from", window.from);
    if (reader.quantity("for", window.lasts) && window.lasts == Time{}) {
        reader.complain("for", "network.window.for must not be zero", "5 ms");
    }
    reader.integer("packets_max", window.packets_max, {1, std::int64_t{1} << 40});
    reader.finish();
}

}  // namespace

std::string_view name(StepTraffic traffic) {
    return word_of(traffic, kTraffics);
}

std::string_view name(NetworkFidelity fidelity) {
    return kFidelities[static_cast<std::size_t>(fidelity)].word;
}

Result<NetworkFidelity> parse_fidelity(std::string_view word) {
    std::string words;
    for (const auto& choice : kFidelities) {
        if (choice.word == word) {
            return choice.value;
        }
        words += fmt::format("{}{}", words.empty() ? "" : ", ", choice.word);
    }
    return fail("--fidelity", fmt::format("no fidelity '{}'", word), words);
}

void read_network(const DocumentNode& section,
                  NetworkFidelity& fidelity,
                  NetworkSettings& settings,
                  Errors& errors) {
    if (!section.is_map()) {
        // A word stands for its fidelity alone.
        DocumentNode map;
        map.kind = DocumentNode::Kind::map;
        map.line = section.line;
        map.column = section.column;
        map.source = section.source;
        DocumentNode key = map;
        key.kind = DocumentNode::Kind::scalar;
        key.text = "network";
        map.set(key, section);
        MapReader{map, "", errors}.choice("network", fidelity, kFidelities);
        return;
    }
    MapReader reader{section, "network", errors};
    // --set network.packet.congestion=dcqcn on `network: fluid` makes {base: fluid, packet: …}.
    if (section.find("base") != nullptr) {
        reader.choice("base", fidelity, kFidelities);
    }
    reader.choice("fidelity", fidelity, kFidelities);
    reader.quantity("convergence", settings.convergence);
    if (reader.quantity("timeout", settings.timeout) && settings.timeout == Time{}) {
        reader.complain("timeout", "network.timeout must not be zero", "30 s");
    }
    reader.quantity("batch", settings.batch);
    std::int64_t seed = 0;
    if (reader.integer("seed", seed, {0, std::int64_t{1} << 62})) {
        settings.seed = static_cast<std::uint64_t>(seed);
    }
    if (const DocumentNode* events = reader.find("events")) {
        if (!events->is_sequence()) {
            reader.complain("events", "network.events must be a list");
        }
        for (std::size_t i = 0; events->is_sequence() && i < events->items.size(); ++i) {
            const std::string path = fmt::format("network.events[{}]", i);
            read_event(events->items[i], path, settings.events, errors);
        }
    }
    if (const DocumentNode* packets = reader.find("packet")) {
        read_packet(*packets, settings.packet, errors);
    }
    if (const DocumentNode* window = reader.find("window")) {
        read_window(*window, settings.window, errors);
        if (fidelity != NetworkFidelity::packet) {
            reader.complain(
                "window",
                fmt::format("network.window is for fidelity packet, not {}", name(fidelity)),
                "fidelity: packet");
        }
    }
    reader.find("congestion");
    reader.finish();
}

}  // namespace orrery
