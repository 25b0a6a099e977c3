// SPDX-License-Identifier: Apache-2.0
// The network section: a fidelity, or a map.
#include <fmt/format.h>

#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

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

constexpr Key kEventRows[] = {
    key<&LinkEvent::nic>("nic", "NIC that pauses its switch: \"node 3 nic 0\".").by("none"),
    key<&LinkEvent::link>("link", "Cable that changes: \"leaf 0 -> spine 1\".").by("none"),
    key<&LinkEvent::at>("at", "Time of the change.").required(),
    key<&LinkEvent::one_way>("one_way", "One direction of the cable changes."),
    plain_choice<kStates>("state", "State of the link, or paused of a NIC."),
    key<&LinkEvent::bandwidth>("bandwidth", "Bandwidth of the link, in place of a state.")
        .by("none"),
    plain("for", KeyShape::time, "Time until the fault ends.").by("to the end"),
};
constexpr auto kEventKeys = key_table<LinkEvent>(
    "link_event", kEventRows, "{link: leaf 0 -> spine 1, at: 1 ms, state: down}");

void read_event(const DocumentNode& map,
                const std::string& path,
                std::vector<LinkEvent>& events,
                Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          path + " must be a map, not " + map.describe(),
                          std::string{kEventKeys.example}});
        return;
    }
    MapReader reader{map, path, errors};
    LinkEvent event;
    event.where = map.where();
    read_keys(reader, kEventKeys, event);
    const bool of_nic = reader.good("nic");
    if (!of_nic) {
        reader.find("link", Presence::required);
    }
    LinkWord state = LinkWord::down;
    const bool has_state = reader.choice("state", state, kStates);
    const bool up = state == LinkWord::up;
    const bool has_bandwidth = reader.good("bandwidth");
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

constexpr Key kWindowRows[] = {
    choice<kTraffics, &StepWindow::of>("of", "Traffic that moves as packets."),
    key<&StepWindow::micro_batch>("micro_batch", "Micro-batch of that traffic.")
        .range(0, 1'000'000'000)
        .by("all"),
    key<&StepWindow::from>("from", "Begin of the window."),
    key<&StepWindow::lasts>("for", "Length of the window.").above_zero("5 ms").by("to the end"),
    key<&StepWindow::packets_max>("packets_max", "Most packets of a window.")
        .range(1, std::int64_t{1} << 40)
        .of("packets"),
};
constexpr auto kWindowKeys =
    key_table<StepWindow>("window", kWindowRows, "{from: 10 ms, for: 2 ms} or {of: gradients}");

constexpr Key kNetworkRows[] = {
    plain_choice<kFidelities>("base", "The fidelity, where --set made a map of it.").by("none"),
    plain_choice<kFidelities>("fidelity", "How closely the network is simulated.").by("fluid"),
    key<&NetworkSettings::convergence>("convergence",
                                       "Time until switches avoid a link that is down."),
    key<&NetworkSettings::timeout>("timeout", "A flow gives up after standing still this long.")
        .above_zero("30 s")
        .by("30.1 s: NCCL's retries"),
    key<&NetworkSettings::batch>("batch",
                                 "Completions closer together than this count as one; 0 s: exact."),
    key<&NetworkSettings::seed>("seed", "Seed of random patterns.").range(0, kLongMost),
    nested("events", KeyShape::map_list, kEventKeys, "Changes of links, for `orrery network`."),
    part<&NetworkSettings::packet>("packet", kPacketKeys, "Numbers of the packet model."),
    part<&NetworkSettings::window>("window", kWindowKeys, "Part of a step that moves as packets."),
    entry("congestion",
          "congestion_controls",
          kCongestionKeys,
          "Measured factors of a congestion control: also a file like one of the catalogue's."),
};

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

const KeyTable<NetworkSettings> kNetworkKeys = key_table<NetworkSettings>("network", kNetworkRows);

void read_network(const DocumentNode& section,
                  NetworkFidelity& fidelity,
                  NetworkSettings& settings,
                  Errors& errors) {
    if (!section.is_map()) {
        // A word means only its fidelity.
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
    reader.choice("base", fidelity, kFidelities);
    reader.choice("fidelity", fidelity, kFidelities);
    read_keys(reader, kNetworkKeys, settings);
    if (const DocumentNode* events = reader.find("events")) {
        if (!events->is_sequence()) {
            reader.complain("events", "network.events must be a list");
        }
        for (std::size_t i = 0; events->is_sequence() && i < events->items.size(); ++i) {
            const std::string path = fmt::format("network.events[{}]", i);
            read_event(events->items[i], path, settings.events, errors);
        }
    }
    if (const DocumentNode* window = reader.find("window")) {
        settings.window.where = window->where();
        if (fidelity != NetworkFidelity::packet) {
            reader.complain(
                "window",
                fmt::format("network.window is for fidelity packet, not {}", name(fidelity)),
                "fidelity: packet");
        }
    }
    reader.finish();
}

}  // namespace orrery
