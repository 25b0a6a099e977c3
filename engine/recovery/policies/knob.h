// SPDX-License-Identifier: Apache-2.0
// The knobs of a recovery policy for readers, lists and help: the member (or a member of a member),
// its name, its meaning in one sentence, and its range. The member is part of the type, so that the
// code of a reader is generated at compile time.
#pragma once

#include <concepts>
#include <string_view>

#include "engine/base/field.h"

namespace orrery {

struct KnobWords {
    std::string_view name;
    std::string_view meaning;
    std::string_view unit{};
    std::string_view default_words{};  // the default in words, if it follows from other values
    bool is_ranged = false;
    IntegerRange integers{};
    RealRange reals{};
};

template <auto... kMembers>
struct Knob : KnobWords {
    template <class Least, class Most>
    constexpr Knob range(Least least, Most most) const {
        Knob changed = *this;
        changed.is_ranged = true;
        changed.reals = {static_cast<double>(least), static_cast<double>(most)};
        if constexpr (std::integral<Least> && std::integral<Most>) {
            changed.integers = {least, most};
        }
        return changed;
    }
    constexpr Knob of(std::string_view words_of_unit) const {
        Knob changed = *this;
        changed.unit = words_of_unit;
        return changed;
    }
    constexpr Knob by(std::string_view words_of_default) const {
        Knob changed = *this;
        changed.default_words = words_of_default;
        return changed;
    }
};

// A knob whose values are the words of kChoices.
template <const auto& kChoices, auto... kMembers>
struct ChoiceKnob : KnobWords {};

template <auto... kMembers>
constexpr Knob<kMembers...> knob(std::string_view name, std::string_view meaning) {
    return {{.name = name, .meaning = meaning}};
}
template <const auto& kChoices, auto... kMembers>
constexpr ChoiceKnob<kChoices, kMembers...> choice_knob(std::string_view name,
                                                        std::string_view meaning) {
    return {{.name = name, .meaning = meaning}};
}

}  // namespace orrery
