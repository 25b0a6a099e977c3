// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/nic_name.h"

#include <charconv>

namespace orrery {

std::optional<NicPort> nic_of_name(std::string_view name) {
    NicPort port;
    const auto number = [&](std::string_view word, std::uint32_t& value) {
        if (!name.starts_with(word)) {
            return false;
        }
        name.remove_prefix(word.size());
        const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), value);
        name.remove_prefix(static_cast<std::size_t>(end - name.data()));
        return status == std::errc{};
    };
    const bool good = number("node ", port.node) && number(" nic ", port.nic) && name.empty();
    return good ? std::optional{port} : std::nullopt;
}

}  // namespace orrery
