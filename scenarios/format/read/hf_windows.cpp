// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/hf_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace orrery {
namespace {

// The layers with a window: layer_types, or what the family derives from other keys. Empty: none.
std::vector<bool> windowed_layers(HfTranslator& to, std::string_view family) {
    std::vector<bool> layers(
        static_cast<std::size_t>(std::min<std::int64_t>(to.number("num_layers"), 100'000)));
    const DocumentNode* types = to.value("layer_types");
    const bool switched_on = to.flag("use_sliding_window", family == "mistral");
    const DocumentNode* first = to.value("max_window_layers");
    if (types != nullptr && types->items.size() != layers.size()) {
        to.leave_out(fmt::format("layer_types: names {} of {} layers, all of them attend in full",
                                 types->items.size(),
                                 layers.size()));
    } else if (types != nullptr) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            layers[i] = types->items[i].text == "sliding_attention";
            if (!layers[i] && types->items[i].text != "full_attention") {
                to.leave_out(fmt::format(
                    "layer_types {}: layer {} has full attention", types->items[i].text, i));
            }
        }
    } else if (family == "gemma2") {
        for (std::size_t i = 0; i < layers.size(); i += 2) {
            layers[i] = true;
        }
    } else if (family == "gemma3_text") {
        const DocumentNode* pattern = to.value("sliding_window_pattern");
        const auto full = static_cast<std::size_t>(
            pattern == nullptr ? 6 : std::max<std::int64_t>(HfTranslator::whole(*pattern), 1));
        for (std::size_t i = 0; i < layers.size(); ++i) {
            layers[i] = (i + 1) % full != 0;
        }
    } else if (switched_on) {
        // Qwen2Config: the first 28 layers keep full attention.
        const auto from = static_cast<std::size_t>(family == "mistral" ? 0
                                                   : first != nullptr  ? HfTranslator::whole(*first)
                                                                       : 28);
        std::fill(layers.begin() + static_cast<std::ptrdiff_t>(std::min(from, layers.size())),
                  layers.end(),
                  true);
    }
    return layers;
}

// Transformer::sliding_window_every (0: no such pattern) and full_attention_every.
struct Windows {
    std::size_t every = 0;
    std::size_t full_every = 0;
};

// A window in every k-th layer, or in all but every k-th. An alternation that begins with a window
// counts the same.
Windows pattern_of(const std::vector<bool>& layers) {
    constexpr std::size_t kEveryMost = 64;
    const auto fits = [&](std::size_t k, std::size_t shift, bool window) {
        for (std::size_t i = 0; i < layers.size(); ++i) {
            if (layers[i] != (((i + 1 + shift) % k == 0) == window)) {
                return false;
            }
        }
        return true;
    };
    for (std::size_t k = 1; k <= kEveryMost; ++k) {
        if (fits(k, 0, true) || (fits(k, 1, true) && layers.size() % k == 0)) {
            return {.every = k};
        }
    }
    for (std::size_t k = 3; k <= kEveryMost; ++k) {
        if (fits(k, 0, false)) {
            return {.every = 1, .full_every = k};
        }
    }
    return {};
}

}  // namespace

void translate_hf_windows(HfTranslator& to, std::string_view family) {
    const std::vector<bool> layers = windowed_layers(to, family);
    const auto count = static_cast<std::size_t>(std::ranges::count(layers, true));
    const DocumentNode* window = to.value("sliding_window");
    if (window == nullptr && (count == 0 || to.has("sliding_window"))) {
        return;
    }
    if (count == 0) {
        if (family == "llama" && !to.has("layer_types")) {
            to.leave_out(fmt::format(
                "sliding_window {}: no key says in which layers, all of them attend in full",
                window->text));
        }
        return;
    }
    const Windows windows = pattern_of(layers);
    const std::string size = window != nullptr ? window->text : "4096";
    if (windows.every == 0) {
        to.leave_out(fmt::format(
            "a window of {} tokens in {} of {} layers: only every k-th layer, or all but every "
            "k-th, can have one, so all of them attend in full",
            size,
            count,
            layers.size()));
        return;
    }
    to.copy_or_assume("sliding_window", "sliding_window", "4096", "the family's default");
    to.constant("sliding_window_every", fmt::format("{}", windows.every));
    if (windows.full_every > 0) {
        to.constant("full_attention_every", fmt::format("{}", windows.full_every));
    }
}

}  // namespace orrery
